//! Secrets for tokens. A secret is never printed, not even when it is too short.

use std::{ffi::OsStr, fmt};

use crate::{access::MIN_SECRET_BYTES, job::Invalid};

/// Only [`TokenSecret::expose`] reveals it. Not a `SecretBox` of the crate `secrecy`: it would replace only `Debug` and `expose`,
/// and the copies in arguments, environment and signing key would stay in memory as they are.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(Vec<u8>);

impl TokenSecret {
    const RULE: Invalid = Invalid("a secret for tokens must have at least 32 bytes");

    /// White space at the ends is no part of a secret, so that instances agree which have it from a variable, a flag and a file.
    fn parse(text: &[u8]) -> Result<Self, Invalid> {
        let text = str::from_utf8(text).map_or_else(|_| text.trim_ascii(), |text| text.trim().as_bytes());
        if text.len() >= MIN_SECRET_BYTES { Ok(Self(text.to_vec())) } else { Err(Self::RULE) }
    }

    pub(super) fn from_flag(value: &OsStr) -> Result<Self, Invalid> {
        Self::parse(value.as_encoded_bytes())
    }

    /// Parses the lines of a file, at least one.
    pub(super) fn from_lines(text: &str) -> Result<Vec<Self>, Invalid> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let secrets: Vec<_> = lines.map(|line| Self::parse(line.as_bytes())).collect::<Result<_, _>>()?;
        if secrets.is_empty() { Err(Invalid("it holds no secret")) } else { Ok(secrets) }
    }

    /// For the signature alone.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(…)")
    }
}
