//! Settings of `intray backup` and `intray restore`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{RedisUrl, StoreOptions};

#[derive(Debug, Args)]
pub struct Backup {
    /// The folder that the copy is written to; it is created
    #[arg(value_name = "TO")]
    pub to: PathBuf,
    #[command(flatten)]
    pub store: StoreOptions,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// The folder that `intray backup` has written
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    #[command(flatten)]
    pub store: StoreOptions,
}

impl StoreOptions {
    /// # Errors
    /// One line for the operator, when the jobs are not in a private server.
    pub fn private_data_dir(&self) -> Result<&Path, String> {
        match self.redis_url() {
            RedisUrl::Embedded => Ok(&self.data_dir),
            RedisUrl::Url(_) | RedisUrl::Sentinels(_) => {
                Err("this copies the folder of a private server, and --redis-url or REDIS_URL names a Redis of yours: \
                 docs/backup.md says how that is copied"
                    .to_owned())
            }
        }
    }
}
