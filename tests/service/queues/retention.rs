//! How long ended jobs are kept, and what readers learn about removed ones.

use serde_json::{Value, json};

use crate::world::{RETENTION_MS, World, assert_contains, eventually, program, run};

const HOUR: u64 = 3_600_000;
const MEGABYTE: usize = 1 << 20;

/// Completes so many new jobs of the default queue.
async fn complete(w: &World, jobs: u64) {
    w.enqueue_many((0..jobs).map(|n| json!({ "payload": n }))).await;
    for held in w.reserve_all(json!({ "limit": 100 })).await {
        w.complete(&held).await.is(200);
    }
}

async fn page(w: &World, query: &str) -> Value {
    w.get(&format!("/queues/default/jobs?state=completed{query}")).await.is(200)
}

fn next(page: &Value) -> String {
    page["next"].as_str().expect("a cursor").to_owned()
}

#[tokio::test]
async fn ended_jobs_are_kept_for_seven_days() {
    let w = World::start().await;
    w.stop_clock();
    complete(&w, 2).await;
    w.advance_clock(RETENTION_MS - 1_000);
    assert_contains(&w.sweep().await, json!({ "forgotten": 0 }));
    w.advance_clock(1_000);
    assert_contains(&w.sweep().await, json!({ "forgotten": 2 }));
    w.check().await;
}

#[tokio::test]
async fn old_cursor_returns_the_number_of_removed_jobs() {
    let w = World::start().await;
    w.update_settings(json!({ "retention_ms": 10_000, "worker_limit": 0 })).await;
    complete(&w, 6).await;
    let first = page(&w, "&limit=2").await;
    assert!(first.get("forgotten").is_none(), "{first}");
    let after = next(&first);
    w.advance_clock(10_000);
    w.sweep().await;
    let gone = page(&w, &format!("&after={after}")).await;
    assert_contains(&gone, json!({ "jobs": [], "forgotten": 4 }));
    assert_contains(&page(&w, &format!("&after={}", next(&gone))).await, json!({ "jobs": [], "next": null }));
    complete(&w, 3).await;
    assert_contains(&page(&w, &format!("&after={after}")).await, json!({ "forgotten": 4, "next": null }));
    let then = page(&w, &format!("&after={}", next(&gone))).await;
    assert_eq!((then["jobs"].as_array().map(Vec::len), then.get("forgotten")), (Some(3), None), "{then}");
    w.check().await;
}

#[tokio::test]
async fn removed_jobs_that_were_read_are_not_counted() {
    let w = World::start().await;
    w.update_settings(json!({ "retention_ms": 10_000, "worker_limit": 0 })).await;
    complete(&w, 3).await;
    w.advance_clock(5_000);
    complete(&w, 4).await;
    let after = next(&page(&w, "&limit=3").await);
    w.advance_clock(5_000);
    w.sweep().await;
    let rest = page(&w, &format!("&after={after}&limit=1")).await;
    assert!(rest.get("forgotten").is_none(), "every removed job was read before: {rest}");
    w.cancel(&w.enqueue("cancelled").await).await.is(200);
    w.delete("/queues/default?state=completed").await.is(200);
    let after_a_purge = page(&w, &format!("&after={}", next(&rest))).await;
    assert_contains(&after_a_purge, json!({ "jobs": [], "forgotten": 3 }));
    w.check().await;
}

#[tokio::test]
async fn cursor_without_a_number_returns_null_forgotten() {
    let w = World::start().await;
    complete(&w, 2).await;
    let text = next(&page(&w, "&limit=1").await);
    let bytes: Vec<u8> =
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect();
    let written = String::from_utf8(bytes).expect("text");
    let (head, tail) = written.split_once('~').expect("a number");
    let old = format!("{head}{}", tail.split_once('~').expect("its end").1);
    let old: String = old.bytes().map(|byte| format!("{byte:02x}")).collect();
    let rest = page(&w, &format!("&after={old}")).await;
    assert_eq!((rest["jobs"].as_array().map(Vec::len), rest.get("forgotten")), (Some(1), Some(&Value::Null)), "{rest}");
    let waiting = w.get(&format!("/queues/default/jobs?state=waiting&after={old}")).await.is(200);
    assert!(waiting.get("forgotten").is_none(), "waiting jobs are never forgotten: {waiting}");
    w.check().await;
}

#[tokio::test]
async fn cursor_of_a_recreated_queue_returns_null_forgotten() {
    let w = World::start().await;
    complete(&w, 5).await;
    let after = next(&page(&w, "&limit=4").await);
    let _: u64 = w.engine.run("DEL intray:{default}:2:totals intray:{default}:2:ended").await;
    w.enqueue("another").await;
    w.complete(&w.reserve().await).await.is(200);
    assert_contains(&page(&w, &format!("&after={after}")).await, json!({ "forgotten": null }));
}

#[tokio::test]
async fn lines_and_exports_report_forgotten_jobs() {
    let w = World::start().await;
    w.update_settings(json!({ "retention_ms": 10_000, "worker_limit": 0 })).await;
    complete(&w, 5).await;
    let after = next(&page(&w, "&limit=2").await);
    w.advance_clock(10_000);
    w.sweep().await;
    complete(&w, 2).await;
    let lines = w.request("GET", &format!("/queues/default/jobs?state=completed&after={after}"));
    let lines = lines.header("accept", "application/x-ndjson").send().await.text();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), &lines[0]), (3, &json!({ "forgotten": 3 })));
    let again = lines[1]["next"].as_str().expect("a cursor");
    assert!(page(&w, &format!("&after={again}")).await.get("forgotten").is_none());

    let export = run(program(["export", "default", "--url", w.base(), "--after", &after])).await;
    assert!(export.status.success() && export.stderr.contains("3 ended jobs are gone"), "{export:?}");
    assert_eq!(export.stdout.lines().count(), 2, "only jobs: {}", export.stdout);
    w.check().await;
}

/// Sets Redis's limit so that so many percent of it are in use.
async fn use_percent(w: &World, percent: u64) {
    let used = w.engine.info_number("memory", "used_memory").await;
    let _: String = w.engine.run(&format!("CONFIG SET maxmemory {}", used * 100 / percent)).await;
}

async fn kept(w: &World, queue: &str) -> u64 {
    w.engine.run(&format!("ZCARD intray:{{{queue}}}:2:ended")).await
}

/// Completes jobs of a queue with large payloads: about a megabyte in all.
async fn fill(w: &World, queue: &str, n: u64) {
    for nth in 0..4 {
        let payload = format!("{n} {nth} {}", "x".repeat(MEGABYTE / 4 - 100));
        w.send_enqueue(json!({ "queue": queue, "payload": payload })).await.is(201);
    }
    for held in w.reserve_all(json!({ "queues": [queue], "limit": 100 })).await {
        w.complete(&held).await.is(200);
    }
}

#[tokio::test]
async fn short_memory_removes_oldest_jobs_of_default_queues() {
    let w = World::plan().own_process().sweep_every(20).start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    w.configure("own", json!({ "retention_ms": 30 * 24 * HOUR, "worker_limit": 0 })).await;
    for n in 0..8 {
        fill(&w, "own", n).await;
        fill(&w, "default", n).await;
        w.advance_clock(8 * HOUR);
    }
    use_percent(&w, 76).await;
    eventually("old jobs go", async || (kept(&w, "default").await < 32).then_some(())).await;
    let metrics = || async { w.get("/metrics").await.text() };
    let figure = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("intray_default_retention_seconds")).map(str::to_owned);
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
    };
    eventually("the default retention is restored", async || {
        (figure(&metrics().await) == Some(RETENTION_MS as f64 / 1e3)).then_some(())
    })
    .await;
    assert_eq!(kept(&w, "own").await, 32, "a queue with its own setting keeps its jobs");
    let left = kept(&w, "default").await;
    assert!((8..32).contains(&left), "only as many as needed are removed, the oldest first: {left} of 32 are left");
    let oldest = page(&w, "&limit=1").await;
    assert!(!oldest["jobs"][0]["payload"].as_str().expect("a payload").starts_with("0 "), "the oldest went first");
    assert!(w.service.output().contains("forget ended jobs early"), "{}", w.service.output());
    w.check().await;
}

#[tokio::test]
async fn kept_jobs_never_cause_a_507() {
    // The sweeper runs only when a call meets a full Redis.
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    for n in 0..8 {
        fill(&w, "default", n).await;
    }
    w.advance_clock(3 * HOUR);
    use_percent(&w, 60).await;
    // Twice as much as fits, as fast as possible.
    for n in 8..20 {
        fill(&w, "default", n).await;
        w.advance_clock(2 * HOUR);
    }
    w.check().await;
}

#[tokio::test]
async fn jobs_of_the_last_hour_survive_short_memory() {
    let w = World::plan().own_process().sweep_every(20).start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    fill(&w, "default", 0).await;
    w.advance_clock(HOUR / 2);
    use_percent(&w, 90).await;
    eventually("the minimum retention is reached", async || {
        w.get("/metrics").await.text().contains("retention_seconds 3600").then_some(())
    })
    .await;
    assert_eq!(kept(&w, "default").await, 4);
    use_percent(&w, 101).await;
    let refusal = w.send_enqueue(json!({ "payload": 1 })).await;
    refusal.refused("storage-full");
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    w.check().await;
}

#[tokio::test]
async fn redis_without_maxmemory_causes_a_warning() {
    let w = World::start_process().await;
    assert!(w.service.output().contains("maxmemory is not set"), "{}", w.service.output());
    let url = w.engine.url();
    let check = run(program(["check", "--redis-url", &url])).await;
    assert!(format!("{check:?}").contains("maxmemory is not set"), "{check:?}");
    let _: String = w.engine.run("CONFIG SET maxmemory 1gb").await;
    let check = run(program(["check", "--redis-url", &url])).await;
    assert!(!format!("{check:?}").contains("maxmemory is not set"), "{check:?}");
}
