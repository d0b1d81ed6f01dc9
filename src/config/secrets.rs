//! Secrets for tokens. A secret is never printed, not even when it is too short.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use clap::{Arg, Command, builder::TypedValueParser};

use super::redis_url::refusal;
use crate::{access::MIN_SECRET_BYTES, files, job::Invalid};

/// Only [`TokenSecret::expose`] reveals it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(Vec<u8>);

impl TokenSecret {
    const RULE: Invalid = Invalid("a secret for tokens must have at least 32 bytes");

    fn parse(text: &[u8]) -> Result<Self, Invalid> {
        // White space at the ends is a mistake of the operator and no part of the secret's strength.
        if text.trim_ascii().len() >= MIN_SECRET_BYTES { Ok(Self(text.to_vec())) } else { Err(Self::RULE) }
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

/// The secrets of one file.
#[derive(Clone, Debug)]
pub(super) struct SecretFile {
    pub(super) path: PathBuf,
    pub(super) secrets: Vec<TokenSecret>,
}

#[derive(Clone)]
pub(super) struct SecretParser;

impl TypedValueParser for SecretParser {
    type Value = TokenSecret;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<TokenSecret, clap::Error> {
        TokenSecret::parse(value.as_encoded_bytes()).map_err(|rule| refusal(cmd, arg, &rule))
    }
}

/// Parses a path into the secrets of the file, one a line.
#[derive(Clone)]
pub(super) struct SecretFileParser;

impl TypedValueParser for SecretFileParser {
    type Value = SecretFile;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<SecretFile, clap::Error> {
        let file = Path::new(value);
        let refused = |why: &dyn fmt::Display| refusal(cmd, arg, &format!("{}: {why}", file.display()));
        let text = files::read(file).map_err(|error| refused(&error))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let secrets: Result<Vec<_>, _> = lines.map(|line| TokenSecret::parse(line.as_bytes())).collect();
        match secrets {
            Ok(secrets) if secrets.is_empty() => Err(refused(&"it holds no secret")),
            Ok(secrets) => Ok(SecretFile { path: file.to_owned(), secrets }),
            Err(rule) => Err(refused(&rule)),
        }
    }
}
