//! What a worker did on a day.

use super::words::words;

words! {
    /// The counters of a worker and day. Stored sheets have them in this order: add new ones at the end.
    pub enum SheetCounter {
        HandedOut = "handed_out",
        Completed = "completed",
        /// The completed ones that ended after their lease.
        Late = "late",
        /// Given back, not to be given to this worker again.
        Skipped = "skipped",
        /// Given back otherwise.
        Abandoned = "abandoned",
        Expired = "expired",
        Failed = "failed",
        Undone = "undone",
        HandedOver = "handed_over",
        /// How long the completed ones were held, in total.
        HeldMs = "held_ms",
    }
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// How many classes there are of the time for which a job was held.
pub const HELD_CLASSES: usize = 24;
/// Each class ends before this time, but the last one has no end.
const BOUNDS: [u64; HELD_CLASSES] = [
    SECOND,
    2 * SECOND,
    3 * SECOND,
    5 * SECOND,
    7 * SECOND,
    10 * SECOND,
    15 * SECOND,
    20 * SECOND,
    30 * SECOND,
    45 * SECOND,
    MINUTE,
    90 * SECOND,
    2 * MINUTE,
    3 * MINUTE,
    5 * MINUTE,
    7 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    20 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    24 * HOUR,
];

/// The counters of a worker and day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SheetCounts {
    counters: [u64; SheetCounter::ALL.len()],
    /// Completions by the time for which the job was held.
    held: [u64; HELD_CLASSES],
}

impl SheetCounts {
    pub fn new(counters: [u64; SheetCounter::ALL.len()], held: [u64; HELD_CLASSES]) -> Self {
        Self { counters, held }
    }

    pub fn get(&self, counter: SheetCounter) -> u64 {
        self.counters[counter as usize]
    }

    pub fn counters(&self) -> &[u64; SheetCounter::ALL.len()] {
        &self.counters
    }

    pub fn held(&self) -> &[u64; HELD_CLASSES] {
        &self.held
    }

    pub fn count(&mut self, counter: SheetCounter) {
        self.add(counter, 1);
    }

    pub fn complete(&mut self, held_ms: u64, is_late: bool) {
        self.count(SheetCounter::Completed);
        self.add(SheetCounter::Late, is_late.into());
        self.add(SheetCounter::HeldMs, held_ms);
        let class = BOUNDS.iter().position(|bound| held_ms < *bound).unwrap_or(HELD_CLASSES - 1);
        self.held[class] += 1;
    }

    /// Adds the counts of another, for example of another day.
    pub fn merge(&mut self, other: &Self) {
        self.counters.iter_mut().zip(other.counters).for_each(|(sum, n)| *sum += n);
        self.held.iter_mut().zip(other.held).for_each(|(sum, n)| *sum += n);
    }

    /// How long at most the fastest part (in percent) of the completed jobs were held, in ms, as if those of a class were spread
    /// evenly over it. `None` without completions.
    pub fn held_percentile(&self, percent: u64) -> Option<u64> {
        let total: u64 = self.held.iter().sum();
        let wanted = (total * percent).div_ceil(100).max(1);
        let (mut below, mut begin) = (0, 0);
        for (count, end) in self.held.into_iter().zip(BOUNDS) {
            if count > 0 && below + count >= wanted {
                return Some(begin + (end - begin) * (2 * (wanted - below) - 1) / (2 * count));
            }
            (below, begin) = (below + count, end);
        }
        None
    }

    fn add(&mut self, counter: SheetCounter, n: u64) {
        self.counters[counter as usize] += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_holding(held: &[u64]) -> SheetCounts {
        let mut counts = SheetCounts::default();
        held.iter().for_each(|ms| counts.complete(*ms, false));
        counts
    }

    #[test]
    fn stored_order_of_counters_does_not_change() {
        let known = [
            "handed_out",
            "completed",
            "late",
            "skipped",
            "abandoned",
            "expired",
            "failed",
            "undone",
            "handed_over",
            "held_ms",
        ];
        assert!(SheetCounter::ALL.map(SheetCounter::word).starts_with(&known));
    }

    #[test]
    fn classes_of_held_time_are_in_order() {
        assert!(BOUNDS.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn percentiles_are_within_the_class_of_the_exact_one() {
        assert_eq!(SheetCounts::default().held_percentile(50), None);
        let times: Vec<u64> = (1..=500).map(|n| n * n * 50).collect();
        let counts = after_holding(&times);
        for percent in [1, 50, 90, 99, 100] {
            let exact = times[(times.len() as u64 * percent).div_ceil(100) as usize - 1];
            let class = BOUNDS.iter().position(|bound| exact < *bound).expect("a class");
            let begin = class.checked_sub(1).map_or(0, |before| BOUNDS[before]);
            let estimate = counts.held_percentile(percent).expect("some");
            assert!((begin..=BOUNDS[class]).contains(&estimate), "{percent} %: {estimate} for {exact}");
        }
        assert_eq!(after_holding(&[3 * 86_400_000]).held_percentile(90), Some(14 * HOUR));
    }

    #[test]
    fn late_completions_are_part_of_the_completed() {
        let mut counts = after_holding(&[100]);
        counts.complete(5_000, true);
        let of = |counter| counts.get(counter);
        assert_eq!((of(SheetCounter::Completed), of(SheetCounter::Late), of(SheetCounter::HeldMs)), (2, 1, 5_100));
    }
}
