//! Five people and many batches at random: always different ones, and nothing hides what one may have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::world::{Client, ReservedJob, World, number};

const LEASE_MS: u64 = 10_000;
const BATCHES: usize = 200;
const OVERLAP: usize = 3;
const PEOPLE: [&str; 5] = ["ann", "bob", "cleo", "dan", "eve"];

/// Pseudorandom numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// So many batches with so many equal jobs each.
async fn ask(w: &Client, batches: usize, overlap: usize, about: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for part in (0..batches).collect::<Vec<_>>().chunks(25) {
        let each = |n: &usize| json!({ "overlap": overlap, "job": { "payload": [about, n], "lease_ms": LEASE_MS } });
        let answer = w.post("/batches", part.iter().map(each).collect()).await.is(201);
        let batches = answer["batches"].as_array().expect("batches");
        ids.extend(batches.iter().map(|batch| batch["id"].as_str().unwrap_or_else(|| panic!("{batch}")).to_owned()));
    }
    ids
}

/// What one person does with a job; answers it if its reservation is let expire. Two calls at once are given the same job, and the second
/// to end it is too late.
async fn work(client: &Client, held: ReservedJob, dice: u64) -> Option<ReservedJob> {
    let reservation = &held.reservation;
    let (path, body) = match dice {
        0 => ("/jobs/abandon", json!({ "reservation": reservation })),
        1 => ("/jobs/abandon", json!({ "reservation": reservation, "skip": true })),
        2 => ("/jobs/abandon", json!({ "reservation": reservation, "grace_ms": 1_000 })),
        3 => ("/jobs/fail", json!({ "reservation": reservation })),
        4 => ("/jobs/release", json!({ "id": held.id })),
        5 => return Some(held),
        _ => ("/jobs/complete", json!({ "reservation": reservation })),
    };
    let answer = client.post(path, body).await;
    assert!(matches!(answer.status, 200 | 409), "{}", answer.text());
    None
}

/// Some of those whose reservations have expired hand their work in late; what is lost by then is refused.
async fn complete_late(client: &Client, expired: Vec<ReservedJob>, chance: &mut Chance) {
    for held in expired {
        if chance.below(2) == 0 {
            let answer = client.complete(&held).await;
            assert!(matches!(answer.status, 200 | 409), "{}", answer.text());
        }
    }
}

/// In each batch, no worker has two answers; by the results and by the events.
async fn assert_different_workers(w: &World, batches: &[String]) {
    let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in w.events().await.into_iter().filter(|event| event.kind == "completed") {
        answers.entry(event.job[..event.job.len() - 4].to_owned()).or_default().push(event.worker);
    }
    for batch in batches {
        let results = w.results(batch, 10).await;
        let workers = results.iter().map(|result| result["completed"]["worker"].as_str());
        let workers: Vec<_> = workers.map(|worker| worker.expect("completed").to_owned()).collect();
        let different: BTreeSet<_> = workers.iter().collect();
        assert_eq!(different.len(), OVERLAP, "{batch}: {workers:?}");
        let mut named = answers.remove(&batch[..batch.len() - 4]).expect("events");
        named.sort();
        assert_eq!(named, different.into_iter().cloned().collect::<Vec<_>>(), "{batch}");
    }
}

#[tokio::test]
async fn three_different_people_answer_each_batch() {
    let w = World::start().await;
    let (_second, second) = w.start_instance().await;
    let seed = std::env::var("INTRAY_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| std::process::id().into());
    println!("INTRAY_SEED={seed}");
    let mut chance = Chance(seed);
    w.update_settings(json!({ "max_attempts": 0, "backoff": { "type": "fixed", "delay_ms": 1 } })).await;
    let batches = ask(&w, BATCHES, OVERLAP, "picture").await;
    // Two calls of one person at once compete too. In the last rounds no job is given back, so that it ends.
    for round in 0.. {
        let limit = if round < 250 { 14 } else { 1_000_000 };
        let calls: Vec<_> = (0..10).map(|n| (PEOPLE[n % 5], n % 2 == 0, chance.below(limit))).collect();
        let turn = async |(worker, first, dice): (&str, bool, u64)| {
            let client = if first { &*w } else { &second };
            let held = client.reserve_all(json!({ "worker": worker, "limit": 2 })).await;
            let mut expired = Vec::new();
            for held in held {
                expired.extend(work(client, held, dice).await);
            }
            expired
        };
        let expired = futures_util::future::join_all(calls.into_iter().map(turn)).await;
        w.advance_clock(LEASE_MS);
        if chance.below(2) == 0 {
            w.sweep().await;
        }
        complete_late(&second, expired.into_iter().flatten().collect(), &mut chance).await;
        if w.queue().await["counts"]["completed"] == json!(BATCHES * OVERLAP) {
            break;
        }
        release_skips(&w, round).await;
        assert!(round < 2_000, "{}", w.queue().await);
    }
    assert_different_workers(&w, &batches).await;
    w.check().await;
}

/// Five people can skip so much of a batch that three do not answer: then a sixth comes, and more.
async fn release_skips(w: &World, round: usize) {
    if round < 250 {
        return;
    }
    for held in w.reserve_all(json!({ "worker": format!("guest {round}"), "limit": 100 })).await {
        w.complete(&held).await.is(200);
    }
}

/// How many, unless INTRAY_ANSWERED is set.
const ANSWERED: usize = 3_000;

#[tokio::test]
async fn answered_batches_of_ann_hide_no_new_one() {
    let answered = std::env::var("INTRAY_ANSWERED").map_or(ANSWERED, |n| n.parse().expect("a number of batches"));
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0, "lease_ms": 86_400_000 })).await;
    ask(&w, answered, 2, "old").await;
    answer_all(&w, "ann", answered).await;
    let [new] = &ask(&w, 1, 2, "new").await[..] else { panic!("one batch") };
    let held = reserve_within(&w, "ann", 1 + answered.div_ceil(1_000)).await;
    assert_eq!(held.id[..held.id.len() - 4], new[..new.len() - 4]);
    w.check().await;
}

#[tokio::test]
async fn batches_of_ann_do_not_hide_those_of_bob() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    ask(&w, 1_800, 2, "hers").await;
    answer_all(&w, "ann", 1_800).await;
    let his = ask(&w, 200, 2, "his").await;
    answer_all(&w, "bob", 2_000).await;
    let held = reserve_within(&w, "ann", 10).await;
    assert!(his.iter().any(|batch| held.id[..held.id.len() - 4] == batch[..batch.len() - 4]), "{}", held.id);
    w.check().await;
}

/// One person answers one job of each batch.
async fn answer_all(w: &World, worker: &str, batches: usize) {
    let mut answered = 0;
    while answered < batches {
        let held = w.reserve_all(json!({ "worker": worker, "limit": 100 })).await;
        answered += held.len();
        let items: Vec<_> = held.iter().map(|held| json!({ "reservation": held.reservation })).collect();
        if !items.is_empty() {
            w.post("/jobs/complete", items.into()).await.is(200);
        }
    }
    assert_eq!(answered, batches);
}

async fn reserve_within(w: &World, worker: &str, calls: usize) -> ReservedJob {
    for _ in 0..calls {
        let answer = w.send_reserve(json!({ "worker": worker })).await.is(200);
        if let Some(job) = answer["jobs"].get(0) {
            return ReservedJob::new(job);
        }
        assert!((250..=275).contains(&number(&answer, "retry_after_ms")), "{answer}");
    }
    panic!("{worker} is given nothing in {calls} calls")
}
