//! What an equal job that is already there says of a second enqueue: it is another job for other people, and told where it differs.

use serde_json::{Value, json};

use super::idempotency_keys::keyed;
use crate::world::{World, assert_contains};

async fn differs(w: &World, job: Value) -> Value {
    let answer = w.send_enqueue(job).await.is(200);
    assert_eq!(answer["duplicate"], true);
    answer["differs"].clone()
}

#[tokio::test]
async fn equal_payload_for_other_people_is_another_job() {
    let w = World::start().await;
    let whom = [
        json!({}),
        json!({ "excluded": ["carol"] }),
        json!({ "assignees": ["carol"] }),
        json!({ "assignees": ["carol", "dan"] }),
        json!({ "assignees": ["carol", "dan"], "excluded": ["ann"] }),
        json!({ "skill": "carol" }),
        json!({ "assignees": ["bob"], "skill": "urgent" }),
        json!({ "assignees": ["bob", "s", "urgent"] }),
        json!({ "assignees": ["ann"], "excluded": ["zed"] }),
        json!({ "assignees": ["ann", "x", "zed"] }),
        json!({ "assignees": ["a1", "x1"], "skill": "s1" }),
        json!({ "skill": "carol", "dedupe": true, "client": "c" }),
    ];
    let job = |more: &Value| {
        let mut job = json!({ "payload": { "text": 7 } });
        job.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        job
    };
    for more in &whom {
        w.send_enqueue(job(more)).await.is(201);
    }
    for more in &whom {
        assert_eq!(differs(&w, job(more)).await, json!([]), "{more}");
    }
    let turned = job(&json!({ "assignees": ["dan", "carol"] }));
    assert_eq!(differs(&w, turned).await, json!([]), "in another order they are the same");
    let array = json!([job(&json!({})), job(&json!({ "excluded": ["eve"] })), job(&json!({ "excluded": ["eve"] }))]);
    let answers = w.post("/jobs", array).await.is(200);
    let duplicates: Vec<_> = (0..3).map(|n| answers["jobs"][n]["duplicate"].clone()).collect();
    assert_eq!(duplicates, [true, false, true]);
    w.check().await;
}

#[tokio::test]
async fn duplicate_names_the_fields_in_which_it_differs() {
    let w = World::start().await;
    w.stop_clock();
    let whole = json!({
        "payload": 1, "priority": 40, "locks": ["a", "b"], "lease_ms": 60_000, "max_attempts": 3, "assignees": ["bob"],
        "backoff": { "type": "fixed", "delay_ms": 5 }, "fallback_ms": 60_000, "expires_ms": 900_000, "sla_ms": 50_000,
        "delay_ms": 30_000,
    });
    let id = w.enqueue_with(whole.clone()).await;
    w.advance_clock(2_000);
    assert_eq!(differs(&w, whole.clone()).await, json!([]), "times that are as long are the same");
    let names =
        ["priority", "locks", "lease_ms", "max_attempts", "backoff", "delay_ms", "expires_ms", "sla_ms", "fallback_ms"];
    let changes = json!({
        "priority": 41, "locks": ["a"], "lease_ms": 60_001, "max_attempts": 2, "delay_ms": 40_000,
        "backoff": { "type": "fixed", "delay_ms": 6 }, "expires_ms": 800_000, "sla_ms": 60_000, "fallback_ms": 70_000,
    });
    for name in names {
        let mut other = whole.clone();
        other[name] = changes[name].clone();
        assert_eq!(differs(&w, other).await, json!([name]));
    }
    assert_eq!(differs(&w, json!({ "payload": 1, "assignees": ["bob"] })).await, json!(names), "in this order");
    let mut named = whole.clone();
    let fields = named.as_object_mut().expect("an object");
    let job = w.job(&id).await;
    for (ms, name, kept) in
        [("expires_ms", "expires_at", "expires_at"), ("sla_ms", "sla_at", "sla_at"), ("delay_ms", "run_at", "due_at")]
    {
        fields.remove(ms);
        fields.insert(name.to_owned(), job[kept].clone());
    }
    assert_eq!(differs(&w, named.clone()).await, json!([]), "the same times, named");
    for (name, other) in [("expires_at", "sla_at"), ("sla_at", "expires_at"), ("run_at", "sla_at")] {
        let kept = named[name].clone();
        named[name] = job[other].clone();
        assert_eq!(differs(&w, named.clone()).await, json!([name]));
        named[name] = kept;
    }
    w.check().await;
}

#[tokio::test]
async fn delay_of_a_job_that_was_given_back_is_not_compared() {
    let w = World::start().await;
    let (at_once, later) = (json!({ "payload": 1 }), json!({ "payload": 2, "delay_ms": 60_000 }));
    for job in [&at_once, &later] {
        w.enqueue_with(job.clone()).await;
    }
    w.abandon_with_delay(&w.reserve().await, 90_000).await.is(200);
    assert_eq!(differs(&w, at_once).await, json!([]), "the delay is not that of its enqueue");
    assert_eq!(differs(&w, json!({ "payload": 2 })).await, json!(["delay_ms"]));
    w.advance_clock(60_000);
    assert_eq!(differs(&w, later.clone()).await, json!([]), "it may have had that delay");
    w.complete(&w.reserve().await).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn key_of_a_duplicate_stands_for_other_people_and_payloads() {
    let w = World::start().await;
    let large = "x".repeat(2_000);
    w.enqueue_with(json!({ "payload": large, "dedupe_key": "order-7" })).await;
    let same = json!({ "payload": large, "dedupe_key": "order-7" });
    assert_eq!(differs(&w, same).await, json!([]));
    let other =
        json!({ "payload": 8, "dedupe_key": "order-7", "assignees": ["ann"], "excluded": ["bob"], "skill": "de" });
    assert_eq!(differs(&w, other).await, json!(["payload", "assignees", "excluded", "skill"]));
    w.check().await;
}

#[tokio::test]
async fn repeated_call_says_again_in_what_its_twin_differed() {
    let w = World::start().await;
    let first = w.enqueue(1).await;
    let call = json!({ "payload": 1, "priority": 7 });
    let answer = keyed(&w, "/jobs", "k", call.clone()).await.is(200);
    assert_contains(&answer, json!({ "id": first, "duplicate": true, "differs": ["priority"] }));
    w.patch(&format!("/jobs/{first}"), json!({ "priority": 7 })).await.is(200);
    assert_eq!(differs(&w, call.clone()).await, json!([]), "as the job is now");
    assert_eq!(keyed(&w, "/jobs", "k", call).await.is(200), answer, "as it was then");
    w.check().await;
}
