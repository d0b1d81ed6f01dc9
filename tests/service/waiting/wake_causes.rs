//! Every change that makes a job ready wakes a waiter, at any instance, without a new enqueue.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{Client, ReservedJob, Took, World, waiters::PROMPT_LIMIT};

/// How long ended jobs are kept between two rounds.
const HOUR: u64 = 3_600_000;

/// A change in the queue `default`.
enum Step {
    /// A job with these attributes; the payload is added.
    Put(Value),
    PutMany(usize),
    /// A worker reserves the next job.
    Take,
    Complete,
    Abandon,
    AbandonFor(u64),
    Fail,
    Release,
    ReleaseFrom,
    /// With `force`.
    Cancel,
    Purge(&'static str),
    Requeue,
    RequeueAll,
    Set(Value),
    /// A batch of so many jobs, with these attributes.
    Create(usize, Value),
    Append(usize),
    /// The clock moves by so many ms.
    Pass(u64),
}
use Step::*;

/// A name, the steps before the wait, and the step that must wake the waiter.
type Row = (&'static str, Vec<Step>, Step);

/// What the steps have made so far.
#[derive(Default)]
struct Scenario {
    payload: u64,
    ids: Vec<String>,
    held: Vec<ReservedJob>,
    batch: String,
}

impl Scenario {
    async fn apply(&mut self, w: &World, step: &Step) {
        match step {
            Put(job) => {
                let mut job = job.clone();
                job["payload"] = json!(self.payload);
                self.ids.push(w.enqueue_with(job).await);
            }
            PutMany(n) => self.ids = w.enqueue_many((0..*n).map(|n| json!({ "payload": ["many", n] }))).await,
            Take => self.held.push(w.reserve_as("ann").await),
            Complete => drop(w.complete(&self.held[0]).await.is(200)),
            Abandon => drop(w.abandon(&self.held[0]).await.is(200)),
            AbandonFor(ms) => drop(w.abandon_with_delay(&self.held[0], *ms).await.is(200)),
            Fail => drop(w.fail(&self.held[0]).await.is(200)),
            Release => assert_eq!(w.release(&self.held[0].id).await, 1),
            ReleaseFrom => assert_eq!(w.release_worker("ann").await, 1),
            Cancel => drop(w.force_cancel(&self.ids[0]).await.is(200)),
            Purge(state) => drop(w.delete(&format!("/queues/default?state={state}&force=true")).await.is(200)),
            Requeue => assert_eq!(w.requeue(&self.ids[0]).await, 1),
            RequeueAll => assert_eq!(w.requeue_all().await, 1),
            Set(settings) => drop(w.update_settings(settings.clone()).await),
            Create(n, batch) => {
                let mut batch = batch.clone();
                batch["jobs"] = crate::world::batch_verbs::items(0..*n).into();
                self.batch = w.create_batch(batch).await;
            }
            Append(n) => drop(w.append(&self.batch, &crate::world::batch_verbs::items(0..*n)).await.is(200)),
            Pass(ms) => w.advance_clock(*ms),
        }
        self.payload += 1;
    }
}

/// Applies the steps, starts a waiter, applies the cause, and asserts that the waiter gets a job at once.
async fn wakes(what: &str, before: &[Step], cause: &Step) {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    let clients: [(&str, &Client); 2] = [("the same instance", &w), ("another instance", &other)];
    for (place, client) in clients {
        let mut scenario = Scenario::default();
        for step in before {
            scenario.apply(&w, step).await;
        }
        let waiter = if place == "another instance" {
            let waiter = client.start_reserve(json!({ "worker": "bob", "queues": ["elsewhere", "default"] }));
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(!waiter.is_answered(), "{what}: no job is ready");
            waiter
        } else {
            client.start_wait(json!({ "worker": "bob" })).await
        };
        let begin = Instant::now();
        scenario.apply(&w, cause).await;
        let (held, at) = waiter.job_at().await;
        Took::between(begin, at).assert_within(PROMPT_LIMIT, format_args!("{what}, at {place}"));
        assert_eq!(held.body["resumed"], false);
        w.check().await;
        // The next round starts with an empty queue.
        if !scenario.batch.is_empty() {
            w.cancel_batch(&scenario.batch).await;
        }
        w.update_settings(json!({ "paused": null, "backoff": null, "max_attempts": null, "retention_ms": HOUR })).await;
        while w.delete("/queues/default?state=all&force=true").await.is(200)["more"] == true {}
        w.advance_clock(HOUR + 60_000);
        w.sweep_until("no job is left", async || w.record_count().await == 0).await;
    }
}

fn locked() -> Step {
    Put(json!({ "locks": ["l"] }))
}

fn plain() -> Step {
    Put(json!({}))
}

#[tokio::test]
async fn every_change_that_makes_a_job_ready_wakes_a_waiter() {
    let delayed = || Put(json!({ "delay_ms": 60_000 }));
    let mortal = || Put(json!({ "max_attempts": 1 }));
    let rows: Vec<Row> = vec![
        ("an enqueue", vec![], plain()),
        ("an enqueue of many", vec![], PutMany(1_000)),
        ("a creation of a batch", vec![], Create(300, json!({}))),
        ("a creation of a batch with a limit", vec![], Create(3, json!({ "concurrency": 1 }))),
        ("a creation of an open batch", vec![], Create(1, json!({ "sealed": false }))),
        ("an append", vec![Create(0, json!({ "sealed": false, "concurrency": 1 }))], Append(1)),
        ("an abandon", vec![plain(), Take], Abandon),
        ("a fail", vec![plain(), Take], Fail),
        ("a release of a job", vec![plain(), Take], Release),
        ("a release from a worker", vec![plain(), Take], ReleaseFrom),
        ("a requeue of a job", vec![mortal(), Take, Fail], Requeue),
        ("a requeue of all that is dead", vec![mortal(), Take, Fail], RequeueAll),
        ("a delayed job that is run now", vec![delayed()], Requeue),
        ("an unpause", vec![Set(json!({ "paused": true })), plain()], Set(json!({ "paused": false }))),
        (
            "a pause that is back to its default",
            vec![Set(json!({ "paused": true })), plain()],
            Set(json!({ "paused": null })),
        ),
    ];
    for (what, before, cause) in rows {
        wakes(what, &before, &cause).await;
    }
}

#[tokio::test]
async fn every_way_to_free_a_lock_or_batch_slot_wakes_a_waiter() {
    let gates = [
        ("a lock", vec![locked(), Take, locked()]),
        ("a place in a batch", vec![Create(2, json!({ "concurrency": 1 })), Take]),
    ];
    for (gate, held) in gates {
        for (how, cause) in [
            ("complete", Complete),
            ("abandon", Abandon),
            ("abandon with a delay", AbandonFor(60_000)),
            ("fail", Fail),
            ("release", Release),
            ("purge", Purge("reserved")),
        ] {
            wakes(&format!("{gate}, freed by {how}"), &held, &cause).await;
        }
    }
    let doomed = || Put(json!({ "locks": ["l"], "max_attempts": 1 }));
    wakes("a lock, freed by the last failure", &[doomed(), Take, locked()], &Fail).await;
    wakes("a lock, freed by a cancel", &[locked(), Take, locked()], &Cancel).await;
    let rest = || Set(json!({ "backoff": { "type": "fixed", "delay_ms": 60_000 } }));
    wakes("a lock, freed by a failure that rests", &[rest(), locked(), Take, locked()], &Fail).await;
}

/// Time passes during the wait, and a sweep at any instance wakes the waiter.
#[tokio::test]
async fn sweep_that_returns_a_job_wakes_a_waiter() {
    let rows: Vec<(&str, Vec<Step>, u64)> = vec![
        ("a lease that is over", vec![plain(), Take], 300_000),
        ("a delay that is over", vec![Put(json!({ "delay_ms": 60_000 }))], 60_000),
        ("an abandon's delay that is over", vec![plain(), Take, AbandonFor(60_000)], 60_000),
        (
            "a backoff that is over",
            vec![Set(json!({ "backoff": { "type": "fixed", "delay_ms": 60_000 } })), plain(), Take, Fail],
            72_000,
        ),
        ("a lock whose holder ran out of time", vec![locked(), Take, locked()], 300_000),
        (
            "a lock whose holder died of it",
            vec![Put(json!({ "locks": ["l"], "max_attempts": 1 })), Take, locked()],
            300_000,
        ),
        ("a place in a batch", vec![Create(2, json!({ "concurrency": 1 })), Take], 300_000),
    ];
    for (what, before, ms) in rows {
        let w = World::start_process().await;
        let (_second, other) = w.start_instance().await;
        let mut scenario = Scenario::default();
        for step in &before {
            scenario.apply(&w, step).await;
        }
        let waiter = other.start_wait(json!({ "worker": "bob" })).await;
        // The instance has looked once, and does not look again so soon.
        tokio::time::sleep(Duration::from_millis(150)).await;
        let begin = Instant::now();
        w.advance_clock(ms);
        w.sweep().await;
        let (_, at) = waiter.job_at().await;
        Took::between(begin, at).assert_within(PROMPT_LIMIT, what);
        w.check().await;
    }
}

/// No sweep runs here: the waiter's instance knows the next due time.
#[tokio::test]
async fn due_times_wake_waiters_without_a_sweep() {
    const LEFT: u64 = 700;
    let rows: Vec<(&str, Vec<Step>)> = vec![
        ("a delay", vec![Put(json!({ "delay_ms": LEFT }))]),
        ("a lease", vec![plain(), Take, Pass(300_000 - LEFT)]),
        ("an abandon's delay", vec![plain(), Take, AbandonFor(LEFT)]),
        ("a lock whose holder runs out of time", vec![locked(), Take, locked(), Pass(300_000 - LEFT)]),
        ("a delay that is not the first to be over", vec![plain(), Take, Put(json!({ "delay_ms": LEFT }))]),
    ];
    for (what, before) in rows {
        let w = World::start().await;
        let mut scenario = Scenario::default();
        for step in &before {
            scenario.apply(&w, step).await;
        }
        let waiter = w.start_reserve(json!({ "worker": "bob" }));
        let (answer, took) = waiter.timed_answer().await;
        assert_eq!(answer.is(200)["jobs"].as_array().map(Vec::len), Some(1), "{what}: after {took:?}");
        took.assert_within(Duration::from_millis(LEFT) + PROMPT_LIMIT, what);
        w.check().await;
    }
}

/// A delay that is set during the wait is known to the waiter's instance too.
#[tokio::test]
async fn delay_that_starts_during_a_wait_ends_on_time() {
    let rows: Vec<Row> = vec![
        ("an enqueue with a delay", vec![], Put(json!({ "delay_ms": 500 }))),
        ("an abandon with a delay", vec![plain(), Take], AbandonFor(500)),
        (
            "a failure that rests",
            vec![Set(json!({ "backoff": { "type": "fixed", "delay_ms": 500 } })), plain(), Take],
            Fail,
        ),
    ];
    for (what, before, cause) in rows {
        // As in production, the sweep runs once a second.
        let w = World::plan().own_process().sweep_every(1_000).start().await;
        let (_second, other) = w.start_instance().await;
        let mut scenario = Scenario::default();
        for step in &before {
            scenario.apply(&w, step).await;
        }
        let waiter = other.start_wait(json!({ "worker": "bob" })).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        let begin = Instant::now();
        scenario.apply(&w, &cause).await;
        let (_, at) = waiter.job_at().await;
        Took::between(begin, at).assert_within(Duration::from_millis(500) + PROMPT_LIMIT * 2, what);
        w.check().await;
    }
}
