//! The options of `intray import` and `intray export`.

use std::path::PathBuf;

use clap::{Args, builder::RangedU64ValueParser};

use intray_job::{QueueName, State, limits};

use super::table_options::TableOptions;
use crate::remote::Remote;

#[derive(Debug, Args)]
pub struct ImportOptions {
    /// File with one job per line, as JSON, or with --csv a table; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Queue for the lines that name none, or for all lines with --exported
    #[arg(long, value_parser = |text: &str| QueueName::parse(text))]
    pub queue: Option<QueueName>,
    /// Each line is the payload of a job
    #[arg(long)]
    pub payloads: bool,
    /// The lines were written by `intray export`: each new job keeps what the producer set, and starts without the old job's
    /// history
    #[arg(long, conflicts_with = "payloads")]
    pub exported: bool,
    #[command(flatten)]
    pub table: TableOptions,
    /// Makes it safe to run the import again: lines that were sent under the same key add no second job [default: made of the
    /// file's name and its first line]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// First line to import, or row of a table, whose first row has the names; what is before it is there already
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<u64>::new().range(1..=limits::COUNT.into()))]
    pub first_line: u64,
    #[command(flatten)]
    pub remote: Remote,
}

#[derive(Debug, Args)]
pub struct ExportOptions {
    #[arg(value_parser = |text: &str| QueueName::parse(text))]
    pub queue: QueueName,
    /// State of the jobs: waiting, blocked, delayed, reserved, completed, dead or cancelled
    #[arg(long, default_value = "completed", value_parser = |text: &str| State::parse(text).ok_or("is no state of a job"))]
    pub state: State,
    /// Only jobs of this client
    #[arg(long)]
    pub client: Option<String>,
    /// Only reserved jobs that this worker holds, completed jobs that they handed in, or dead jobs that they had last
    #[arg(long)]
    pub worker: Option<String>,
    /// Continue after this place of the list: the `next` of a line
    #[arg(long, value_name = "NEXT")]
    pub after: Option<String>,
    /// Write a table, as CSV
    #[arg(long)]
    pub csv: bool,
    /// Columns of the table: JSON pointers into a job, separated by commas, like id,/payload/photo
    #[arg(long, requires = "csv")]
    pub columns: Option<String>,
    /// Begin with a byte order mark; without it, Excel assumes another encoding
    #[arg(long, requires = "csv")]
    pub bom: bool,
    /// Keep running, and write jobs as they are completed
    #[arg(long, conflicts_with_all = ["csv", "worker"])]
    pub follow: bool,
    /// File to write; none: standard output. With --after, the output is appended to what is in the file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub remote: Remote,
}
