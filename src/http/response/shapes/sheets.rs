//! Day sheets.

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    job::{Day, Millis, SheetCounter, ZoneName},
    sheets::{ErasedName, SheetBook, SheetLine},
    store::SheetGap,
};

/// All but the lines, which follow.
#[derive(Serialize)]
pub struct SheetsBody<'a> {
    since: Option<Millis>,
    until: Option<Millis>,
    gaps: Vec<GapBody>,
    time_zone: Option<&'a ZoneName>,
    from: Option<Day>,
    to: Option<Day>,
}

#[derive(Serialize)]
struct GapBody {
    from: Millis,
    until: Millis,
    events: u64,
}

impl<'a> SheetsBody<'a> {
    pub fn new(book: Option<&'a SheetBook>, days: Option<(Day, Day)>) -> Self {
        let gap =
            |gap: &SheetGap| GapBody { from: Millis(gap.from_ms), until: Millis(gap.until_ms), events: gap.events };
        Self {
            since: book.map(|book| book.head.since),
            until: book.map(SheetBook::until),
            gaps: book.map(|book| book.head.gaps.iter().map(gap).collect()).unwrap_or_default(),
            time_zone: book.map(|book| &book.state.zone),
            from: days.map(|(from, _)| from),
            to: days.map(|(_, to)| to),
        }
    }
}

/// What a worker did on a day.
pub struct SheetLineBody<'a> {
    day: Day,
    line: &'a SheetLine,
}

impl<'a> SheetLineBody<'a> {
    /// The names of the fields, in order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let counters = SheetCounter::ALL.into_iter().map(SheetCounter::word);
        ["day", "worker"].into_iter().chain(counters).chain(PERCENTILES.map(|(name, _)| name))
    }

    pub fn new(day: Day, line: &'a SheetLine) -> Self {
        Self { day, line }
    }

    pub fn day(&self) -> Day {
        self.day
    }

    pub fn worker(&self) -> Option<&'a str> {
        self.line.worker.as_ref().map(|worker| worker.as_str())
    }

    /// The numbers after day and worker; `None` for a percentile of nothing.
    pub fn numbers(&self) -> impl Iterator<Item = Option<u64>> {
        let counters = self.line.counts.counters().iter().copied().map(Some);
        counters.chain(PERCENTILES.iter().map(|(_, percent)| self.line.counts.held_percentile(*percent)))
    }
}

const PERCENTILES: [(&str, u64); 2] = [("p50_ms", 50), ("p90_ms", 90)];

impl Serialize for SheetLineBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("day", &self.day)?;
        map.serialize_entry("worker", &self.worker())?;
        for (name, number) in Self::names().skip(2).zip(self.numbers()) {
            map.serialize_entry(name, &number)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
pub struct ErasedBody {
    removed: u64,
    jobs: u64,
    deliveries: u64,
    more: bool,
}

impl ErasedBody {
    pub fn new(erased: &ErasedName) -> Self {
        let ErasedName { lines, jobs, deliveries, more } = *erased;
        Self { removed: lines, jobs, deliveries, more }
    }
}
