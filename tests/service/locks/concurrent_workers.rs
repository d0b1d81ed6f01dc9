//! Many workers on few locks: no two leases of one lock overlap, and no worker idles while a job is free.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{Client, ReservedJob, World, batch_verbs::assert_locks_unique, keyspace::Event};

/// Enqueues two hundred jobs over five locks; answers the lock of each job.
async fn two_hundred_jobs(w: &World) -> BTreeMap<String, usize> {
    let job = |n: usize| json!({ "payload": n, "locks": [format!("lock {}", n % 5)] });
    let ids = w.enqueue_many((0..200).map(job)).await;
    ids.into_iter().enumerate().map(|(n, id)| (id, n % 5)).collect()
}

/// A job in hand, in milliseconds of Redis's clock: never longer than this.
struct Hold {
    id: String,
    from: i64,
    to: i64,
    completed: bool,
}

#[derive(Default)]
struct Log {
    holds: Vec<Hold>,
    /// When there was nothing.
    nothing: Vec<i64>,
}

fn millis(time: &Value) -> i64 {
    let time: jiff::Timestamp = time.as_str().expect("a time").parse().expect("RFC 3339");
    time.as_millisecond()
}

/// Works until the queue is empty; logs its reservations and empty answers by Redis's clock.
async fn consume(client: Client, n: usize) -> Log {
    let mut log = Log::default();
    for turn in 0.. {
        let answer = client.send_reserve(json!({})).await.is(200);
        let now = millis(&answer["server_time"]);
        let Some(job) = answer["jobs"].get(0) else {
            if answer["reason"] == "empty" {
                return log;
            }
            log.nothing.push(now);
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        };
        let held = ReservedJob::new(job);
        tokio::time::sleep(Duration::from_millis(((turn * 7 + n) % 5) as u64)).await;
        let completed = !(turn + n).is_multiple_of(4);
        match (turn + n) % 8 {
            0 => drop(client.abandon(&held).await.is(200)),
            4 => drop(client.fail(&held).await.is(200)),
            _ => drop(client.complete(&held).await.is(200)),
        }
        let to = millis(&client.send_reserve(json!({ "queues": ["another"] })).await.is(200)["server_time"]);
        log.holds.push(Hold { id: held.id, from: now, to, completed });
    }
    log
}

/// Replays the events and expects one holder for each lock.
fn no_overlap(events: &[Event], locks: &BTreeMap<String, usize>) {
    let mut holders: BTreeMap<usize, &str> = BTreeMap::new();
    let mut reserved = 0;
    for event in events {
        let lock = locks[&event.job];
        match event.kind.as_str() {
            "reserved" => {
                reserved += 1;
                let before = holders.insert(lock, &event.job);
                assert_eq!(before, None, "lock {lock} is given to {} as well", event.job);
            }
            "completed" | "abandoned" | "failed" | "expired" | "released" | "cancelled" => {
                assert_eq!(holders.remove(&lock), Some(event.job.as_str()), "{event:?}");
            }
            _ => {}
        }
    }
    assert!(reserved >= 200 && holders.is_empty());
}

/// Whenever a worker got no job, every lock was held or had no waiting job.
fn assert_no_worker_idled(logs: &[Log], locks: &BTreeMap<String, usize>) {
    let holds: Vec<_> = logs.iter().flat_map(|log| &log.holds).collect();
    for lock in 0..5 {
        let mine: Vec<_> = holds.iter().filter(|hold| locks[&hold.id] == lock).collect();
        for &at in logs.iter().flat_map(|log| &log.nothing) {
            let is_held = mine.iter().any(|hold| hold.from <= at && at <= hold.to);
            let in_line = mine.iter().find(|hold| hold.completed && hold.from > at);
            assert!(
                is_held || in_line.is_none(),
                "at {at} lock {lock} was free, {:?} was in line, but a worker got no job",
                in_line.map(|hold| &hold.id)
            );
        }
    }
}

#[tokio::test]
async fn concurrent_workers_never_share_a_lock_or_idle() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let locks = two_hundred_jobs(&w).await;
    let mut crowd = JoinSet::new();
    for n in 0..30 {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        crowd.spawn(consume(client, n));
    }
    let logs = crowd.join_all().await;
    let holds = logs.iter().flat_map(|log| &log.holds);
    let done: Vec<_> = holds.filter(|hold| hold.completed).map(|hold| &hold.id).collect();
    assert_eq!((done.len(), done.iter().collect::<BTreeSet<_>>().len()), (200, 200), "each is done once");
    assert!(logs.iter().any(|log| !log.nothing.is_empty()), "there were more consumers than locks");
    no_overlap(&w.events().await, &locks);
    assert_no_worker_idled(&logs, &locks);
    w.check().await;
}

/// All thirty ask at the same time, while nothing else happens.
async fn all_ask(clients: [&Client; 2]) -> (Vec<ReservedJob>, Vec<String>) {
    let mut crowd = JoinSet::new();
    for n in 0..30 {
        let client = clients[n % 2].clone();
        crowd.spawn(async move { client.send_reserve(json!({})).await.is(200) });
    }
    let (mut held, mut reasons) = (Vec::new(), Vec::new());
    for answer in crowd.join_all().await {
        match answer["jobs"].get(0) {
            Some(job) => held.push(ReservedJob::new(job)),
            None => reasons.push(answer["reason"].as_str().expect("a reason").to_owned()),
        }
    }
    (held, reasons)
}

#[tokio::test]
async fn concurrent_reserves_use_every_free_lock() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let locks = two_hundred_jobs(&w).await;
    let mut left = [40; 5];
    let mut held: Vec<ReservedJob> = Vec::new();
    let mut round = 0;
    while left.iter().sum::<usize>() > 0 {
        let is_held = |lock: usize| held.iter().any(|held| locks[&held.id] == lock);
        let free = (0..5).filter(|&lock| left[lock] > 0 && !is_held(lock)).count();
        let (given, reasons) = all_ask([&w, &other]).await;
        assert_eq!((given.len(), reasons.len()), (free, 30 - free), "round {round}");
        held.extend(given);
        assert_locks_unique(&held);
        let blocked = (0..5).any(|lock| left[lock] > 1);
        let expected = if blocked { "blocked" } else { "reserved" };
        assert!(reasons.iter().all(|reason| reason == expected), "{reasons:?}");
        // Some jobs are completed at once, and others are abandoned.
        let mut ending = JoinSet::new();
        for (n, held) in held.drain(..1 + round % held.len()).enumerate() {
            let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
            let gives_back = (n + round) % 6 == 5;
            if !gives_back {
                left[locks[&held.id]] -= 1;
            }
            ending.spawn(async move {
                if gives_back { client.abandon(&held).await.is(200) } else { client.complete(&held).await.is(200) }
            });
        }
        ending.join_all().await;
        round += 1;
    }
    no_overlap(&w.events().await, &locks);
    w.check().await;
}

#[tokio::test]
async fn concurrent_workers_finish_jobs_with_several_locks() {
    let w = World::plan().sweep_every(20).start().await;
    let (_second, other) = w.start_instance().await;
    let locks = |n: usize| [n % 3, n % 5, n % 7][..1 + n % 3].iter().map(|k| format!("{k}")).collect::<BTreeSet<_>>();
    let jobs = (0..150).map(|n| json!({ "payload": n, "priority": n % 4, "locks": locks(n) }));
    let ids = w.enqueue_many(jobs).await;
    let needs: BTreeMap<_, _> = ids.into_iter().enumerate().map(|(n, id)| (id, locks(n))).collect();
    let mut crowd = JoinSet::new();
    for n in 0..12 {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        crowd.spawn(consume(client, n));
    }
    crowd.join_all().await;
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in w.events().await {
        if event.kind == "reserved" {
            let mine = &needs[&event.job];
            assert!(out.values().all(|theirs| theirs.is_disjoint(mine)), "{} is out together with {out:?}", event.job);
            out.insert(event.job.clone(), mine.clone());
        } else if event.kind != "blocked" {
            out.remove(&event.job);
        }
    }
    assert_eq!(w.queue().await["counts"]["completed"], 150);
    w.check().await;
}
