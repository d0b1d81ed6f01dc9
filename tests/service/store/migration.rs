//! A Redis filled by an older version: `intray migrate` keeps every job as it was, in order.

use serde_json::{Value, json};

use crate::world::{RETENTION_MS, World, assert_contains, id_of, program, run};

async fn listed(w: &World, state: &str) -> Vec<Value> {
    let page = w.get(&format!("/queues/old/jobs?state={state}&limit=100")).await.is(200);
    page["jobs"].as_array().expect("jobs").clone()
}

fn payloads(jobs: &[Value]) -> Vec<&str> {
    jobs.iter().map(|job| job["payload"].as_str().map_or("-", |payload| &payload[..payload.len().min(20)])).collect()
}

#[tokio::test]
async fn migration_keeps_every_job_of_the_first_layout_in_place() {
    let w = World::plan().with_first_layout().start().await;
    w.check().await;
    let counts =
        json!({ "waiting": 18, "blocked": 7, "delayed": 2, "reserved": 3, "completed": 8, "dead": 3, "cancelled": 4 });
    assert_contains(&w.get("/queues/old").await.is(200)["counts"], counts);
    assert_contains(&w.get("/queues/empty").await.is(200)["settings"], json!({ "paused": true }));

    let completed = listed(&w, "completed").await;
    assert_eq!(payloads(&completed).len(), 6, "jobs of batches are migrated");
    let results: Vec<_> = completed.iter().map(|job| job["result"]["n"].clone()).collect();
    assert_eq!(results, [0, 1, 2, 3, 4, 5], "in the order in which they ended");
    let ended = completed[0]["ended_at"].as_str().expect("a time");
    assert!(ended.starts_with("2026-11-22T01:55:5"), "{ended}");
    assert_eq!(payloads(&listed(&w, "dead").await), ["dies 0", "dies 1", "dies 2"]);
    let parked = ["page 1", "page 2", "page 3", "parked 0", "parked 1", "parked 2", "parked 3"];
    assert_eq!(payloads(&listed(&w, "blocked").await), parked);
    assert_eq!(payloads(&listed(&w, "delayed").await), ["came back 0", "later"]);

    let line = w.reserve_all(json!({ "queues": ["old"], "limit": 100 })).await;
    let line: Vec<_> = line.into_iter().map(|held| held.body).collect();
    let expected: Vec<_> =
        "urgent|came back 1|came back 2|came back 3|waits 0|waits 1|waits 2|waits 3|waits 4|waits 5|waits 6\
        |waits 7|xxxxxxxxxxxxxxxxxxxx|much 0|much 1|much 2|much 3|much 4|page 0"
            .split('|')
            .collect();
    assert_eq!(payloads(&line), expected, "clients take turns, each in its order");
    w.check().await;
}

#[tokio::test]
async fn migrated_jobs_can_be_completed() {
    let w = World::plan().with_first_layout().start().await;
    assert_eq!(w.post("/jobs/requeue", json!({ "queue": "old" })).await.is(200)["requeued"], 3);
    for lock in listed(&w, "reserved").await {
        w.force_cancel(&id_of(&lock)).await.is(200);
    }
    let twin = w.send_enqueue(json!({ "queue": "old", "payload": "waits 5", "client": "w5" })).await.is(200);
    assert_eq!(twin["duplicate"], true, "a waiting job keeps its dedupe key");
    w.advance_clock(RETENTION_MS);
    let (mut parked, mut many) = (Vec::new(), 0);
    loop {
        let held = w.reserve_all(json!({ "queues": ["old", "many"], "limit": 100 })).await;
        if held.is_empty() {
            break;
        }
        for held in held {
            let payload = &held.body["payload"];
            parked.extend(payload.as_str().filter(|text| text.starts_with("parked")).map(str::to_owned));
            if let Some(n) = payload.as_u64() {
                assert_eq!(n, many, "first in, first out");
                many += 1;
            }
            w.complete(&held).await.is(200);
        }
        w.check().await;
    }
    assert_eq!((parked.len(), many), (4, 150));
    assert!(parked.is_sorted(), "{parked:?}");
    let left = w.get("/queues/old").await.is(200)["counts"].clone();
    assert_contains(&left, json!({ "waiting": 0, "blocked": 0, "delayed": 0, "reserved": 0, "dead": 0 }));
    w.check().await;
}

#[tokio::test]
async fn program_with_an_outdated_layout_is_not_ready() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    // The first step of a migration to the next layout.
    let _: String = w.engine.run("RENAME intray:2:queues intray:3:queues").await;
    let _: String = w.engine.run("SET intray:2:queues moved").await;
    assert_eq!(w.get("/readyz").await.status, 503);
    for (key, kind) in
        [("jobs", "hash"), ("live", "hash"), ("settings", "hash"), ("inbound", "zset"), ("reserved", "zset")]
    {
        let (from, to) = (format!("intray:{{default}}:2:{key}"), format!("intray:{{default}}:3:{key}"));
        if w.engine.run::<u64>(&format!("EXISTS {from}")).await == 1 {
            assert_eq!(w.engine.run::<String>(&format!("TYPE {from}")).await, kind);
            let _: String = w.engine.run(&format!("RENAME {from} {to}")).await;
        }
        let _: String = w.engine.run(&format!("SET {from} moved")).await;
    }
    let calls = [
        ("POST", "/jobs".to_owned(), json!({ "payload": 2 })),
        ("POST", "/jobs".to_owned(), json!({ "payload": 2, "queue": "another" })),
        ("POST", "/jobs/reserve".to_owned(), json!({})),
        ("DELETE", format!("/jobs/{id}"), json!({})),
    ];
    for (method, path, body) in calls {
        let problem = w.request(method, &path).json(body.to_string()).send().await.refused("unavailable");
        assert_eq!(problem["applied"], false, "{method} {path}: {problem}");
    }
    let url = format!("unix://{}", w.engine.socket().display());
    let ready = run(program(["check", "--redis-url", &url])).await;
    assert!(!ready.status.success() && ready.stdout.contains("layout"), "{ready:?}");
}
