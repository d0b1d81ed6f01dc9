//! The queues that a person may work in: those of their patterns, each with what waits for them.

use serde_json::{Value, json};

use crate::world::{
    World,
    access::{SECRET, key, signed},
};

fn row(name: &str, waiting: u64, paused: bool) -> Value {
    json!({ "name": name, "waiting": waiting, "paused": paused })
}

#[tokio::test]
async fn queues_show_what_waits_for_the_person() {
    let keys = [("desk", "worker", "b-*"), ("web", "producer", "*")];
    let w = World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    for job in [
        json!({ "payload": 1 }),
        json!({ "payload": 2 }),
        json!({ "payload": 3, "assignees": ["ann", "bob"] }),
        json!({ "payload": 4, "assignees": ["bob"] }),
        json!({ "payload": 5, "skill": "de" }),
        json!({ "payload": 6, "skill": "fr" }),
        json!({ "payload": 7, "delay_ms": 60_000 }),
        json!({ "queue": "b-1", "payload": 1 }),
        json!({ "queue": "c-1", "payload": 1 }),
    ] {
        w.enqueue_with(job).await;
    }
    w.patch("/queues/b-1", json!({ "paused": true })).await.is(200);
    let claims = json!({ "sub": "ann", "skills": ["de"], "queues": ["default", "b-*"] });
    let ann = w.with_credential(&signed(SECRET, claims));
    let hers = json!({ "queues": [row("b-1", 1, true), row("default", 4, false)] });
    assert_eq!(ann.get("/me/queues").await.is(200), hers);
    assert_eq!(ann.get("/me/queues?worker=ann").await.is(200), hers);
    ann.get("/me/queues?worker=bob").await.refused("forbidden");
    let desk = w.with_credential(&key("desk"));
    assert_eq!(desk.get("/me/queues").await.is(200), json!({ "queues": [row("b-1", 1, true)] }));
    w.with_credential(&key("web")).get("/me/queues").await.refused("forbidden");
    w.check().await;
}

#[tokio::test]
async fn queues_without_access_control_count_for_the_named_worker() {
    let w = World::start().await;
    assert_eq!(w.get("/me/queues").await.is(200), json!({ "queues": [] }), "a read makes no queue");
    w.enqueue(1).await;
    w.enqueue_with(json!({ "payload": 2, "assignees": ["ann"] })).await;
    let waiting =
        async |query: &str| w.get(&format!("/me/queues{query}")).await.is(200)["queues"][0]["waiting"].clone();
    assert_eq!(
        (waiting("").await, waiting("?worker=ann").await, waiting("?worker=bob").await),
        (json!(1), json!(2), json!(1))
    );
    w.reserve().await;
    assert_eq!(waiting("?worker=ann").await, json!(1), "a job in hand waits no more");
    w.check().await;
}

#[tokio::test]
async fn queues_are_the_first_two_hundred_by_name() {
    let w = World::start().await;
    let jobs: Vec<_> = (0..201).map(|n| json!({ "queue": format!("q-{n:03}"), "payload": 1 })).collect();
    for some in jobs.chunks(100) {
        w.post("/jobs", json!(some)).await.is(200);
    }
    let seen = w.get("/me/queues").await.is(200);
    let names: Vec<_> = seen["queues"].as_array().expect("queues").iter().map(|queue| queue["name"].clone()).collect();
    assert_eq!((names.len(), &names[0], &names[199]), (200, &json!("q-000"), &json!("q-199")));
    w.check().await;
}
