//! Fields of ended jobs, and their removal by a purge.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, number};

#[tokio::test]
async fn ended_job_shows_its_last_priority() {
    let w = World::start().await;
    let moved = async |payload: &str| {
        let id = w.enqueue_with(json!({ "payload": payload, "priority": 50 })).await;
        assert_eq!(w.set_priority(&id, 7).await.is(200)["priority"], 7);
        id
    };
    let completed = moved("completed").await;
    w.complete(&w.reserve().await).await.is(200);
    let waiting = moved("cancelled while it waits").await;
    w.cancel(&waiting).await.is(200);
    let reserved = moved("cancelled while it is reserved").await;
    assert_eq!(w.reserve().await.id, reserved);
    w.force_cancel(&reserved).await.is(200);
    let delayed = moved("cancelled while it rests").await;
    w.abandon_with_delay(&w.reserve().await, 60_000).await.is(200);
    w.cancel(&delayed).await.is(200);
    let late = moved("completed late").await;
    let held = w.reserve().await;
    w.advance_clock(300_000);
    w.sweep().await;
    assert_eq!(w.complete(&held).await.is(200)["late"], true);
    for (id, state) in [
        (completed, "completed"),
        (waiting, "cancelled"),
        (reserved, "cancelled"),
        (delayed, "cancelled"),
        (late, "completed"),
    ] {
        assert_contains(&w.job(&id).await, json!({ "state": state, "priority": 7 }));
    }
    w.check().await;
}

#[tokio::test]
async fn purge_finds_jobs_after_many_duplicate_stubs() {
    let w = World::start().await;
    w.enqueue("t").await;
    // More than one purge looks at, each remembered as an enqueue that met a twin.
    let twins = json!(vec![json!({ "payload": "t" }); 1_000]).to_string();
    for n in 0..11 {
        let request = w.request("POST", "/jobs").header("idempotency-key", &format!("k{n}"));
        request.json(twins.clone()).send().await.is(200);
    }
    w.complete(&w.reserve().await).await.is(200);
    let purge = async |state: &str| w.delete(&format!("/queues/default?state={state}")).await.is(200);
    assert_eq!(purge("completed").await, json!({ "removed": 1, "more": false, "next": null }));
    assert_eq!(purge("completed").await, json!({ "removed": 0, "more": false, "next": null }));
    w.check().await;
    let mut removed = 0;
    while {
        let answer = purge("all").await;
        removed += number(&answer, "removed");
        answer["more"] == Value::Bool(true)
    } {}
    assert_eq!(removed, 11_000, "those who remember go with all the others");
    assert_eq!(w.engine.run::<u64>("HLEN intray:{default}:2:jobs").await, 0);
    w.check().await;
}
