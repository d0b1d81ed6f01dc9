//! No script takes long, however many jobs, locks and large payloads there are: large work is split over many scripts,
//! and other calls run between them. The test counts commands, because counts do not depend on the machine.

use serde_json::{Value, json};

use crate::world::{ReservedJob, World, meter::Meter, number};

/// Reserves jobs with eight locks each; for every second one, another job waits for one of its locks.
async fn held_with_locks(w: &World, count: usize, worker: &str) -> Vec<ReservedJob> {
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let locks = |n: usize| (0..8).map(|lock| format!("{worker}-{n}-{lock}")).collect::<Vec<_>>();
    w.enqueue_many((0..count).map(|n| json!({ "payload": [worker, n], "locks": locks(n) }))).await;
    let waiting = |n: usize| {
        let other = (0..7).map(|lock| format!("{worker}-waiting-{n}-{lock}")).chain([format!("{worker}-{n}-3")]);
        json!({ "payload": ["waiting", worker, n], "locks": other.collect::<Vec<_>>() })
    };
    w.enqueue_many((0..count).step_by(2).map(waiting)).await;
    let mut held = Vec::new();
    while held.len() < count {
        held.extend(w.reserve_all(json!({ "worker": worker, "limit": (count - held.len()).min(100) })).await);
    }
    held
}

/// Reserves until every waiting job is parked at a lock.
async fn park_all(w: &World) {
    while number(&w.queue().await["counts"], "waiting") > 0 {
        assert!(w.reserve_all(json!({ "limit": 100 })).await.is_empty());
    }
}

async fn start() -> (World, Meter) {
    let w = World::start_process().await;
    let meter = w.meter().await;
    (w, meter)
}

#[tokio::test]
async fn reserve_and_complete_with_many_locks_use_small_scripts() {
    let (w, mut meter) = start().await;
    let held = held_with_locks(&w, 200, "ann").await;
    meter.assert_bounded("reserves of a hundred with eight locks each", &w.engine).await;
    park_all(&w).await;
    meter.assert_bounded("a reserve that meets a hundred held locks", &w.engine).await;
    let done = |held: &ReservedJob| json!({ "reservation": held.reservation, "result": "x".repeat(2_000) });
    for part in held.chunks(100) {
        let answer = w.post("/jobs/complete", part.iter().map(done).collect()).await.is(200);
        for (held, answered) in part.iter().zip(answer["jobs"].as_array().expect("jobs")) {
            assert_eq!(
                (&answered["id"], &answered["state"]),
                (&json!(held.id), &json!("completed")),
                "in the order of the request"
            );
        }
    }
    meter.assert_bounded("two hundred completions", &w.engine).await;
    assert_eq!(number(&w.queue().await["counts"], "waiting"), 100, "jobs parked at a free lock are ready");
    w.check().await;
}

#[tokio::test]
async fn expiry_of_jobs_with_many_locks_uses_small_scripts() {
    let (w, mut meter) = start().await;
    held_with_locks(&w, 200, "ann").await;
    park_all(&w).await;
    meter.script_runs(&w.engine).await;
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["expired"], 200);
    meter.assert_bounded("a sweep of two hundred with eight locks each", &w.engine).await;
    assert_eq!(number(&w.queue().await["counts"], "waiting"), 300);
    w.check().await;
}

#[tokio::test]
async fn release_and_purge_with_many_locks_use_small_scripts() {
    let (w, mut meter) = start().await;
    held_with_locks(&w, 200, "ann").await;
    park_all(&w).await;
    meter.script_runs(&w.engine).await;
    assert_eq!(w.release_worker("ann").await, 200);
    meter.assert_bounded("a release of two hundred with eight locks each", &w.engine).await;
    w.check().await;

    held_with_locks(&w, 200, "bob").await;
    while !w.reserve_all(json!({ "limit": 100 })).await.is_empty() {}
    meter.assert_bounded("reserves among jobs parked at locks", &w.engine).await;
    let mut removed = 0;
    for state in ["reserved", "waiting", "blocked"] {
        removed += number(&w.delete(&format!("/queues/default?state={state}&force=true")).await.is(200), "removed");
    }
    meter.assert_bounded("a purge of jobs that hold and wait for locks", &w.engine).await;
    assert_eq!(removed, 600);
    w.check().await;
}

#[tokio::test]
async fn sweep_requeue_and_purge_of_thousands_use_small_scripts() {
    let (w, mut meter) = start().await;
    w.update_settings(json!({ "max_attempts": 1, "retention_ms": 10_000 })).await;
    for part in 0..10 {
        let job = |n: usize| json!({ "payload": [part, n], "client": format!("c{n}"), "priority": n % 100 });
        let delayed = |n: usize| json!({ "payload": ["later", part, n], "client": format!("d{n}"), "delay_ms": 1_000 });
        w.enqueue_many((0..500).map(job).chain((500..1_000).map(delayed))).await;
    }
    meter.assert_bounded("ten thousand jobs of many clients at all priorities", &w.engine).await;
    w.advance_clock(1_000);
    assert_eq!(w.sweep().await["due"], 5_000);
    meter.assert_bounded("five thousand due jobs", &w.engine).await;
    let mut taken = 0;
    while taken < 5_000 {
        taken += w.reserve_all(json!({ "limit": 100 })).await.len();
    }
    meter.assert_bounded("reserves at all priorities", &w.engine).await;
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["dead"], taken);
    meter.assert_bounded("five thousand expired leases", &w.engine).await;
    assert_eq!(w.requeue_all().await, taken as u64);
    meter.assert_bounded("five thousand requeued jobs", &w.engine).await;
    let mut removed = 0;
    while number(&w.queue().await["counts"], "waiting") > 0 {
        removed += number(&w.delete("/queues/default?state=waiting").await.is(200), "removed");
    }
    assert_eq!(removed, 10_000);
    meter.assert_bounded("a purge of ten thousand", &w.engine).await;
    w.check().await;
}

#[tokio::test]
async fn removal_after_retention_uses_small_scripts() {
    let (w, mut meter) = start().await;
    w.update_settings(json!({ "retention_ms": 10_000 })).await;
    for part in 0..3 {
        w.enqueue_many((0..1_000).map(|n| json!({ "payload": [part, n] }))).await;
        w.complete_all().await;
    }
    meter.assert_bounded("three thousand jobs, worked off", &w.engine).await;
    w.advance_clock(10_000);
    assert_eq!(w.sweep().await["forgotten"], 3_000);
    meter.assert_bounded("three thousand jobs past retention", &w.engine).await;
    w.check().await;
}

#[tokio::test]
async fn list_reads_payloads_only_of_the_jobs_it_shows() {
    let w = World::start().await;
    for part in 0..8 {
        let large = |n: usize| json!({ "payload": [part, n, "x".repeat(200_000)], "client": "big" });
        w.enqueue_many((0..5).map(large)).await;
    }
    let mut meter = w.meter().await;
    w.enqueue_many((0..300).map(|n| json!({ "payload": [n, "y".repeat(2_000)] }))).await;
    meter.assert_bounded("payloads of 2 KB", &w.engine).await;
    let none = w.get("/queues/default/jobs?state=waiting&client=none").await.is(200);
    assert_eq!(none["jobs"], json!([]));
    let ran = meter.assert_bounded("a list that shows nothing", &w.engine).await;
    assert_eq!(ran.iter().map(|script| script.bodies).sum::<usize>(), 0, "it reads no payload");
    let all = w.pages("/queues/default/jobs?state=waiting", "jobs", 100).await;
    assert_eq!(all.len(), 340);
    meter.assert_bounded("a list of everything", &w.engine).await;

    let held = w.reserve_all(json!({ "limit": 100 })).await;
    assert!((4..=12).contains(&held.len()), "a mebibyte of payloads, not {}", held.len());
    w.complete_all().await;
    meter.assert_bounded("large results", &w.engine).await;
    assert_eq!(w.pages("/queues/default/jobs?state=completed", "jobs", 100).await.len(), 340 - held.len());
    meter.assert_bounded("a list of results", &w.engine).await;
    w.check().await;
}

#[tokio::test]
async fn large_batch_with_locks_uses_small_scripts() {
    let (w, mut meter) = start().await;
    let job =
        |n: usize| json!({ "payload": [n, "x".repeat(1_500)], "locks": [format!("a{}", n / 2), format!("b{n}")] });
    let id = w.create_batch(json!({ "jobs": (0..1_000).map(job).collect::<Vec<_>>(), "concurrency": 300 })).await;
    meter.assert_bounded("the creation of a batch of a thousand", &w.engine).await;
    assert_eq!(w.complete_all().await.len(), 1_000);
    meter.assert_bounded("a batch of a thousand, worked off", &w.engine).await;
    assert_eq!(w.results(&id, 1_000).await.len(), 1_000);
    meter.assert_bounded("the results of a batch", &w.engine).await;
    let open = w.create_batch(json!({ "jobs": (0..1_000).map(job).collect::<Vec<_>>(), "sealed": false })).await;
    let more: Vec<_> = (1_000..1_200).map(job).collect();
    w.append(&open, &more).await.is(200);
    meter.assert_bounded("an append of two hundred", &w.engine).await;
    w.reserve_all(json!({ "limit": 100 })).await;
    park_some(&w).await;
    meter.script_runs(&w.engine).await;
    w.cancel_batch(&open).await.is(200);
    meter.assert_bounded("a cancelled batch", &w.engine).await;
    w.check().await;
}

/// Parks jobs that need a held lock: a reserve looks at them.
async fn park_some(w: &World) {
    for held in w.reserve_all(json!({ "limit": 5 })).await {
        w.abandon(&held).await.is(200);
    }
}

#[tokio::test]
async fn pages_reloaded_together_use_small_scripts() {
    let (w, mut meter) = start().await;
    w.update_settings(json!({ "worker_limit": 3 })).await;
    w.enqueue_many((0..192).map(|n| json!({ "payload": [n, "x".repeat(2_000)] }))).await;
    let worker = |n: usize| json!({ "worker": format!("w{n}"), "limit": 3 });
    let mut first = Vec::new();
    for n in 0..64 {
        let held = w.reserve_all(worker(n)).await;
        w.post("/jobs/extend", json!({ "reservation": held[0].reservation, "draft": { "typed": n } })).await.is(200);
        first.push(held);
    }
    meter.script_runs(&w.engine).await;
    let again = futures_util::future::join_all((0..64).map(|n| w.reserve_all(worker(n)))).await;
    meter.assert_bounded("64 pages that reload", &w.engine).await;
    for (first, again) in first.iter().zip(&again) {
        assert_eq!(codes(first), codes(again), "each worker gets its own jobs again");
    }
    w.check().await;
}

fn codes(held: &[ReservedJob]) -> Vec<&str> {
    let mut codes: Vec<_> = held.iter().map(|held| held.reservation.as_str()).collect();
    codes.sort_unstable();
    codes
}

#[tokio::test]
async fn list_of_many_locks_uses_small_scripts() {
    let (w, mut meter) = start().await;
    held_with_locks(&w, 200, "ann").await;
    w.enqueue_many((0..700).map(|n| json!({ "payload": n }))).await;
    for _ in 0..7 {
        w.reserve_all(json!({ "limit": 100, "worker": "bob" })).await;
    }
    meter.script_runs(&w.engine).await;
    assert_eq!(all_locks(&w).await.len(), 1_600);
    let _: Value = w.get("/queues/default/workers?limit=100").await.is(200);
    let _: Value = w.get("/workers/bob/reservations").await.is(200);
    w.send_reserve(json!({ "queues": ["default", "other"], "worker": "bob" })).await.is(200);
    meter.assert_bounded("lists of locks and reservations", &w.engine).await;
    w.check().await;
}

/// A page holds all locks of a job, so it may hold a few more than the limit.
async fn all_locks(w: &World) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = w.get(&format!("/queues/default/locks?limit=100{after}")).await.is(200);
        all.extend(page["locks"].as_array().expect("locks").iter().cloned());
        let Some(next) = page["next"].as_str() else { return all };
        after = format!("&after={next}");
    }
}

/// The functions keep a table for each queue, so that it need not be made again.
#[tokio::test]
async fn scripts_keep_no_payload_or_result_of_an_idle_queue() {
    const QUEUES: usize = 80;
    const TEXT: usize = 250_000;
    let w = World::start_process().await;
    let used = async || w.engine.info_number("memory", "used_memory_vm_functions").await;
    // Lua collects its garbage when it has made some more.
    let make_garbage = async |round: u8| {
        for n in 0..400 {
            w.enqueue_with(json!({ "queue": "garbage", "payload": [round, n, "x".repeat(10_000)] })).await;
        }
    };
    make_garbage(0).await;
    let before = used().await;
    for n in 0..QUEUES {
        let queue = format!("idle-{n}");
        w.enqueue_with(json!({ "queue": queue, "payload": "x".repeat(TEXT) })).await;
        let held = w.reserve_with(json!({ "queues": [queue] })).await;
        w.complete_with(&held, json!("y".repeat(TEXT))).await.is(200);
    }
    make_garbage(1).await;
    let grown = used().await.saturating_sub(before);
    println!("{grown} bytes more after {QUEUES} queues");
    assert!(grown < (QUEUES * TEXT / 4) as u64, "{grown} bytes after {QUEUES} queues of {TEXT}");
    w.check().await;
}
