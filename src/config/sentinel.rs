//! The flags for sentinels: credentials, and a map of announced addresses.

use std::{path::PathBuf, str::FromStr};

use clap::Args;
use intray_base::flags::{FileParser, FlagFile};

use super::sentinel_url::{SentinelAddress, parse_host_port};
use crate::job::Invalid;

/// An address that sentinels announce, and the address at which this process reaches that server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressMap {
    pub announced: SentinelAddress,
    pub real: SentinelAddress,
}

impl FromStr for AddressMap {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let both = text.split_once('=').and_then(|(announced, real)| {
            Some(Self { announced: parse_host_port(announced, None)?, real: parse_host_port(real, None)? })
        });
        both.ok_or(Invalid("must be host:port=host:port, the announced address and the real one"))
    }
}

#[derive(Debug, Args)]
pub(super) struct SentinelFlags {
    /// User name for the sentinels of a redis+sentinel:// URL
    #[arg(long, env = "INTRAY_SENTINEL_USER", value_name = "NAME", requires = "sentinel_password_file")]
    sentinel_user: Option<String>,
    /// File that holds the password for the sentinels
    #[arg(long, env = "INTRAY_SENTINEL_PASSWORD_FILE", value_name = "FILE", value_parser = FileParser(password))]
    sentinel_password_file: Option<FlagFile<String>>,
    /// The real address of a server that sentinels announce by one that cannot be reached from here; repeatable, or a comma list
    #[arg(long, env = "INTRAY_SENTINEL_MAP", value_name = "ANNOUNCED=REAL", value_delimiter = ',')]
    sentinel_map: Vec<AddressMap>,
}

/// The credentials for sentinels, and a map of the addresses that they announce.
pub struct SentinelAccess {
    pub user: Option<String>,
    pub password: Option<String>,
    pub map: Vec<AddressMap>,
}

impl SentinelFlags {
    pub(super) fn password_file(&self) -> Option<&PathBuf> {
        self.sentinel_password_file.as_ref().map(|file| &file.path)
    }

    /// # Errors
    /// One line for the operator, if the flags are set and the URL names no sentinels.
    pub(super) fn access(&self, has_sentinels: bool) -> Result<SentinelAccess, String> {
        let is_set = self.sentinel_user.is_some() || self.password_file().is_some() || !self.sentinel_map.is_empty();
        if is_set && !has_sentinels {
            return Err("--sentinel-user, --sentinel-password-file and --sentinel-map are for redis+sentinel:// URLs"
                .to_owned());
        }
        let password = self.sentinel_password_file.as_ref().map(|file| file.content.clone());
        Ok(SentinelAccess { user: self.sentinel_user.clone(), password, map: self.sentinel_map.clone() })
    }
}

fn password(text: &str) -> Result<String, Invalid> {
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(Invalid("there is no password in it")),
        password => Ok(password.to_owned()),
    }
}
