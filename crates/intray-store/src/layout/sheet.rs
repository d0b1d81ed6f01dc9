//! The day sheets of a queue as they are stored: fields of one hash that can be found without a search. For each day, `<day>:<shard>`
//! holds the lines of some workers, and `<day>` says which shards there are; the field without a name holds the rest.

use std::collections::BTreeMap;

use intray_redis::Fault;
use serde::{Deserialize, Serialize};

use crate::{
    job::{Day, HELD_CLASSES, Millis, SheetCounter, SheetCounts},
    redis::read::broken,
    sha256::Sha256,
};

/// Few enough that a day is read in a few calls, and many enough that a field stays small with ten thousand workers.
const SHARDS: u16 = 1024;
/// The first byte of a field with lines.
const FORM: u8 = 1;
const COUNTERS: usize = SheetCounter::ALL.len();
/// Bytes of the masks that say which counters and classes are not zero.
const COUNTER_MASK: usize = 2;
const CLASS_MASK: usize = HELD_CLASSES / 8;
/// Gaps that are kept, the latest ones.
const GAPS: usize = 20;

/// The lines of a shard by worker; `""` stands for all jobs that were reserved without a name.
pub type SheetLines = BTreeMap<String, SheetCounts>;

/// The part of a day in which a worker's line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u16);

impl Shard {
    pub fn of(worker: &str) -> Self {
        let digest = Sha256::digest(worker);
        Self(u16::from_be_bytes([digest[0], digest[1]]) % SHARDS)
    }

    pub fn field(self, day: Day) -> String {
        format!("{day}:{:03x}", self.0)
    }
}

/// The shards of a day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardSet(Vec<u8>);

impl ShardSet {
    pub fn field(day: Day) -> String {
        day.to_string()
    }

    pub fn read(stored: &[u8]) -> Self {
        Self(stored.to_vec())
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether it is new.
    pub fn insert(&mut self, Shard(shard): Shard) -> bool {
        let (byte, bit) = (usize::from(shard / 8), 1 << (shard % 8));
        if self.0.len() <= byte {
            self.0.resize(byte + 1, 0);
        }
        let is_new = self.0[byte] & bit == 0;
        self.0[byte] |= bit;
        is_new
    }

    /// The shards of a field as it was read: of all its values, which are one or none.
    pub fn shards_in(stored: &[Vec<u8>]) -> Vec<Shard> {
        stored.iter().flat_map(|set| Self::read(set).iter().collect::<Vec<_>>()).collect()
    }

    fn iter(&self) -> impl Iterator<Item = Shard> {
        let is_there =
            |shard: &u16| self.0.get(usize::from(shard / 8)).is_some_and(|byte| byte & 1 << (shard % 8) != 0);
        (0..SHARDS).filter(is_there).map(Shard)
    }
}

/// Events that were deleted before they were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetGap {
    pub from_ms: u64,
    pub until_ms: u64,
    pub events: u64,
}

/// What is known of all sheets of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SheetHead {
    /// When counting began.
    pub since: Millis,
    /// The days with sheets, in order.
    pub days: Vec<Day>,
    pub gaps: Vec<SheetGap>,
}

#[derive(Serialize, Deserialize)]
struct StoredHead {
    since_ms: u64,
    days: Vec<String>,
    gaps: Vec<SheetGap>,
}

impl SheetHead {
    pub const FIELD: &str = "";

    /// # Errors
    /// When it is not a head.
    pub fn read(stored: &[u8]) -> Result<Self, Fault> {
        let StoredHead { since_ms, days, gaps } =
            serde_json::from_slice(stored).map_err(|_| broken("the head of day sheets"))?;
        let days = days.iter().map(|day| Day::parse(day)).collect::<Result<_, _>>().map_err(|_| broken("a day"))?;
        Ok(Self { since: Millis(since_ms), days, gaps })
    }

    pub fn bytes(&self) -> Vec<u8> {
        let days = self.days.iter().map(ToString::to_string).collect();
        let stored = StoredHead { since_ms: self.since.0, days, gaps: self.gaps.clone() };
        serde_json::to_vec(&stored).unwrap_or_default()
    }

    /// Returns whether it is new.
    pub fn insert(&mut self, day: Day) -> bool {
        let Err(at) = self.days.binary_search(&day) else { return false };
        self.days.insert(at, day);
        true
    }

    pub fn miss(&mut self, gap: SheetGap) {
        self.gaps.push(gap);
        let surplus = self.gaps.len().saturating_sub(GAPS);
        self.gaps.drain(..surplus);
    }
}

/// Reads a field with lines; an empty one has none.
///
/// # Errors
/// When it has another form.
pub fn read_lines(stored: &[u8]) -> Result<SheetLines, Fault> {
    let mut lines = SheetLines::new();
    let Some((form, mut rest)) = stored.split_first() else { return Ok(lines) };
    if *form != FORM {
        return Err(broken("day sheets of this form"));
    }
    while !rest.is_empty() {
        let (worker, counts) = read_line(&mut rest).ok_or_else(|| broken("a longer line of a day sheet"))?;
        lines.insert(worker, counts);
    }
    Ok(lines)
}

/// Empty without lines.
pub fn pack_lines(lines: &SheetLines) -> Vec<u8> {
    let mut stored = Vec::new();
    for (worker, counts) in lines {
        if stored.is_empty() {
            stored.push(FORM);
        }
        stored.push(worker.len() as u8);
        stored.extend(worker.as_bytes());
        pack(counts.counters(), COUNTER_MASK, &mut stored);
        pack(counts.held(), CLASS_MASK, &mut stored);
    }
    stored
}

fn read_line(rest: &mut &[u8]) -> Option<(String, SheetCounts)> {
    let length = usize::from(*take(rest, 1)?.first()?);
    let worker = String::from_utf8(take(rest, length)?.to_vec()).ok()?;
    let counters = unpack::<COUNTERS>(COUNTER_MASK, rest)?;
    Some((worker, SheetCounts::new(counters, unpack::<HELD_CLASSES>(CLASS_MASK, rest)?)))
}

/// A mask of those that are not zero, and each of them with seven bits a byte.
fn pack(numbers: &[u64], mask_bytes: usize, stored: &mut Vec<u8>) {
    let mask = numbers.iter().enumerate().filter(|(_, n)| **n > 0).fold(0_u32, |mask, (at, _)| mask | 1 << at);
    stored.extend(&mask.to_le_bytes()[..mask_bytes]);
    for mut n in numbers.iter().copied().filter(|n| *n > 0) {
        while n > 127 {
            stored.push(128 | (n & 127) as u8);
            n >>= 7;
        }
        stored.push(n as u8);
    }
}

/// Numbers that a newer version has added are left out.
fn unpack<const N: usize>(mask_bytes: usize, rest: &mut &[u8]) -> Option<[u64; N]> {
    let mut mask = [0; 4];
    mask[..mask_bytes].copy_from_slice(take(rest, mask_bytes)?);
    let (mask, mut numbers) = (u32::from_le_bytes(mask), [0; N]);
    for at in (0..mask_bytes * 8).filter(|at| mask & 1 << at != 0) {
        let n = unpack_number(rest)?;
        if let Some(number) = numbers.get_mut(at) {
            *number = n;
        }
    }
    Some(numbers)
}

fn unpack_number(rest: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = *take(rest, 1)?.first()?;
        n |= u64::from(byte & 127).checked_shl(shift)?;
        if byte < 128 {
            return Some(n);
        }
    }
    None
}

fn take<'b>(rest: &mut &'b [u8], n: usize) -> Option<&'b [u8]> {
    let (head, tail) = rest.split_at_checked(n)?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip() {
        let mut lines = SheetLines::new();
        for (n, worker) in ["", "ann", "Jos\u{e9}", &"x".repeat(128)].into_iter().enumerate() {
            let counts = lines.entry(worker.to_owned()).or_default();
            SheetCounter::ALL.into_iter().take(n * 3).for_each(|counter| counts.count(counter));
            for held in [10, 4_000, 70_000_000, u64::from(u32::MAX)].into_iter().take(n + 1) {
                counts.complete(held << n, n == 1);
            }
        }
        lines.insert("none".to_owned(), SheetCounts::default());
        lines.insert("max".to_owned(), SheetCounts::new([u64::MAX; COUNTERS], [u64::MAX; HELD_CLASSES]));
        let stored = pack_lines(&lines);
        assert_eq!(read_lines(&stored).expect("lines"), lines);
        assert_eq!(read_lines(&pack_lines(&SheetLines::new())).expect("none"), SheetLines::new());
        assert!((2..stored.len()).filter(|end| read_lines(&stored[..*end]).is_ok()).count() < lines.len());
        assert!(read_lines(&[FORM + 1]).is_err());
    }

    #[test]
    fn usual_line_takes_few_bytes() {
        let mut counts = SheetCounts::default();
        for n in 0..200 {
            counts.count(SheetCounter::HandedOut);
            counts.complete(4_000 + n * 500, false);
        }
        let stored = pack_lines(&SheetLines::from([("worker-01234".to_owned(), counts)]));
        assert!(stored.len() < 48, "{}", stored.len());
    }

    #[test]
    fn shards_of_a_day_are_a_set() {
        let mut set = ShardSet::default();
        let shards = ["ann", "bob", ""].map(Shard::of);
        assert!(shards.iter().all(|shard| set.insert(*shard)) && shards.iter().all(|shard| !set.insert(*shard)));
        let mut sorted = shards.to_vec();
        sorted.sort();
        assert_eq!(ShardSet::read(set.bytes()).iter().collect::<Vec<_>>(), sorted);
        let all: ShardSet = (0..SHARDS).map(Shard).fold(ShardSet::default(), |mut set, shard| {
            set.insert(shard);
            set
        });
        assert_eq!((all.iter().count(), all.bytes().len()), (usize::from(SHARDS), 128));
    }

    #[test]
    fn head_round_trips_and_keeps_the_latest_gaps() {
        let mut head = SheetHead { since: Millis(7), ..SheetHead::default() };
        for day in ["2026-11-26", "2026-11-25", "2026-11-26"] {
            head.insert(Day::parse(day).expect("a day"));
        }
        (0..30).for_each(|n| head.miss(SheetGap { from_ms: n, until_ms: n + 1, events: 3 }));
        assert_eq!((head.days.len(), head.gaps.len(), head.gaps[0].from_ms), (2, GAPS, 10));
        assert_eq!(SheetHead::read(&head.bytes()).expect("a head"), head);
    }
}
