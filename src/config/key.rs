//! The options of `intray key`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, value_parser};

use crate::access::{CredentialExpiry, HashStart, KeyName, Pattern, Role};

#[derive(Debug, Args)]
pub struct KeyCommand {
    /// Name of the caller; two keys of one name are one caller, while one replaces the other
    #[arg(required_unless_present_any = ["revoke", "rotate"])]
    name: Option<KeyName>,
    /// worker, asker, producer, viewer or operator
    #[arg(required_unless_present_any = ["revoke", "rotate"])]
    #[arg(value_parser = |text: &str| Role::parse(text).ok_or("must be worker, asker, producer, viewer or operator"))]
    role: Option<Role>,
    /// Queues that the key is for: a name, or a pattern with *
    #[arg(default_value = "*", value_parser = |text: &str| Pattern::parse(text))]
    pattern: Pattern,
    /// When the key expires: a time by RFC 3339, or a date, which is its last day in UTC
    #[arg(long, value_name = "DATE", value_parser = ahead)]
    until: Option<CredentialExpiry>,
    /// Remove all keys of this name from the keys file, or with --hash one of them
    #[arg(long, value_name = "NAME", group = "change", requires = "keys_file")]
    #[arg(conflicts_with_all = ["name", "role", "pattern", "until"])]
    revoke: Option<KeyName>,
    /// Add a new key of this name to the keys file, with the role and pattern of the old key, which expires after --overlap-ms
    #[arg(long, value_name = "NAME", group = "change", requires = "keys_file", conflicts_with_all = ["name", "role", "pattern"])]
    rotate: Option<KeyName>,
    /// Keys file to change
    #[arg(long, value_name = "FILE", requires = "change", conflicts_with_all = ["name", "role"])]
    keys_file: Option<PathBuf>,
    /// Selects one of several keys of the name, by the first digits of the hash in its line
    #[arg(long, value_name = "DIGITS", requires = "change", conflicts_with_all = ["name", "role"])]
    hash: Option<HashStart>,
    /// How long the old key stays valid next to the new one, in milliseconds; 0: it expires now
    #[arg(long, value_name = "MS", default_value_t = 86_400_000, requires = "rotate", conflicts_with = "revoke")]
    #[arg(value_parser = value_parser!(u64).range(0..=31_536_000_000))]
    overlap_ms: u64,
}

/// The task that the arguments ask for.
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
    /// Returns `None` for combinations that clap already refuses.
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

/// Refuses a time in the past: it must be a mistake, because the new key would never be valid.
fn ahead(text: &str) -> Result<CredentialExpiry, String> {
    let until: CredentialExpiry = text.parse().map_err(|rule: crate::job::Invalid| rule.0.to_owned())?;
    if until.has_expired() { Err(format!("is over: it ended at {until}")) } else { Ok(until) }
}
