//! What an operator may set: the only reader of arguments and environment. What comes out of here is valid.

mod redis_url;
mod values;

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, builder::BoolishValueParser,
    builder::RangedU64ValueParser, value_parser,
};

use self::redis_url::{UrlFileParser, UrlParser};
pub use self::{
    redis_url::{RedisUrl, Secret},
    values::{Adoption, HostName, Listen, Origin, Prefix},
};
use crate::job::limits;

/// A work queue for people: jobs handed out over HTTP/JSON, kept safe in Redis.
///
/// Without a command, intray serves. Flags win over the environment; a blank variable counts as unset.
#[derive(Debug, Parser)]
#[command(name = "intray", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the queue over HTTP (the default command)
    Serve(Serve),
    /// Apply the layout migrations and say what was done
    Migrate(Migrate),
    /// Test the configuration and Redis, and say what is wrong
    Check(Serve),
    /// Ask a running service whether it is ready, for a container's HEALTHCHECK
    Healthcheck(Healthcheck),
}

/// Where the jobs are kept.
#[derive(Debug, Args)]
pub struct Store {
    /// redis://[user:password@]host[:port][/db] or unix:///path; none: a private server with its data in --data-dir
    #[arg(long, env = "REDIS_URL", value_name = "URL", value_parser = UrlParser)]
    redis_url: Option<RedisUrl>,
    /// A file that holds the URL, for a URL with a password; looked at when --redis-url is not given
    #[arg(long, env = "REDIS_URL_FILE", value_name = "FILE", value_parser = UrlFileParser)]
    redis_url_file: Option<RedisUrl>,
    /// The folder of the private server's data
    #[arg(long, env = "INTRAY_DATA_DIR", value_name = "FOLDER", default_value = "./intray-data")]
    pub data_dir: PathBuf,
    /// What every key in Redis begins with
    #[arg(long, env = "INTRAY_PREFIX", default_value = "intray")]
    pub prefix: Prefix,
    /// How logs are written to standard output; their level is RUST_LOG's
    #[arg(long, env = "INTRAY_LOG_FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// The address to serve on, host:port
    #[arg(long, env = "INTRAY_LISTEN", value_name = "ADDRESS", default_value = Listen::DEFAULT)]
    pub listen: Listen,
    #[command(flatten)]
    pub store: Store,
    /// Milliseconds between two sweeps for overdue jobs
    #[arg(long, env = "INTRAY_SWEEP_INTERVAL_MS", value_name = "MS", default_value_t = 1_000)]
    #[arg(value_parser = value_parser!(u32).range(10..=3_600_000))]
    pub sweep_interval_ms: u32,
    /// An origin whose pages may call, like https://desk.example, or *; repeatable, or a comma list
    #[arg(long, env = "INTRAY_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    pub cors_origin: Vec<Origin>,
    /// Serve without access control on an address that others can reach
    #[arg(long, env = "INTRAY_INSECURE", value_parser = BoolishValueParser::new())]
    pub insecure: bool,
    /// A Host, besides the loopback names, to answer to on a loopback address; repeatable, or a comma list
    #[arg(long, env = "INTRAY_ALLOWED_HOST", value_name = "HOST", value_delimiter = ',')]
    pub allowed_host: Vec<HostName>,
    /// Connections served at the same time
    #[arg(long, env = "INTRAY_MAX_CONNECTIONS", value_name = "N", default_value_t = 65_536)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub max_connections: usize,
    /// The largest payload and the largest result, in bytes
    #[arg(long, env = "INTRAY_MAX_PAYLOAD_BYTES", value_name = "N", default_value_t = 262_144)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=limits::BODY as u64))]
    pub max_payload_bytes: usize,
}

#[derive(Debug, Args)]
pub struct Migrate {
    #[command(flatten)]
    pub store: Store,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Take over the lists NAME and NAME:reserved of the older layout into a queue (default: NAME made valid); repeatable
    #[arg(long, value_name = "NAME[=QUEUE]")]
    pub adopt: Vec<Adoption>,
}

#[derive(Debug, Args)]
pub struct Healthcheck {
    /// The address that the service listens on, host:port
    #[arg(long, env = "INTRAY_LISTEN", value_name = "ADDRESS", default_value = Listen::DEFAULT)]
    pub listen: Listen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

impl Cli {
    /// Reads this process's arguments and environment. Help, version and mistakes end the process here.
    pub fn read() -> Command {
        match Self::from(definition(), std::env::args_os()) {
            Ok(cli) => cli.command.unwrap_or(Command::Serve(cli.serve)),
            Err(error) => error.exit(),
        }
    }

    fn from(mut definition: clap::Command, args: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let matches = definition.try_get_matches_from_mut(args)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
    }
}

impl Store {
    /// The URL itself, else the one out of the file, else the private server.
    pub fn redis_url(&self) -> RedisUrl {
        let given = self.redis_url.as_ref().or(self.redis_url_file.as_ref());
        given.cloned().unwrap_or(RedisUrl::Embedded)
    }
}

impl Serve {
    /// Without access control, only this machine may reach the service, unless the operator says otherwise.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn exposure(&self) -> Result<(), String> {
        if self.insecure || self.listen.is_loopback() {
            return Ok(());
        }
        let listen = &self.listen;
        Err(format!(
            "{listen} can be reached from other machines and there is no access control: \
             listen on 127.0.0.1, or say --insecure (INTRAY_INSECURE=true) if something in front keeps strangers out"
        ))
    }
}

/// A container's or a unit's file often sets a variable to nothing and means "none". And help never shows what the
/// environment holds: a URL can hold a password.
fn definition() -> clap::Command {
    let blank = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    each_argument(Cli::command(), move |arg| match arg.get_env() {
        Some(name) if blank(name) => arg.env(None::<&str>),
        _ => arg.hide_env_values(true),
    })
}

fn each_argument(definition: clap::Command, change: impl Fn(clap::Arg) -> clap::Arg + Copy) -> clap::Command {
    definition.mut_args(change).mut_subcommands(|command| command.mut_args(change))
}

#[cfg(test)]
mod tests;
