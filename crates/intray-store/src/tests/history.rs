//! The size of the history of a queue: it is bounded, and holds as much as it should.

use redis::Value;

use std::collections::BTreeMap;

use super::{Redis, queue};
use crate::{
    HistoryStep, QueueHistory,
    job::{Millis, Total},
};

const KEY: &str = "t:{q}:2:history";
const PLACES: u64 = 120;
const MAX_BYTES: i64 = 64 << 10;

/// By chance, and each time the same.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 8) % limit
    }
}

/// An entry as it stands in a field: its place, which columns it has, and these.
fn entry(place: u64, columns: [u64; 14]) -> Vec<u8> {
    let mut bytes = vec![place as u8];
    let has = columns.iter().rev().fold(0, |has, column| has << 1 | u64::from(*column > 0));
    for mut number in std::iter::once(has).chain(columns.into_iter().filter(|column| *column > 0)) {
        while number > 127 {
            bytes.push((number & 127) as u8 | 128);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes
}

/// Columns of random numbers.
fn noise(bytes: u32) -> impl FnMut(u64, u64) -> [u64; 14] {
    let mut chance = Chance(7);
    move |_, _| [(); 14].map(|()| chance.below(1 << (7 * bytes)).max(1))
}

/// A queue with many jobs per minute at noon, nearly all completed at once, and few at midnight.
fn traffic(a_minute: u64) -> impl FnMut(u64, u64) -> [u64; 14] {
    let (mut chance, mut waiting) = (Chance(7), 1_000);
    move |at, minutes| {
        let hour = at * minutes / 60 % 24;
        let typical = a_minute * minutes * (hour.min(24 - hour) + 2) / 14;
        let spread = typical.isqrt() * 4 + 2;
        let enqueued = typical + chance.below(spread);
        let handed_out = (typical + chance.below(spread)).min(waiting + enqueued);
        let [expired, failed, abandoned] =
            [50, 20, 30].map(|nth| typical / nth + chance.below(typical.isqrt() / 4 + 2));
        let completed = (handed_out + chance.below(4)).saturating_sub(expired + failed + abandoned);
        waiting = waiting + enqueued - handed_out;
        [waiting, 10 + chance.below(5), enqueued, handed_out, completed, expired, failed, abandoned, 0, 0, 0, 0, 0, 0]
    }
}

/// The spans since the first that was kept, without those that the test itself changes: the current one of any moment from
/// `before` to `after`, and the one before these.
fn of(history: &QueueHistory, step: u64, [before, after]: [&QueueHistory; 2]) -> BTreeMap<Millis, [u64; 14]> {
    let [first_changed, last_changed] = [before.now.0 - before.now.0 % step - step, after.now.0];
    let is_kept = |at: Millis| at >= after.spans[0].at && !(first_changed..=last_changed).contains(&at.0);
    let spans = history.spans.iter().filter(|span| is_kept(span.at));
    let columns =
        |gained: [u64; 12], own: [u64; 2]| std::array::from_fn(|at| if at < 2 { own[at] } else { gained[at - 2] });
    spans
        .map(|span| (span.at, columns(Total::ALL.map(|total| span.gained.get(total)), [span.waiting, span.reserved])))
        .collect()
}

impl Redis {
    async fn of_history(&self, verb: &str, rest: &[&[u8]]) -> Value {
        let mut command = redis::cmd(verb);
        command.arg(if verb == "MEMORY" { &["USAGE", KEY, "SAMPLES", "0"][..] } else { &[KEY][..] });
        rest.iter().for_each(|arg| _ = command.arg(*arg));
        self.queues.parts.runner.link.plain(&command).await.expect(verb)
    }

    /// Every field that there may be is full, of entries.
    async fn fill_history(&self, now: Millis, mut columns: impl FnMut(u64, u64) -> [u64; 14]) {
        self.of_history("DEL", &[]).await;
        for (letter, step_ms, fields) in [("m", 60_000, 13), ("h", 3_600_000, 19)] {
            let last = now.0 / step_ms / PLACES;
            for field in last - fields..=last {
                let entries =
                    (0..PLACES).flat_map(|place| entry(place, columns(field * PLACES + place, step_ms / 60_000)));
                let entries = entries.collect::<Vec<_>>();
                self.of_history("HSET", &[format!("{letter}{field}").as_bytes(), &entries]).await;
            }
        }
    }

    /// Often enough that nothing changes after that.
    async fn record_again_and_again(&self) {
        for _ in 0..20 {
            self.of_history("HDEL", &[b"last"]).await;
            self.queues.record(&queue()).await.expect("entered");
        }
    }

    async fn minutes_and_hours(&self) -> [QueueHistory; 2] {
        let of = async |step| self.queues.queue_history(&queue(), step, Millis(0)).await.expect("a history");
        [of(HistoryStep::Minute).await, of(HistoryStep::Hour).await]
    }

    async fn size_of_history(&self) -> i64 {
        let Value::Int(size) = self.of_history("MEMORY", &[]).await else { panic!("a number") };
        size
    }
}

#[tokio::test]
async fn history_stays_under_64_kib_and_reports_its_start() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    for bytes in [1, 2, 4, 8] {
        let [minutes, _] = redis.minutes_and_hours().await;
        redis.fill_history(minutes.now, noise(bytes)).await;
        let (full, before) = (redis.size_of_history().await, redis.minutes_and_hours().await);
        redis.record_again_and_again().await;
        let (kept, after) = (redis.size_of_history().await, redis.minutes_and_hours().await);
        assert!(
            full > MAX_BYTES && kept <= MAX_BYTES && kept > MAX_BYTES / 3,
            "{bytes} bytes a column: {full}, then {kept}"
        );
        assert!(after[1].spans.len() >= 60, "the newest stay: {}", after[1].spans.len());
        assert!(after[1].since.is_some(), "{bytes}");
        for (before, after) in before.iter().zip(&after) {
            let (first, step) = (after.spans[0].at, after.spans[1].at.0 - after.spans[0].at.0);
            assert!(before.since.is_none() && after.since.is_none_or(|since| first == since));
            let [kept, all] = [after, before].map(|history| of(history, step, [before, after]));
            assert_eq!(kept, all, "{bytes} bytes a column, since {first:?}");
        }
    }
}

#[tokio::test]
async fn history_of_thirty_thousand_jobs_a_day_is_complete() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    let [minutes, _] = redis.minutes_and_hours().await;
    redis.fill_history(minutes.now, traffic(40)).await;
    let before = redis.minutes_and_hours().await;
    redis.record_again_and_again().await;
    let (kept, after) = (redis.size_of_history().await, redis.minutes_and_hours().await);
    assert!(kept <= MAX_BYTES, "{kept}");
    for ((before, after), (step, all)) in before.iter().zip(&after).zip([(60_000, 1_440), (3_600_000, 2_160)]) {
        let [kept, complete] = [after, before].map(|history| of(history, step, [before, after]));
        assert_eq!(kept, complete, "by {step} ms");
        assert!(after.since.is_none() && after.spans.len() >= all, "{}", after.spans.len());
    }
    let enqueued =
        |history: &QueueHistory| history.spans.iter().map(|span| span.gained.get(Total::Enqueued)).sum::<u64>();
    assert!(enqueued(&before[0]) > 30_000 && enqueued(&before[1]) > 90 * 30_000);
    // Spans that were dropped long ago do not count as missing.
    redis.of_history("HSET", &[b"since", b"1 1"]).await;
    assert!(redis.minutes_and_hours().await.iter().all(|history| history.since.is_none()));
}
