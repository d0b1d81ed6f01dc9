//! The history of a queue stays small, whatever was counted and for how long.

use redis::Value;

use super::{Redis, queue};
use crate::{job::Millis, queue::Step};

const KEY: &str = "t:{q}:2:history";
const PLACES: u64 = 120;
const MOST: i64 = 32 << 10;

/// An entry whose columns all have so many bytes.
fn entry(place: u64, bytes: usize) -> Vec<u8> {
    let column = [vec![255; bytes - 1], vec![127]].concat();
    [vec![place as u8, 255, 31], column.repeat(12)].concat()
}

impl Redis {
    async fn of_history(&self, verb: &str, rest: &[&[u8]]) -> Value {
        let mut command = redis::cmd(verb);
        command.arg(if verb == "MEMORY" { &["USAGE", KEY, "SAMPLES", "0"][..] } else { &[KEY][..] });
        rest.iter().for_each(|arg| _ = command.arg(*arg));
        self.queues.parts.runner.link.plain(&command).await.expect(verb)
    }

    /// Every field that there may be is full.
    async fn fill_history(&self, now: Millis, bytes: usize) {
        for (letter, step_ms, fields) in [("m", 60_000, 13), ("h", 3_600_000, 19)] {
            let last = now.0 / step_ms / PLACES;
            for field in last - fields..=last {
                let entries = (0..PLACES).flat_map(|place| entry(place, bytes)).collect::<Vec<_>>();
                self.of_history("HSET", &[format!("{letter}{field}").as_bytes(), &entries]).await;
            }
        }
        self.of_history("HDEL", &[b"last"]).await;
    }
}

#[tokio::test]
async fn a_history_takes_32_kib_at_most() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    for bytes in [1, 2, 4, 8] {
        let now = redis.queues.history(&queue(), Step::Minute, Millis(0)).await.expect("a history").now;
        redis.fill_history(now, bytes).await;
        let Value::Int(full) = redis.of_history("MEMORY", &[]).await else { panic!("a number") };
        redis.queues.record(&queue()).await.expect("entered");
        let Value::Int(kept) = redis.of_history("MEMORY", &[]).await else { panic!("a number") };
        assert!(full > MOST && kept <= MOST && kept > MOST / 3, "{bytes} bytes a column: {full}, then {kept}");
        let hours = redis.queues.history(&queue(), Step::Hour, Millis(0)).await.expect("a history").spans;
        assert!(hours.len() >= 60, "the newest stay: {}", hours.len());
    }
}
