//! Settings: the only reader of arguments and environment variables. Every value that leaves this module is valid.

mod backup;
mod desk;
mod durability;
mod environment;
mod exposure;
mod followed;
mod hosted;
mod key;
mod manual;
mod moving;
mod pem;
mod redis_tls;
mod redis_url;
mod secrets;
mod sentinel;
mod sentinel_url;
mod store;
mod threads;
mod tls;
mod token;
mod values;
mod webhook;

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand, builder::BoolishValueParser,
    builder::NonEmptyStringValueParser, builder::RangedU64ValueParser, value_parser,
};
use intray_base::flags::{FileParser, FlagFile, UnquotedParser};
use intray_cli::{
    bulk::{ExportOptions, ImportOptions},
    top::Top,
};

pub use self::{
    backup::{Backup, Restore},
    desk::DeskOptions,
    durability::DurabilityLevel,
    environment::{levels, unknown_variables},
    followed::WatchedRedisUrl,
    key::{KeyCommand, KeyTask},
    manual::{completions, manual},
    moving::Move,
    redis_tls::RedisCertificates,
    redis_url::{RedisUrl, Secret},
    secrets::TokenSecret,
    sentinel::{AddressMap, SentinelAccess},
    sentinel_url::SentinelUrl,
    store::{LogFormat, StoreOptions},
    tls::TlsOptions,
    token::TokenOptions,
    values::{AddressRange, HeaderName, HostName, Listen, MemorySize, Origin, Prefix},
    webhook::WebhookCommand,
};
use crate::job::limits;

/// After a group of flags with a heading: the heading holds until another one.
const NO_HEADING: Option<&str> = None;

/// A work queue for people: jobs handed out over HTTP/JSON, kept safe in Redis.
///
/// Without a command, intray serves. Flags win over the environment; a blank variable counts as unset, except for those that guard.
#[derive(Debug, Parser)]
#[command(name = "intray", version = env!("BUILT_VERSION"), args_conflicts_with_subcommands = true)]
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
    /// Move all queues to another Redis, and leave this one behind
    Move(Move),
    /// Copy the data of a private server into a new folder, also while it serves
    Backup(Backup),
    /// Put such a copy into a new data folder, after a check that it is complete
    Restore(Restore),
    /// Test the configuration and Redis, and say what is wrong
    Check(CheckOptions),
    /// Make a token for a worker, signed by the first secret
    Token(TokenOptions),
    /// Make an API key: prints the key, then its line for the keys file; or rotate or revoke one
    Key(KeyCommand),
    /// Print the line of a new webhook for the webhooks file, with a fresh secret
    Webhook(WebhookCommand),
    /// Enqueue the jobs of a file, one a line or a row, in a running service
    Import(ImportOptions),
    /// Write a queue's jobs as lines or as a table
    Export(ExportOptions),
    /// Show the queues of a running service, live: waiting jobs, their age, throughput, who holds what
    Top(Top),
    /// Ask a running service whether it is ready, for a container's HEALTHCHECK
    Healthcheck(Healthcheck),
    /// Print a shell's completion script for commands and flags
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    Man,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// The address to serve on, host:port
    #[arg(long, env = "INTRAY_LISTEN", value_name = "ADDRESS", default_value = Listen::DEFAULT)]
    pub listen: Listen,
    #[command(flatten)]
    pub tls: TlsOptions,
    #[command(flatten)]
    pub store: StoreOptions,
    /// The format of logs on standard output; RUST_LOG sets their level
    #[arg(long, help_heading = NO_HEADING, env = "INTRAY_LOG_FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,
    /// Milliseconds between two sweeps for overdue jobs
    #[arg(long, help_heading = NO_HEADING, env = "INTRAY_SWEEP_INTERVAL_MS", value_name = "MS", default_value_t = 1_000)]
    #[arg(value_parser = value_parser!(u32).range(10..=3_600_000))]
    pub sweep_interval_ms: u32,
    /// An origin whose pages may call, like https://desk.example, or *; repeatable, or a comma list
    #[arg(long, help_heading = "Access", env = "INTRAY_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    pub cors_origin: Vec<Origin>,
    /// A header that pages of other origins may send, like sentry-trace, besides those of the API and of W3C tracing; repeatable, or a comma list
    #[arg(long, help_heading = "Access", env = "INTRAY_CORS_HEADER", value_name = "HEADER", value_delimiter = ',')]
    pub cors_header: Vec<HeaderName>,
    #[command(flatten)]
    pub signing: Signing,
    /// The API keys, each a line: <name> <worker|asker|producer|viewer|operator> <pattern> <sha256 in hex> [until <date>]; read again when it changes
    #[arg(long, help_heading = "Access", env = "INTRAY_KEYS_FILE", value_name = "FILE")]
    pub keys_file: Option<PathBuf>,
    /// The webhooks, each a line: <name> <url> <queue pattern> <types> <secret> [<older secret>] [plain]; read again when it changes
    #[arg(long, help_heading = NO_HEADING, env = "INTRAY_WEBHOOKS_FILE", value_name = "FILE")]
    pub webhooks_file: Option<PathBuf>,
    /// The public keys of outside issuers of tokens, as a JSON Web Key Set; read again when it changes
    #[arg(long, help_heading = "Access", env = "INTRAY_JWKS_FILE", value_name = "FILE")]
    pub jwks_file: Option<PathBuf>,
    /// The longest remaining lifetime in milliseconds of a token from an outside issuer
    #[arg(long, help_heading = "Access", env = "INTRAY_JWT_MAX_AGE", value_name = "MS", default_value_t = 86_400_000)]
    #[arg(value_parser = value_parser!(u64).range(1_000..=31_536_000_000))]
    pub jwt_max_age: u64,
    /// Calls a second for each key or token; 0: no limit
    #[arg(long, help_heading = "Limits", env = "INTRAY_RATE_LIMIT", value_name = "N", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub rate_limit: u32,
    /// Serve without access control on an address that others can reach
    #[arg(long, help_heading = "Access", env = "INTRAY_INSECURE", value_parser = BoolishValueParser::new())]
    pub insecure: bool,
    /// Serve a desk to try at /demo/
    #[arg(long, help_heading = NO_HEADING, env = "INTRAY_DEMO", value_parser = BoolishValueParser::new())]
    pub demo: bool,
    #[command(flatten)]
    pub desk: DeskOptions,
    /// A Host header to accept besides the loopback names; * for any; with access control any is accepted unless this is set; repeatable, or a comma list
    #[arg(long, help_heading = "Access", env = "INTRAY_ALLOWED_HOST", value_name = "HOST", value_delimiter = ',')]
    pub allowed_host: Vec<HostName>,
    /// Proxies whose X-Forwarded-For names the caller, like 10.0.0.0/8 or 192.0.2.7; repeatable, or a comma list
    #[arg(long, help_heading = "Access", env = "INTRAY_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',')]
    pub trusted_proxy: Vec<AddressRange>,
    /// Connections served at the same time; default: 65536, or fewer if the hard limit of open files requires it
    #[arg(long, help_heading = "Limits", env = "INTRAY_MAX_CONNECTIONS", value_name = "N")]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub max_connections: Option<usize>,
    /// Threads that serve; default: one for each processor, one fewer where Redis is on this machine
    #[arg(long, help_heading = "Limits", env = "INTRAY_THREADS", value_name = "N")]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_024))]
    pub threads: Option<usize>,
    /// The maximum number of queues; a call that would create one more is refused
    #[arg(long, help_heading = "Limits", env = "INTRAY_MAX_QUEUES", value_name = "N", default_value_t = 10_000)]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub max_queues: u32,
    /// How many queues, the busiest, have a label of their own at /metrics; the rest are summed as `other`
    #[arg(long, help_heading = "Limits", env = "INTRAY_METRICS_QUEUES", value_name = "N", default_value_t = 200)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(0..=10_000))]
    pub metrics_queues: usize,
    /// The largest payload and the largest result, in bytes
    #[arg(
        long,
        help_heading = "Limits",
        env = "INTRAY_MAX_PAYLOAD_BYTES",
        value_name = "N",
        default_value_t = 262_144
    )]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=limits::BODY as u64))]
    pub max_payload_bytes: usize,
}

#[derive(Debug, Args)]
pub struct CheckOptions {
    #[command(flatten)]
    pub serve: Serve,
    /// Print the command that creates a Redis user with exactly the rights that are needed, and check nothing
    #[arg(long, help_heading = NO_HEADING)]
    pub acl: bool,
}

/// The secrets and the issuer of tokens.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub struct Signing {
    /// A secret for tokens, of at least 32 bytes; repeatable, or a comma list: the first signs, all verify
    #[arg(long, env = "INTRAY_TOKEN_SECRET", value_name = "SECRET", value_delimiter = ',', value_parser = UnquotedParser(TokenSecret::from_flag))]
    token_secret: Vec<TokenSecret>,
    /// A file of such secrets, one a line, after those of --token-secret; repeatable, or a comma list
    #[arg(long, env = "INTRAY_TOKEN_SECRET_FILE", value_name = "FILE", value_delimiter = ',')]
    #[arg(value_parser = FileParser(TokenSecret::from_lines))]
    token_secret_file: Vec<FlagFile<Vec<TokenSecret>>>,
    /// The issuer that tokens must name, and that ours get
    #[arg(long, env = "INTRAY_JWT_ISSUER", value_name = "NAME", default_value = "intray")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub jwt_issuer: String,
}

#[derive(Debug, Args)]
pub struct Migrate {
    #[command(flatten)]
    pub store: StoreOptions,
    /// Print what would be done, and change nothing
    #[arg(long, help_heading = NO_HEADING)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Healthcheck {
    /// The address that the service listens on, host:port
    #[arg(long, env = "INTRAY_LISTEN", value_name = "ADDRESS", default_value = Listen::DEFAULT)]
    pub listen: Listen,
    #[command(flatten)]
    pub tls: TlsOptions,
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

impl Signing {
    /// The first secret signs, all verify.
    pub fn secrets(&self) -> impl Iterator<Item = &TokenSecret> {
        self.token_secret.iter().chain(self.token_secret_file.iter().flat_map(|file| &file.content))
    }
}

/// The definition of all flags. A blank variable counts as unset, because files of containers and units often set one to nothing.
/// Help never shows values of variables: a URL can hold a password.
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
