//! The options of `intray top`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use intray_job::{Invalid, QueueName};

use crate::remote::Remote;

#[derive(Debug, Args)]
pub struct Top {
    #[command(flatten)]
    pub remote: Remote,
    /// Seconds between two reads
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub interval: Duration,
    /// Sort order of the queues at the start; a key changes it
    #[arg(long, value_enum, default_value = "oldest")]
    pub sort: Sort,
    /// Show the workers that hold jobs of this queue, instead of all queues
    #[arg(long, value_name = "QUEUE", value_parser = |text: &str| QueueName::parse(text))]
    pub queue: Option<QueueName>,
    /// Print one table and exit, as always when standard output is not a terminal
    #[arg(long)]
    pub once: bool,
}

/// The sort order of queues. Names ascend, numbers descend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    Name,
    Waiting,
    Oldest,
    Held,
    Overdue,
    Dead,
    In,
    Out,
    Done,
}

fn seconds(text: &str) -> Result<Duration, Invalid> {
    let number = text.parse::<f64>().ok().filter(|seconds| (0.1..=3_600.0).contains(seconds));
    number.map(Duration::from_secs_f64).ok_or(Invalid("must be seconds from 0.1 to 3600"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_neither_too_near_nor_too_far_apart() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "0.01", "3601", "NaN", "-1", "soon", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
