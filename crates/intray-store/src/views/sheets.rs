//! How a queue keeps its day sheets, and parts of them.

use std::fmt;

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Millis, QueueName, ZoneName, settings::DEFAULT},
    redis::read::{Fields, broken},
    views::events::Position,
};

/// Where the tally of a queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TallyCursor {
    /// Events up to here are counted.
    pub position: Position,
    /// Each change of the sheets moves it on.
    pub version: u64,
    /// Transitions that were deleted before they could be counted, since the last change.
    pub lost: u64,
}

/// How a queue keeps its day sheets now.
#[derive(Debug, Clone)]
pub struct SheetState {
    pub now: Millis,
    pub cursor: TallyCursor,
    /// How many days they are kept.
    pub days: u32,
    pub zone: ZoneName,
}

/// The values of fields, in the order of their names; empty for those that do not exist.
pub type SheetFields = Vec<Vec<u8>>;

impl Queues {
    /// How a queue keeps its day sheets, with the values of these fields. `None`: it keeps none.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn sheets(
        &self,
        queue: &QueueName,
        fields: &[String],
    ) -> Result<Option<(SheetState, SheetFields)>, Fault> {
        let mut args = Args::default();
        fields.iter().for_each(|field| _ = args.push(field));
        let answered = self.run_view("sheets", queue, &args).await?;
        let mut reply = Fields::of(&answered)?;
        let (now, record) = (reply.time()?, reply.text()?);
        let (days, zone) = (reply.maybe_empty()?, reply.text()?);
        if record.is_empty() {
            return Ok(None);
        }
        let cursor = TallyCursor::parse(&record).ok_or_else(|| broken("the cursor of a tally"))?;
        let days = days.and_then(|days| days.try_into().ok()).unwrap_or(DEFAULT.sheets_days);
        let zone = ZoneName::parse(&zone).unwrap_or(DEFAULT.time_zone);
        let values = fields.iter().map(|_| reply.bytes()).collect::<Result<_, _>>()?;
        Ok(Some((SheetState { now, cursor, days, zone }, values)))
    }
}

impl TallyCursor {
    fn parse(record: &str) -> Option<Self> {
        let mut words = record.split(' ');
        let position = Position::parse(words.next()?)?;
        let (version, lost) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().is_none().then_some(Self { position, version, lost })
    }
}

/// The record as it is stored.
impl fmt::Display for TallyCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.position, self.version, self.lost)
    }
}
