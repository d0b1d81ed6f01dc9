//! `intray import` and `intray export`: what is carried, and between what.

use std::path::PathBuf;

use clap::{Args, builder::RangedU64ValueParser};

use super::Remote;
use crate::job::{QueueName, State, limits};

#[derive(Debug, Args)]
pub struct ImportOptions {
    /// A job a line, as JSON; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The queue of the lines that name none, and with --exported of all
    #[arg(long, value_parser = |text: &str| QueueName::parse(text))]
    pub queue: Option<QueueName>,
    /// Each line is the payload of a job
    #[arg(long)]
    pub payloads: bool,
    /// The lines are what `intray export` has written: what a producer set of each job is put there anew, and how it went with it
    /// stays behind
    #[arg(long, conflicts_with = "payloads")]
    pub exported: bool,
    /// What makes it safe to run again: lines that came under the same key are not put there twice [default: made of the file's
    /// name and its first line]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Where to begin; those before are there already
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<u64>::new().range(1..=limits::COUNT.into()))]
    pub first_line: u64,
    #[command(flatten)]
    pub remote: Remote,
}

#[derive(Debug, Args)]
pub struct ExportOptions {
    #[arg(value_parser = |text: &str| QueueName::parse(text))]
    pub queue: QueueName,
    /// Which jobs: waiting, blocked, delayed, reserved, completed, dead or cancelled
    #[arg(long, default_value = "completed", value_parser = |text: &str| State::parse(text).ok_or("is no state of a job"))]
    pub state: State,
    /// Only jobs of this client
    #[arg(long)]
    pub client: Option<String>,
    /// Behind this place of the list: the `next` of a line
    #[arg(long, value_name = "NEXT")]
    pub after: Option<String>,
    /// As a table
    #[arg(long)]
    pub csv: bool,
    /// Its columns: JSON pointers into a job, by commas, like id,/payload/photo
    #[arg(long, requires = "csv")]
    pub columns: Option<String>,
    /// Begin with a byte order mark, without which Excel takes the table for another encoding
    #[arg(long, requires = "csv")]
    pub bom: bool,
    /// Go on for ever with what is completed
    #[arg(long, conflicts_with = "csv")]
    pub follow: bool,
    /// Where it goes; none: standard output. With --after it goes on behind what is in the file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub remote: Remote,
}
