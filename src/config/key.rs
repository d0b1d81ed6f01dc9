//! What is to be done about a key.

use std::{path::PathBuf, time::Duration};

use clap::{Args, value_parser};

use crate::access::{CredentialExpiry, HashStart, KeyName, Pattern, Role};

#[derive(Debug, Args)]
pub struct KeyCommand {
    /// Whose key it is; two keys of one name are one caller, while one replaces the other
    #[arg(required_unless_present_any = ["revoke", "rotate"])]
    name: Option<KeyName>,
    /// worker, producer, viewer or operator
    #[arg(required_unless_present_any = ["revoke", "rotate"])]
    #[arg(value_parser = |text: &str| Role::parse(text).ok_or("must be worker, producer, viewer or operator"))]
    role: Option<Role>,
    /// The queues that it is for: a name, or a pattern with *
    #[arg(default_value = "*", value_parser = |text: &str| Pattern::parse(text))]
    pattern: Pattern,
    /// When it ends: a time by RFC 3339, or a date, whose day in UTC is its last
    #[arg(long, value_name = "DATE", value_parser = ahead)]
    until: Option<CredentialExpiry>,
    /// Take all keys of this name out of the keys file, or with --hash one of them
    #[arg(long, value_name = "NAME", group = "change", requires = "keys_file")]
    #[arg(conflicts_with_all = ["name", "role", "pattern", "until"])]
    revoke: Option<KeyName>,
    /// Put a new key of this name into the keys file, with the role and the pattern of the old one, which ends after --overlap-ms
    #[arg(long, value_name = "NAME", group = "change", requires = "keys_file", conflicts_with_all = ["name", "role", "pattern"])]
    rotate: Option<KeyName>,
    /// The keys file that is changed
    #[arg(long, value_name = "FILE", requires = "change", conflicts_with_all = ["name", "role"])]
    keys_file: Option<PathBuf>,
    /// Which of several keys of the name: the first digits of the hash in its line
    #[arg(long, value_name = "DIGITS", requires = "change", conflicts_with_all = ["name", "role"])]
    hash: Option<HashStart>,
    /// How long the old key is good beside the new one; 0: it ends now
    #[arg(long, value_name = "MS", default_value_t = 86_400_000, requires = "rotate", conflicts_with = "revoke")]
    #[arg(value_parser = value_parser!(u64).range(0..=31_536_000_000))]
    overlap_ms: u64,
}

/// What of it is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyTask {
    Make {
        name: KeyName,
        role: Role,
        pattern: Pattern,
        until: Option<CredentialExpiry>,
    },
    Revoke {
        name: KeyName,
        hash: Option<HashStart>,
        keys_file: PathBuf,
    },
    Rotate {
        name: KeyName,
        hash: Option<HashStart>,
        until: Option<CredentialExpiry>,
        overlap: Duration,
        keys_file: PathBuf,
    },
}

impl KeyCommand {
    /// `None` for arguments that their own rules do not let through.
    pub fn task(self) -> Option<KeyTask> {
        let Self { name, role, pattern, until, revoke, rotate, keys_file, hash, overlap_ms } = self;
        let overlap = Duration::from_millis(overlap_ms);
        match (revoke, rotate, keys_file) {
            (Some(name), None, Some(keys_file)) => Some(KeyTask::Revoke { name, hash, keys_file }),
            (None, Some(name), Some(keys_file)) => Some(KeyTask::Rotate { name, hash, until, overlap, keys_file }),
            (None, None, None) => Some(KeyTask::Make { name: name?, role: role?, pattern, until }),
            (Some(_), _, _) | (None, Some(_), None) | (None, None, Some(_)) => None,
        }
    }
}

/// A key that is made and is none is a slip of the pen.
fn ahead(text: &str) -> Result<CredentialExpiry, String> {
    let until: CredentialExpiry = text.parse().map_err(|rule: crate::job::Invalid| rule.0.to_owned())?;
    if until.has_expired() { Err(format!("is over: it ended at {until}")) } else { Ok(until) }
}
