//! Settings of the Redis that keeps the jobs.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use intray_base::flags::{FileParser, FlagFile, UnquotedParser};

use super::{
    DurabilityLevel, MemorySize, Prefix, RedisCertificates, RedisUrl, SentinelAccess, redis_tls::RedisTls,
    sentinel::SentinelFlags,
};
use crate::job::limits;

/// Where a private server has its data, unless a flag says so.
pub(super) const DATA_DIR: &str = "./intray-data";

/// The Redis that keeps the jobs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Redis")]
pub struct StoreOptions {
    /// redis://[user:password@]host[:port][/db], unix:///path, redis+cluster://host,host or redis+sentinel://host,host/name; none: a private server with its data in --data-dir
    #[arg(long, env = "REDIS_URL", value_name = "URL", value_parser = UnquotedParser(RedisUrl::from_flag))]
    pub(super) redis_url: Option<RedisUrl>,
    /// A file that holds the URL, for a URL with a password; read when --redis-url is not given
    #[arg(long, env = "REDIS_URL_FILE", value_name = "FILE", value_parser = FileParser(RedisUrl::parse))]
    pub(super) redis_url_file: Option<FlagFile<RedisUrl>>,
    #[command(flatten)]
    pub(super) redis_tls: RedisTls,
    #[command(flatten)]
    pub(super) sentinel: SentinelFlags,
    /// Milliseconds that Redis has to answer; a call that gets no answer is a 503
    #[arg(long, env = "INTRAY_REDIS_TIMEOUT_MS", value_name = "MS", default_value_t = limits::REDIS_TIMEOUT_DEFAULT_MS)]
    #[arg(value_parser = value_parser!(u32).range(100..=30_000))]
    redis_timeout_ms: u32,
    /// The folder of the private server's data
    #[arg(long, env = "INTRAY_DATA_DIR", value_name = "FOLDER", default_value = DATA_DIR)]
    pub data_dir: PathBuf,
    /// The private server's memory: bytes, or with a suffix K, M or G; 0: no limit [default: half of the machine's or of
    /// the control group's]
    #[arg(long, env = "INTRAY_MAX_MEMORY", value_name = "BYTES")]
    pub max_memory: Option<MemorySize>,
    /// When a change is acknowledged: async, after Redis has made it; replicated:N, after N replicas have it; synced, after it is
    /// on disk
    #[arg(long, env = "INTRAY_DURABILITY", value_name = "LEVEL", default_value = "async")]
    pub durability: DurabilityLevel,
    /// The prefix of every key in Redis
    #[arg(long, env = "INTRAY_PREFIX", default_value = "intray")]
    pub prefix: Prefix,
}

impl StoreOptions {
    /// The URL of the flag, else that of the file, else the private server.
    pub fn redis_url(&self) -> RedisUrl {
        let given = self.redis_url.as_ref().or(self.redis_url_file.as_ref().map(|file| &file.content));
        given.cloned().unwrap_or(RedisUrl::Embedded)
    }

    /// Milliseconds that Redis has to answer.
    ///
    /// # Errors
    /// One line for the operator, when that is too short for a Redis that must write to its disk first.
    pub fn redis_timeout_ms(&self) -> Result<u32, String> {
        let is_short = self.redis_timeout_ms < limits::REDIS_TIMEOUT_DEFAULT_MS;
        if is_short && self.durability == DurabilityLevel::Synced && self.redis_url() != RedisUrl::Embedded {
            return Err(format!(
                "--durability synced needs a --redis-timeout-ms of at least {}: Redis writes to its disk once a second",
                limits::REDIS_TIMEOUT_DEFAULT_MS
            ));
        }
        Ok(self.redis_timeout_ms)
    }

    /// The TLS settings for the server.
    ///
    /// # Errors
    /// One line for the operator, when the URL does not use TLS.
    pub fn redis_tls(&self) -> Result<RedisCertificates, String> {
        let is_tls = match self.redis_url() {
            RedisUrl::Embedded => false,
            RedisUrl::Url(url) => url.asks_for_tls(),
            RedisUrl::Sentinels(url) => url.is_tls,
        };
        self.redis_tls.certificates(is_tls)
    }

    /// The credentials for sentinels.
    ///
    /// # Errors
    /// One line for the operator, when the URL names no sentinels.
    pub fn sentinel(&self) -> Result<SentinelAccess, String> {
        self.sentinel.access(matches!(self.redis_url(), RedisUrl::Sentinels(_)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}
