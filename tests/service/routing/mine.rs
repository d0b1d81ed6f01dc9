//! The list of the jobs that are for a worker.

use serde_json::{Value, json};

use crate::world::{
    Client, World,
    access::{SECRET, key, signed},
    assert_contains, id_of,
};

async fn start() -> World {
    let keys = [("web", "producer", "*"), ("desk", "worker", "*"), ("wall", "viewer", "*")];
    World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await
}

fn ann(w: &World) -> Client {
    w.with_credential(&signed(SECRET, json!({ "sub": "ann", "skills": ["de"] })))
}

async fn page(client: &Client, more: &str) -> Value {
    client.get(&format!("/queues/default/jobs?mine=true{more}")).await.is(200)
}

async fn listed(client: &Client, more: &str) -> Vec<String> {
    page(client, more).await["jobs"].as_array().expect("jobs").iter().map(id_of).collect()
}

const MAKING: u8 = 1;

/// The timer of a batch in the making, in ms.
async fn soon(w: &World) -> String {
    (w.engine.now().await + 50_000).to_string()
}

/// Puts a batch into another stage, and returns the one before.
async fn set_stage(w: &World, batch: &str, stage: u8, timer: &str) -> u8 {
    const STAGE: usize = 1;
    let (records, timers) = ("intray:{default}:2:batches", "intray:{default}:2:timers");
    let code = batch.rsplit('-').next().expect("a code");
    let mut record: Vec<u8> = w.engine.query(redis::cmd("HGET").arg(records).arg(code)).await;
    let before = std::mem::replace(&mut record[STAGE], stage);
    let _: u64 = w.engine.query(redis::cmd("HSET").arg(records).arg(code).arg(&record[..])).await;
    let _: u64 = w.engine.query(redis::cmd("ZADD").arg(timers).arg(timer).arg(code)).await;
    before
}

#[tokio::test]
async fn batch_in_the_making_is_not_listed() {
    let w = start().await;
    let jobs: Vec<_> = (0..3).map(|n| json!({ "payload": n, "assignees": ["ann"] })).collect();
    let batch = id_of(&w.post("/batches", json!({ "jobs": jobs })).await.is(201));
    assert_eq!(listed(&ann(&w), "").await.len(), 3);
    let stage = set_stage(&w, &batch, MAKING, &soon(&w).await).await;
    w.get(&format!("/batches/{batch}")).await.refused("unknown-batch");
    assert_eq!(listed(&ann(&w), "").await, [""; 0]);
    w.update_settings(json!({ "browse": true })).await;
    assert_eq!(listed(&ann(&w), "").await, [""; 0]);
    set_stage(&w, &batch, stage, "+inf").await;
    assert_eq!(listed(&ann(&w), "").await.len(), 3);
    w.check().await;
}

/// More than a call looks at, after and before what is visible.
#[tokio::test]
async fn batch_in_the_making_counts_in_no_line() {
    let w = start().await;
    let first = w.enqueue_with(json!({ "payload": "first", "assignees": ["bob"] })).await;
    let jobs: Vec<_> = (0..450).map(|n| json!({ "payload": n, "assignees": ["ann", "bob"] })).collect();
    let batch = id_of(&w.post("/batches", json!({ "jobs": jobs })).await.is(201));
    w.enqueue_with(json!({ "payload": "last", "skill": "de" })).await;
    let lines = async || {
        let lines = w.queue().await["lines"].clone();
        let count = |line: &Value| (line["line"].clone(), line["waiting"].clone());
        lines.as_array().expect("lines").iter().map(count).collect::<Vec<_>>()
    };
    let named = |all: &[(&str, u64)]| all.iter().map(|(line, n)| (json!(line), json!(n))).collect::<Vec<_>>();
    let made = named(&[("+de", 1), ("@ann", 450), ("@bob", 451)]);
    assert_eq!(lines().await, made);
    let stage = set_stage(&w, &batch, MAKING, &soon(&w).await).await;
    assert_eq!(lines().await, named(&[("+de", 1), ("@bob", 1)]));
    w.cancel(&first).await.is(200);
    assert_eq!(lines().await, named(&[("+de", 1)]));
    set_stage(&w, &batch, stage, "+inf").await;
    assert_eq!(lines().await, named(&[("+de", 1), ("@ann", 450), ("@bob", 450)]));
    w.check().await;
}

/// Each takes one look.
#[tokio::test]
async fn lines_look_at_fifty_batches_in_the_making() {
    let w = start().await;
    let mut stages = Vec::new();
    for n in 0..60 {
        let batch = w.create_batch(json!({ "jobs": [{ "payload": n, "assignees": ["bob"] }] })).await;
        let stage = set_stage(&w, &batch, MAKING, &soon(&w).await).await;
        stages.push((batch, stage));
    }
    assert_eq!(w.queue().await["lines"][0]["waiting"], 10);
    for (batch, stage) in stages {
        set_stage(&w, &batch, stage, "+inf").await;
    }
    assert_eq!(w.queue().await["lines"][0]["waiting"], 60);
    w.check().await;
}

/// Jobs of every kind; those that are assigned to ann, and all that she may have, in order.
async fn fill(w: &World) -> (Vec<String>, Vec<String>) {
    let jobs = [
        (json!({ "payload": 0, "assignees": ["bob"] }), ""),
        (json!({ "payload": 1 }), "may"),
        (json!({ "payload": 2, "assignees": ["bob", "ann"] }), "own"),
        (json!({ "payload": 3, "skill": "de" }), "may"),
        (json!({ "payload": 4, "skill": "fr" }), ""),
        (json!({ "payload": 5, "excluded": ["ann"] }), ""),
        (json!({ "payload": 6, "assignees": ["ann"], "skill": "fr" }), ""),
        (json!({ "payload": 7, "assignees": ["ann", "bob"], "excluded": ["ann"] }), ""),
        (json!({ "payload": 8, "assignees": ["ann"], "skill": "de" }), "own"),
        (json!({ "payload": 9, "excluded": ["bob"] }), "may"),
        (json!({ "payload": 10, "assignees": ["ann"], "priority": 10 }), "first"),
        (json!({ "payload": 11, "assignees": ["ann"], "delay_ms": 60_000 }), ""),
    ];
    let (mut own, mut all) = (Vec::new(), Vec::new());
    for (job, kind) in jobs {
        let id = w.enqueue_with(job).await;
        let at = if kind == "first" { 0 } else { all.len() };
        if !kind.is_empty() {
            all.insert(at, id.clone());
        }
        if ["own", "first"].contains(&kind) {
            own.insert(if kind == "first" { 0 } else { own.len() }, id);
        }
    }
    (own, all)
}

#[tokio::test]
async fn worker_lists_what_is_assigned_to_them() {
    let w = start().await;
    let (own, _) = fill(&w).await;
    assert_eq!(listed(&ann(&w), "").await, own);
    assert_eq!(listed(&ann(&w), "&worker=ann&state=waiting").await, own);
    let narrowed = listed(&ann(&w), "&skill=fr").await;
    assert_eq!(narrowed, [&own[0], &own[1]].map(Clone::clone), "the token does not say that ann knows French");
    assert_eq!(listed(&w.with_credential(&key("desk")), "&worker=ann&skill=de").await, own);
    assert_eq!(listed(&w.with_credential(&key("wall")), "&worker=ann&skill=de").await, own);
    w.check().await;
}

#[tokio::test]
async fn worker_browses_what_they_may_have_in_the_order_of_hand_outs() {
    let w = start().await;
    let (_, all) = fill(&w).await;
    w.update_settings(json!({ "browse": true, "worker_limit": 0 })).await;
    assert_eq!(listed(&ann(&w), "").await, all);
    let held = ann(&w).send_reserve(json!({ "queues": ["default"], "limit": 20 })).await.is(200);
    let given: Vec<_> = held["jobs"].as_array().expect("jobs").iter().map(id_of).collect();
    assert_eq!(given, all);
    assert_eq!(listed(&ann(&w), "").await, [""; 0]);
    w.check().await;
}

#[tokio::test]
async fn list_of_a_worker_is_read_page_by_page() {
    let w = start().await;
    w.update_settings(json!({ "browse": true })).await;
    let mut expected = Vec::new();
    for n in 0..230 {
        let job = match n % 4 {
            0 => json!({ "payload": n }),
            1 => json!({ "payload": n, "assignees": ["ann"] }),
            2 => json!({ "payload": n, "skill": "de" }),
            _ => json!({ "payload": n, "excluded": ["ann"] }),
        };
        let id = w.enqueue_with(job).await;
        if n % 4 != 3 {
            expected.push(id);
        }
    }
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = page(&ann(&w), &format!("&limit=7{after}")).await;
        found.extend(page["jobs"].as_array().expect("jobs").iter().map(id_of));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found, expected);
    let lines = ann(&w).request("GET", "/queues/default/jobs?mine=true").header("accept", "application/x-ndjson");
    assert_eq!(lines.send().await.text().lines().filter(|line| line.contains("\"id\"")).count(), expected.len());
    w.check().await;
}

#[tokio::test]
async fn chosen_job_is_reserved_and_leaves_the_list() {
    let w = start().await;
    let (own, _) = fill(&w).await;
    let held = ann(&w).send_reserve(json!({ "id": own[2] })).await.is(200);
    assert_eq!(id_of(&held["jobs"][0]), own[2]);
    assert_eq!(listed(&ann(&w), "").await, own[..2]);
    w.check().await;
}

#[tokio::test]
async fn expired_job_and_a_fallback_that_is_over_leave_the_list() {
    let w = start().await;
    w.enqueue_with(json!({ "payload": 1, "assignees": ["ann"], "expires_ms": 5_000 })).await;
    let falls = w.enqueue_with(json!({ "payload": 2, "assignees": ["ann"], "fallback_ms": 10_000 })).await;
    w.advance_clock(5_000);
    assert_eq!(listed(&ann(&w), "").await, std::slice::from_ref(&falls));
    w.advance_clock(5_000);
    w.sweep().await;
    assert_eq!(listed(&ann(&w), "").await, [""; 0], "it is everybody's");
    w.update_settings(json!({ "browse": true })).await;
    assert_eq!(listed(&ann(&w), "").await, [falls]);
    w.check().await;
}

#[tokio::test]
async fn list_of_a_worker_hides_the_work_of_others() {
    let w = start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("bob").await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "reason": "too hard" })).await.is(200);
    let again = w.reserve_as("bob").await;
    w.post("/jobs/fail", json!({ "reservation": again.reservation, "error": "broken" })).await.is(200);
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["ann"] })).await.is(200);
    assert_contains(
        &w.job(&id).await,
        json!({ "reasons": [{ "reason": "too hard" }], "errors": [{ "error": "broken" }] }),
    );
    let shown = page(&ann(&w), "").await["jobs"][0].clone();
    assert_contains(&shown, json!({ "id": id, "payload": 1, "reasons": [], "errors": [], "late_results": [] }));
    w.check().await;
}

#[tokio::test]
async fn list_of_a_worker_is_of_that_worker_alone() {
    let w = start().await;
    fill(&w).await;
    let of = |client: &Client, query: &str| {
        let (client, query) = (client.clone(), query.to_owned());
        async move { client.get(&format!("/queues/default/jobs{query}")).await }
    };
    for query in ["", "?state=waiting", "?mine=false", "?state=completed", "?mine=true&worker=bob"] {
        of(&ann(&w), query).await.refused("forbidden");
    }
    of(&w.with_credential(&signed(SECRET, json!({ "queues": ["other"] }))), "?mine=true").await.refused("forbidden");
    of(&w.with_credential(&key("web")), "?mine=true&worker=ann").await.refused("forbidden");
    let desk = w.with_credential(&key("desk"));
    of(&desk, "?mine=true").await.invalid_by("parameter", &["worker"]);
    for (query, names) in [
        ("?mine=yes&worker=ann", &["mine"][..]),
        ("?skill=de&mine=false&worker=ann", &["skill"]),
        ("?mine=true&worker=ann&skill=de&skill=de", &["skill"]),
        ("?mine=true&worker=ann&skill=", &["skill"]),
        ("?mine=true&worker=ann&state=dead", &["state"]),
        ("?mine=true&worker=ann&line=@bob&search=x&client=c", &["client", "line", "search"]),
        ("?mine=true&worker=ann&after=zz", &["after"]),
    ] {
        of(&desk, query).await.invalid_by("parameter", names);
    }
    let many: String = (0..17).map(|n| format!("&skill=s{n}")).collect();
    of(&desk, &format!("?mine=true&worker=ann{many}")).await.invalid_by("parameter", &["skill"]);
    of(&ann(&w), "?mine=true").await.is(200);
    ann(&w).get("/queues/unknown/jobs?mine=true").await.refused("forbidden");
    w.check().await;
}

#[tokio::test]
async fn pages_of_equal_places_hold_each_job_once() {
    let w = start().await;
    let worker = ann(&w);
    w.update_settings(json!({ "browse": true })).await;
    let job = |n: usize| {
        let mut job = json!({ "payload": n, "client": format!("c{n}") });
        if n % 2 == 1 {
            job["skill"] = json!("de");
        }
        job
    };
    let ids = w.enqueue_many((0..12).map(job)).await;
    for limit in [1, 5, 12] {
        let listed = worker.pages("/queues/default/jobs?mine=true", "jobs", limit).await;
        assert_eq!(listed.iter().map(id_of).collect::<Vec<_>>(), ids, "by {limit}");
    }
}
