//! Why a credential is not valid, as fixed words for metrics. The answer to the caller does not name the reason.

use jsonwebtoken::errors::{Error, ErrorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidCredential {
    /// Neither a key of the file nor a token.
    UnknownKey,
    /// A key of the file that has expired. Its owner may know.
    Ended,
    /// A token that cannot be parsed, or lacks a required claim.
    Malformed,
    /// Signed with a key that is not configured here.
    UnknownSigner,
    BadSignature,
    Expired,
    /// Its lifetime is longer than allowed for a token that cannot be revoked.
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
