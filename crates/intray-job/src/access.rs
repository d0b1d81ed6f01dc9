//! The credential by which a worker got a reservation.

use std::{fmt, sync::Arc};

use serde::Serialize;

/// The credential by which a worker got a reservation. Two credentials with one worker name differ in this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkerAccess {
    /// The service has no access control.
    #[default]
    Open,
    /// A key, by its name. It may use any worker's name.
    Key(Arc<str>),
    /// A token signed with the service's secret, and the name of the key that made it in `POST /tokens`, if one did.
    Token(Option<Arc<str>>),
    /// A token of a key set, by its issuer.
    Issued(Arc<str>),
}

impl WorkerAccess {
    /// Reads what [`fmt::Display`] writes. `None` for nothing, and for what a newer version wrote.
    pub fn parse(stored: &str) -> Option<Self> {
        match stored.split_once(' ') {
            None if stored == "open" => Some(Self::Open),
            None if stored == "token" => Some(Self::Token(None)),
            Some(("key", name)) => Some(Self::Key(name.into())),
            Some(("token", name)) => Some(Self::Token(Some(name.into()))),
            Some(("issuer", issuer)) => Some(Self::Issued(issuer.into())),
            _ => None,
        }
    }

    /// The key that was used, or that made the token.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Key(name) | Self::Token(Some(name)) => Some(name),
            Self::Open | Self::Token(None) | Self::Issued(_) => None,
        }
    }
}

impl fmt::Display for WorkerAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("open"),
            Self::Key(name) => write!(f, "key {name}"),
            Self::Token(None) => f.write_str("token"),
            Self::Token(Some(name)) => write!(f, "token {name}"),
            Self::Issued(issuer) => write!(f, "issuer {issuer}"),
        }
    }
}

impl Serialize for WorkerAccess {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct AccessBody<'a> {
            kind: &'static str,
            key: Option<&'a str>,
            issuer: Option<&'a str>,
        }
        let (kind, issuer) = match self {
            Self::Open => ("open", None),
            Self::Key(_) => ("key", None),
            Self::Token(_) => ("token", None),
            Self::Issued(issuer) => ("token", Some(&**issuer)),
        };
        AccessBody { kind, key: self.key(), issuer }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_access_is_read_as_it_was_written() {
        for access in [
            WorkerAccess::Open,
            WorkerAccess::Key("token".into()),
            WorkerAccess::Token(None),
            WorkerAccess::Token(Some("site".into())),
            WorkerAccess::Issued("https://sso.example/a b".into()),
        ] {
            assert_eq!(WorkerAccess::parse(&access.to_string()), Some(access));
        }
        for unknown in ["", "key", "issuer", "passkey ann", "opened"] {
            assert_eq!(WorkerAccess::parse(unknown), None, "{unknown}");
        }
    }
}
