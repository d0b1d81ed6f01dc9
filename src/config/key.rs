//! What is to be done about a key.

use std::path::PathBuf;

use clap::Args;

use crate::access::{KeyName, Pattern, Role, Until};

#[derive(Debug, Args)]
pub struct Key {
    /// Whose key it is; two keys of one name are one caller, while one replaces the other
    #[arg(required_unless_present = "revoke")]
    name: Option<KeyName>,
    /// worker, producer, viewer or operator
    #[arg(required_unless_present = "revoke")]
    #[arg(value_parser = |text: &str| Role::parse(text).ok_or("must be worker, producer, viewer or operator"))]
    role: Option<Role>,
    /// The queues that it is for: a name, or a pattern with *
    #[arg(default_value = "*", value_parser = |text: &str| Pattern::parse(text))]
    pattern: Pattern,
    /// When it ends: a time by RFC 3339, or a date, whose day in UTC is its last
    #[arg(long, value_name = "DATE", value_parser = ahead)]
    until: Option<Until>,
    /// Take all keys of this name out of the keys file
    #[arg(long, value_name = "NAME", requires = "keys_file", conflicts_with_all = ["name", "role", "pattern", "until"])]
    revoke: Option<KeyName>,
    /// The keys file that they are taken out of
    #[arg(long, value_name = "FILE", requires = "revoke", conflicts_with_all = ["name", "role"])]
    keys_file: Option<PathBuf>,
}

/// What of it is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyTask {
    Make { name: KeyName, role: Role, pattern: Pattern, until: Option<Until> },
    Revoke { name: KeyName, keys_file: PathBuf },
}

impl Key {
    /// `None` for arguments that their own rules do not let through.
    pub fn task(self) -> Option<KeyTask> {
        let Self { name, role, pattern, until, revoke, keys_file } = self;
        match (revoke, keys_file) {
            (Some(name), Some(keys_file)) => Some(KeyTask::Revoke { name, keys_file }),
            (None, None) => Some(KeyTask::Make { name: name?, role: role?, pattern, until }),
            (Some(_), None) | (None, Some(_)) => None,
        }
    }
}

/// A key that is made and is none is a slip of the pen.
fn ahead(text: &str) -> Result<Until, String> {
    let until: Until = text.parse().map_err(|rule: crate::job::Invalid| rule.0.to_owned())?;
    if until.is_over() { Err(format!("is over: it ended at {until}")) } else { Ok(until) }
}
