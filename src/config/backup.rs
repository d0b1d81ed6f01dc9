//! Settings of `intray backup` and `intray restore`.

use std::path::{Path, PathBuf};

use clap::Args;
use intray_base::flags::{FileParser, FlagFile, UnquotedParser};

use super::{RedisUrl, store::DATA_DIR};

#[derive(Debug, Args)]
pub struct Backup {
    /// The folder that the copy is written to; it is created
    #[arg(value_name = "TO")]
    pub to: PathBuf,
    #[command(flatten)]
    pub store: PrivateStore,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// The folder that `intray backup` has written
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    #[command(flatten)]
    pub store: PrivateStore,
}

/// A private server's folder. An operator's own Redis is no folder: its URL is taken to be refused.
#[derive(Debug, Args)]
pub struct PrivateStore {
    /// The folder of the private server's data
    #[arg(long, env = "INTRAY_DATA_DIR", value_name = "FOLDER", default_value = DATA_DIR)]
    data_dir: PathBuf,
    #[arg(long, env = "REDIS_URL", hide = true, value_parser = UnquotedParser(RedisUrl::from_flag))]
    redis_url: Option<RedisUrl>,
    #[arg(long, env = "REDIS_URL_FILE", hide = true, value_parser = FileParser(RedisUrl::parse))]
    redis_url_file: Option<FlagFile<RedisUrl>>,
}

impl PrivateStore {
    /// # Errors
    /// One line for the operator, when the jobs are not in a private server.
    pub fn data_dir(&self) -> Result<&Path, String> {
        if self.redis_url.is_none() && self.redis_url_file.is_none() {
            return Ok(&self.data_dir);
        }
        Err("this copies the folder of a private server, and --redis-url or REDIS_URL names a Redis of yours: \
             docs/backup.md says how that is copied"
            .to_owned())
    }
}
