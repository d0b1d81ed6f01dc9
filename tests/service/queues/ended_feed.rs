//! Feeds of ended jobs: a reader that follows the cursor misses no job, whatever Redis's clock does.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{Client, ReservedJob, World, assert_contains, id_of};

/// Reads as a producer does: continues after its last cursor.
struct Reader {
    client: Client,
    state: &'static str,
    after: String,
    seen: BTreeSet<String>,
}

impl Reader {
    fn new(client: &Client, state: &'static str) -> Self {
        Self { client: client.clone(), state, after: String::new(), seen: BTreeSet::new() }
    }

    async fn read(&mut self, limit: u32) {
        loop {
            let (state, after) = (self.state, &self.after);
            let page =
                self.client.get(&format!("/queues/default/jobs?state={state}&limit={limit}{after}")).await.is(200);
            self.seen.extend(page["jobs"].as_array().expect("jobs").iter().map(id_of));
            let Some(next) = page["next"].as_str() else { return };
            self.after = format!("&after={next}");
        }
    }
}

async fn reserve_jobs(w: &World, jobs: usize) -> Vec<ReservedJob> {
    w.update_settings(json!({ "worker_limit": 0, "retention_ms": 86_400_000 })).await;
    let mut held = Vec::new();
    for from in (0..jobs).step_by(100) {
        w.enqueue_many((from..from + 100).map(|n| json!({ "payload": n, "max_attempts": 1 }))).await;
        held.extend(w.reserve_all(json!({ "limit": 100, "lease_ms": 86_400_000 })).await);
    }
    held
}

#[tokio::test]
async fn jobs_ended_in_one_millisecond_are_all_read() {
    let w = World::start().await;
    let held = reserve_jobs(&w, 200).await;
    w.stop_clock();
    for (state, held) in [("completed", &held[..100]), ("dead", &held[100..])] {
        let mut reader = Reader::new(&w, state);
        for held in held {
            match state {
                "dead" => w.fail(held).await,
                _ => w.complete(held).await,
            }
            .is(200);
            reader.read(1).await;
        }
        assert_eq!(reader.seen.len(), held.len(), "of {state}");
    }
    w.check().await;
}

#[tokio::test]
async fn jobs_ended_after_a_clock_step_back_are_read_and_kept() {
    let w = World::start().await;
    let held = reserve_jobs(&w, 100).await;
    w.stop_clock();
    let mut reader = Reader::new(&w, "completed");
    for (n, held) in held.iter().enumerate() {
        if n % 40 == 20 {
            w.engine.clock.advance(if n < 50 { -1_000 } else { -3_600_000 });
        }
        w.complete(held).await.is(200);
        reader.read(3).await;
    }
    assert_eq!(reader.seen.len(), 100);
    let order = w.list_ids("completed").await;
    assert_eq!(order, held.iter().map(|held| held.id.clone()).collect::<Vec<_>>(), "in the order in which they ended");
    let (first, last) = (w.job(&order[0]).await, w.job(&order[99]).await);
    assert!(first["ended_at"].as_str() <= last["ended_at"].as_str(), "times within a queue never step back");
    // No job is removed before its time, and all are removed once the clock has caught up.
    w.advance_clock(86_400_000);
    assert_contains(&w.sweep().await, json!({ "forgotten": 0 }));
    w.advance_clock(3_601_100);
    assert_contains(&w.sweep().await, json!({ "forgotten": 100 }));
    w.check().await;
}

#[tokio::test]
async fn reader_misses_no_result_when_the_clock_steps_back() {
    const EACH: usize = 600;
    let w = World::start().await;
    let held = reserve_jobs(&w, 4 * EACH).await;
    let (mut reader, done) = (Reader::new(&w, "completed"), AtomicBool::new(false));
    let writing = async {
        let mut writers = JoinSet::new();
        for some in held.chunks(EACH) {
            let (client, some) = ((*w).clone(), some.to_vec());
            writers.spawn(async move {
                for held in &some {
                    client.complete(held).await.is(200);
                }
            });
        }
        writers.join_all().await;
        done.store(true, Ordering::Relaxed);
    };
    let reading = async {
        let mut reads = 0;
        while !done.load(Ordering::Relaxed) {
            reader.read(10).await;
            reads += 1;
            match reads {
                10 => w.engine.clock.advance(-1_000),
                30 => w.engine.clock.advance(-3_600_000),
                _ => {}
            }
        }
    };
    tokio::join!(writing, reading);
    reader.read(10).await;
    let missed = held.iter().filter(|held| !reader.seen.contains(&held.id)).count();
    assert_eq!(missed, 0, "of {} results", held.len());
    w.check().await;
}
