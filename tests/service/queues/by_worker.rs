//! Completed and dead jobs are found by their worker, page by page, with bounded work per call.

use std::{collections::BTreeSet, slice::from_ref};

use serde_json::{Value, json};

use crate::world::{
    Answer, Client, ReservedJob, World,
    access::{SECRET, key, signed},
    assert_contains,
    batch_verbs::{items, member_id},
    id_of, percent_encode,
};

const LIST: &str = "/queues/default/jobs";

async fn list(client: &Client, query: &str) -> Answer {
    client.get(&format!("{LIST}?{query}")).await
}

async fn found(w: &World, query: &str, limit: usize) -> Vec<String> {
    w.pages(&format!("{LIST}?{query}"), "jobs", limit).await.iter().map(id_of).collect()
}

/// The worker completes all jobs that wait.
async fn complete_as(w: &World, worker: &str) -> Vec<String> {
    let mut done = Vec::new();
    loop {
        let held = w.reserve_all(json!({ "worker": worker, "limit": 100 })).await;
        if held.is_empty() {
            return done;
        }
        let item = |held: &ReservedJob| json!({ "reservation": held.reservation, "result": held.body["payload"] });
        w.post("/jobs/complete", held.iter().map(item).collect()).await.is(200);
        done.extend(held.into_iter().map(|held| held.id));
    }
}

#[tokio::test]
async fn completed_jobs_are_found_by_who_handed_in_the_result() {
    let w = World::start().await;
    w.update_settings(json!({ "lease_ms": 10_000, "max_attempts": 5 })).await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let (first, second) = (w.reserve_as("ann").await, w.reserve_as("bob").await);
    w.fail_with(&first, "no").await.is(200);
    w.complete(&second).await.is(200);
    let late = w.reserve_as("ann").await;
    w.advance_clock(11_000);
    w.sweep().await;
    w.complete(&late).await.is(200);
    let rest = complete_as(&w, "J. D\u{f6}e").await;
    assert_eq!(found(&w, "state=completed&worker=ann", 1).await, from_ref(&late.id), "late, and accepted");
    assert_eq!(found(&w, "state=completed&worker=bob", 1).await, from_ref(&second.id));
    let named = format!("state=completed&worker={}", percent_encode("J. D\u{f6}e"));
    assert_eq!(found(&w, &named, 5).await, rest);
    assert_eq!(found(&w, "state=completed&worker=who", 5).await, [""; 0]);
    assert_eq!(found(&w, "state=completed&worker=ann&search=nothing", 5).await, [""; 0]);
    let page = list(&w, "state=completed&worker=ann").await.is(200);
    assert_contains(&page, json!({ "jobs": [{ "completed": { "worker": "ann", "late": true } }], "looked": 3 }));
    assert_eq!((&page["next"], page.get("resume")), (&Value::Null, None), "it is not a feed");
    w.check().await;
}

#[tokio::test]
async fn dead_jobs_are_found_by_who_had_them_last() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 2, "lease_ms": 10_000 })).await;
    let id = w.enqueue(1).await;
    w.fail_with(&w.reserve_as("ann").await, "no").await.is(200);
    w.fail_with(&w.reserve_as("bob").await, "neither").await.is(200);
    assert_eq!(found(&w, "state=dead&worker=ann", 5).await, [""; 0]);
    assert_eq!(found(&w, "state=dead&worker=bob", 5).await, from_ref(&id));
    assert_eq!(found(&w, "state=dead&worker=bob&error=no", 5).await, from_ref(&id), "in any of its errors");
    w.requeue(&id).await;
    for (worker, dies) in [("ann", false), ("bob", true)] {
        w.reserve_as(worker).await;
        w.advance_clock(11_000);
        w.sweep().await;
        assert_eq!(found(&w, "state=dead", 5).await.is_empty(), !dies);
    }
    assert_eq!(found(&w, "state=dead&worker=bob", 5).await, [id]);
    assert_eq!(found(&w, "state=dead&worker=ann", 5).await, [""; 0]);
    w.check().await;
}

#[tokio::test]
async fn jobs_of_batches_are_found_after_the_others() {
    let w = World::start().await;
    let alone = w.enqueue("alone").await;
    complete_as(&w, "ann").await;
    let (mut batches, mut expected) = (Vec::new(), vec![alone]);
    for n in 0..230 {
        batches.push(w.create_batch(json!({ "jobs": items(n * 2..n * 2 + 2), "sealed": n % 2 == 0 })).await);
    }
    let empty = w.create_batch(json!({ "jobs": items(900..901), "sealed": false })).await;
    w.cancel_batch(&empty).await.is(200);
    w.update_settings(json!({ "worker_limit": 0 })).await;
    complete_as(&w, "ann").await;
    let other = w.create_batch(json!({ "jobs": items(1_000..1_250) })).await;
    let opinions = w.create_batch(json!({ "overlap": 2, "job": { "payload": "opinion" } })).await;
    for worker in ["bob", "ann"] {
        let id = member_id(&opinions, usize::from(worker == "ann"));
        w.complete(&w.reserve_with(json!({ "worker": worker, "id": id })).await).await.is(200);
    }
    complete_as(&w, "bob").await;
    expected.extend(batches.iter().flat_map(|batch| [member_id(batch, 0), member_id(batch, 1)]));
    expected.push(member_id(&opinions, 1));
    let expected: BTreeSet<_> = expected.into_iter().collect();
    for limit in [7, 100] {
        let listed = found(&w, "state=completed&worker=ann", limit).await;
        assert_eq!(listed.len(), expected.len(), "by {limit}");
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), expected, "by {limit}");
    }
    let bobs = found(&w, "state=completed&worker=bob", 100).await;
    assert_eq!(bobs.len(), 251);
    let members: Vec<_> = bobs.into_iter().filter(|id| *id != member_id(&opinions, 0)).collect();
    assert_eq!(members, (0..250).map(|n| member_id(&other, n)).collect::<Vec<_>>(), "in a batch they are in order");
    let job = list(&w, &format!("state=completed&worker=ann&batch={}", batches[7])).await.is(200)["jobs"][0].clone();
    assert_contains(&job, json!({ "batch": batches[7], "completed": { "worker": "ann" } }));
    assert_eq!(job["ended_at"], job["completed"]["at"]);
    assert_eq!(found(&w, &format!("state=completed&batch={}", batches[7]), 5).await, [""; 0], "as before");
    w.check().await;
}

/// Each line has the place after which the list continues.
#[tokio::test]
async fn lines_of_a_worker_continue_after_any_of_them() {
    let w = World::start().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    w.create_batch(json!({ "jobs": items(10..13) })).await;
    w.create_batch(json!({ "jobs": items(20..22) })).await;
    complete_as(&w, "ann").await;
    let lines = async |query: String| -> Vec<Value> {
        let path = format!("{LIST}?state=completed&worker=ann{query}");
        let answer = w.request("GET", &path).header("accept", "application/x-ndjson").send().await;
        answer.text().lines().map(|line| serde_json::from_str(line).expect("a line")).collect()
    };
    let all = lines(String::new()).await;
    assert_eq!(all.len(), 8);
    for (n, line) in all.iter().enumerate() {
        let rest = lines(format!("&after={}", line["next"].as_str().expect("a place"))).await;
        let ids = |lines: &[Value]| lines.iter().map(id_of).collect::<Vec<_>>();
        assert_eq!(ids(&rest), ids(&all[n + 1..]), "after line {n}");
    }
    let follow = w.request("GET", &format!("{LIST}?state=completed&worker=ann&follow=true"));
    follow.header("accept", "application/x-ndjson").send().await.invalid_by("parameter", &["follow"]);
    w.check().await;
}

#[tokio::test]
async fn batch_that_ends_meanwhile_leaves_no_job_out() {
    let w = World::start().await;
    let batches = [
        w.create_batch(json!({ "jobs": items(0..2) })).await,
        w.create_batch(json!({ "jobs": items(10..12) })).await,
        w.create_batch(json!({ "jobs": items(20..22) })).await,
    ];
    for batch in &batches {
        let held = w.reserve_with(json!({ "worker": "ann", "id": member_id(batch, 0) })).await;
        w.complete(&held).await.is(200);
    }
    let first = list(&w, "state=completed&worker=ann&limit=1").await.is(200);
    // While the list is read, the batch that it stands in ends first, and the others after it.
    let own = first["jobs"][0]["batch"].as_str().expect("a batch");
    let held = w.reserve_with(json!({ "worker": "bob", "id": member_id(own, 1) })).await;
    w.complete(&held).await.is(200);
    w.advance_clock(1_000);
    complete_as(&w, "bob").await;
    let after = percent_encode(first["next"].as_str().expect("a cursor"));
    let rest = list(&w, &format!("state=completed&worker=ann&after={after}")).await.is(200);
    let seen: BTreeSet<_> =
        [&first, &rest].into_iter().flat_map(|page| page["jobs"].as_array().expect("jobs")).map(id_of).collect();
    assert_eq!(seen, batches.iter().map(|batch| member_id(batch, 0)).collect());
    w.check().await;
}

#[tokio::test]
async fn filter_by_worker_reads_1000_jobs_per_call() {
    let w = World::start_process().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    for part in 0..11 {
        w.enqueue_many((0..100).map(|n| json!({ "payload": part * 100 + n }))).await;
    }
    w.create_batch(json!({ "jobs": items(5_000..5_300) })).await;
    complete_as(&w, "bob").await;
    w.enqueue("last").await;
    let last = complete_as(&w, "ann").await;
    let mut meter = w.meter().await;
    let first = list(&w, "state=completed&worker=ann").await.is(200);
    meter.assert_bounded("a page of a worker", &w.engine).await;
    assert_contains(&first, json!({ "jobs": [], "looked": 1_000 }));
    let next = percent_encode(first["next"].as_str().expect("a cursor"));
    let second = list(&w, &format!("state=completed&worker=ann&after={next}")).await.is(200);
    meter.assert_bounded("a page with jobs of a batch", &w.engine).await;
    assert_eq!(second["jobs"].as_array().expect("jobs").iter().map(id_of).collect::<Vec<_>>(), last);
    assert_contains(&second, json!({ "looked": 401, "next": null }));
    w.check().await;
}

#[tokio::test]
async fn worker_reads_only_what_they_have_done() {
    let keys = [("web", "producer", "*"), ("desk", "worker", "*"), ("wall", "viewer", "*")];
    let w = World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    w.update_settings(json!({ "max_attempts": 2 })).await;
    w.enqueue_many((0..2).map(|n| json!({ "payload": n }))).await;
    w.fail_with(&w.reserve_as("bob").await, "bob gave up").await.is(200);
    complete_as(&w, "ann").await;
    let ann = w.with_credential(&signed(SECRET, json!({ "sub": "ann" })));
    let own = list(&ann, "state=completed&worker=ann").await.is(200);
    assert_eq!(own["jobs"].as_array().map(Vec::len), Some(2));
    for job in own["jobs"].as_array().expect("jobs") {
        assert_contains(job, json!({ "errors": [], "reasons": [], "completed": { "worker": "ann" } }));
    }
    list(&ann, "state=dead&worker=ann").await.is(200);
    for query in
        ["state=completed&worker=bob", "state=dead&worker=bob", "state=completed", "state=cancelled&worker=ann"]
    {
        list(&ann, query).await.refused("forbidden");
    }
    list(&ann, "worker=ann").await.refused("forbidden");
    list(&ann, "state=completed&worker=ann&error=gave&search=x").await.invalid_by("parameter", &["error", "search"]);
    list(&w.with_credential(&key("desk")), "state=completed&worker=ann").await.is(200);
    list(&w.with_credential(&key("web")), "state=completed&worker=ann").await.is(200);
    list(&w.with_credential(&key("web")), "state=dead&worker=ann").await.refused("forbidden");
    list(&w.with_credential(&key("wall")), "state=dead&worker=ann").await.is(200);
    list(&w, "state=completed&worker=").await.invalid_by("parameter", &["worker"]);
    w.check().await;
}
