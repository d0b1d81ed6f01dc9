//! The history of a queue: counts per minute for a day, and per hour for ninety days.

use intray_redis::{Args, Fault};
use serde::Serialize;

use crate::job::{Millis, QueueName, Total, limits};
use crate::{
    handle::Queues,
    layout::history::{COLUMNS, Spans, add},
    redis::read::Fields,
    views::stats::Totals,
};

/// The resolution of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryStep {
    Minute,
    Hour,
}

/// A minute or an hour with counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The start of the span.
    pub at: Millis,
    /// Waiting jobs at the end of the span, or now.
    pub waiting: u64,
    pub reserved: u64,
    /// The increase of each total.
    pub gained: Totals,
}

/// Spans in order; the last one may not be over.
#[derive(Debug)]
pub struct QueueHistory {
    pub spans: Vec<Span>,
    /// Older spans are incomplete, because they took too much memory. `None`: all spans are complete.
    pub since: Option<Millis>,
    pub now: Millis,
}

impl HistoryStep {
    pub const ALL: [Self; 2] = [Self::Minute, Self::Hour];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
        }
    }

    /// The name in the scripts.
    const fn letter(self) -> &'static str {
        match self {
            Self::Minute => "m",
            Self::Hour => "h",
        }
    }

    const fn ms(self) -> u64 {
        match self {
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
        }
    }

    /// How many spans are kept.
    const fn kept(self) -> u64 {
        match self {
            Self::Minute => limits::HISTORY_MINUTES as u64,
            Self::Hour => limits::HISTORY_HOURS as u64,
        }
    }
}

impl Queues {
    /// The spans that began at `from` or later.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn queue_history(
        &self,
        queue: &QueueName,
        step: HistoryStep,
        from: Millis,
    ) -> Result<QueueHistory, Fault> {
        let mut args = Args::default();
        args.push(step.letter());
        let answered = self.run_view("history", queue, &args).await?;
        let mut answer = Fields::of(&answered)?;
        let now = answer.time()?;
        let (since, mut spans) = (answer.maybe()?, Spans::new());
        while !answer.is_done() {
            let (first, entries) = (answer.count()?, answer.slice()?);
            add(&mut spans, first, entries)?;
        }
        let (this, ms) = (now.0 / step.ms(), step.ms());
        let oldest = (this + 1).saturating_sub(step.kept());
        // A clock that ran ahead may have dropped later spans.
        let since = since.map(|since| since.min(this)).filter(|since| *since > oldest);
        let spans = spans.range(oldest.max(from.0.div_ceil(ms))..);
        let spans = spans.map(|(at, columns)| span(Millis(at * ms), columns)).collect();
        Ok(QueueHistory { spans, since: since.map(|since| Millis(since * ms)), now })
    }
}

fn span(at: Millis, [waiting, reserved, gained @ ..]: &[u64; COLUMNS]) -> Span {
    let mut gained = gained.iter().copied();
    let gained = Totals::of(|_: Total| gained.next().unwrap_or(0));
    Span { at, waiting: *waiting, reserved: *reserved, gained }
}
