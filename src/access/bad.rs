//! Why a credential is none, in a few fixed words for figures. Whoever sent it is never told which.

use jsonwebtoken::errors::{Error, ErrorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidCredential {
    /// Neither a key of the file nor a token.
    UnknownKey,
    /// A key of the file that is past its end. Whoever has the key may know.
    Ended,
    /// A token that cannot be read, or does not say all that it must.
    Malformed,
    /// By nobody whose signature counts here.
    UnknownSigner,
    BadSignature,
    Expired,
    /// It ends further ahead than a token may that nobody can call back.
    TooLongLived,
    NotYetValid,
    WrongIssuer,
    WrongAudience,
}

impl InvalidCredential {
    pub fn word(self) -> &'static str {
        match self {
            Self::UnknownKey => "unknown_key",
            Self::Ended => "ended",
            Self::Malformed => "malformed",
            Self::UnknownSigner => "unknown_signer",
            Self::BadSignature => "bad_signature",
            Self::Expired => "expired",
            Self::TooLongLived => "too_long_lived",
            Self::NotYetValid => "not_yet_valid",
            Self::WrongIssuer => "wrong_issuer",
            Self::WrongAudience => "wrong_audience",
        }
    }
}

impl From<Error> for InvalidCredential {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidSignature => Self::BadSignature,
            ErrorKind::ExpiredSignature => Self::Expired,
            ErrorKind::ImmatureSignature => Self::NotYetValid,
            ErrorKind::InvalidIssuer => Self::WrongIssuer,
            ErrorKind::InvalidAudience => Self::WrongAudience,
            _ => Self::Malformed,
        }
    }
}
