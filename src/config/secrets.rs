//! Secrets for tokens. Like a password, one is never printed, not even when it is too short.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use clap::{Arg, Command, builder::TypedValueParser};

use super::redis_url::refusal;
use crate::{access::MIN_SECRET_BYTES, files, job::Invalid};

/// Only [`TokenSecret::expose`] shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(Vec<u8>);

impl TokenSecret {
    const RULE: Invalid = Invalid("a secret for tokens must have at least 32 bytes");

    fn parse(text: &[u8]) -> Result<Self, Invalid> {
        // Blanks at its ends are a slip of whoever set it, and no secret.
        if text.trim_ascii().len() >= MIN_SECRET_BYTES { Ok(Self(text.to_vec())) } else { Err(Self::RULE) }
    }

    /// For the signature, and for nobody else.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(…)")
    }
}

/// What stands in one file.
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

/// Takes the name of a file and gives the secrets that stand in it, one a line.
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
