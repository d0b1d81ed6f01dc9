//! A token for one job: a link in a message.

use serde_json::{Value, json};

use crate::world::{
    Client, World,
    access::{SECRET, key, signed},
    assert_contains, program, run,
};

async fn start() -> World {
    let keys = [("web", "producer", "*"), ("calls", "producer", "calls-*"), ("boss", "operator", "*")];
    World::plan().own_process().with_keys(&keys).flag("--token-secret", SECRET).start().await
}

async fn mint(w: &World, asked: Value) -> Client {
    let minted = w.with_credential(&key("web")).post("/tokens", asked).await.is(200);
    w.with_credential(minted["token"].as_str().expect("a token"))
}

#[tokio::test]
async fn token_for_one_job_reserves_that_job_and_no_other() {
    let w = start().await;
    let other = w.enqueue(1).await;
    let id = w.enqueue(2).await;
    let link = mint(&w, json!({ "worker": "ann", "job": id })).await;
    assert_contains(&link.get("/me").await.is(200), json!({ "worker": "ann", "job": id, "queues": ["default"] }));
    for body in [json!({ "id": other }), json!({ "queues": ["default"] }), json!({ "worker": "bob" })] {
        link.send_reserve(body).await.refused("forbidden");
    }
    link.send_reserve(json!({ "limit": 2 })).await.invalid_at(&["/limit"]);
    assert_eq!(w.state(&id).await, "waiting", "a refused call takes nothing");
    let first = link.send_reserve(json!({})).await.is(200)["jobs"][0].clone();
    assert_contains(&first, json!({ "id": id, "worker": "ann", "resumed": false }));
    let again = link.send_reserve(json!({ "id": id })).await.is(200)["jobs"][0].clone();
    assert_contains(&again, json!({ "id": id, "resumed": true, "reservation": first["reservation"] }));
    link.post("/jobs/complete", json!({ "reservation": first["reservation"], "result": true })).await.is(200);
    assert_contains(&link.send_reserve(json!({})).await.refused("wrong-state"), json!({ "job_state": "completed" }));
    w.check().await;
}

#[tokio::test]
async fn token_for_one_job_is_for_no_other_call() {
    let w = start().await;
    let id = w.enqueue(1).await;
    let link = mint(&w, json!({ "worker": "ann", "job": id })).await;
    for path in [
        "/queues/default/jobs?mine=true",
        "/queues/default/jobs?state=completed",
        "/workers/ann/reservations?queue=default",
        "/me/queues",
        "/queues/default",
        "/queues",
        "/events",
        "/metrics",
    ] {
        link.get(path).await.refused("forbidden");
    }
    link.get(&format!("/jobs/{id}")).await.refused("forbidden");
    link.post("/jobs", json!({ "payload": 1 })).await.refused("forbidden");
    link.post("/tokens", json!({ "worker": "ann", "job": id })).await.refused("forbidden");
    assert_eq!(w.state(&id).await, "waiting");
    w.check().await;
}

#[tokio::test]
async fn token_is_made_only_for_who_may_have_the_job() {
    let w = start().await;
    let web = w.with_credential(&key("web"));
    let ask = |body: Value| web.post("/tokens", body);
    for (job, rule) in [
        (json!({ "payload": 1, "assignees": ["bob"] }), "assignees"),
        (json!({ "payload": 2, "skill": "de" }), "skill"),
        (json!({ "payload": 3, "excluded": ["ann"] }), "excluded"),
    ] {
        let id = w.enqueue_with(job).await;
        let refused = ask(json!({ "worker": "ann", "job": id })).await;
        assert_eq!(refused.status, 403);
        assert_eq!(refused.refused("not-eligible")["rule"], rule);
        ask(json!({ "worker": "bob", "job": id, "skills": ["de"] })).await.is(200);
    }
    let (asked, other) = (json!({ "queue": "calls-de", "payload": 1 }), w.enqueue(9).await);
    let called = w.enqueue_with(asked).await;
    let calls = w.with_credential(&key("calls"));
    calls.post("/tokens", json!({ "worker": "ann", "job": called })).await.is(200);
    assert_eq!(calls.post("/tokens", json!({ "worker": "ann", "job": other })).await.status, 404);
    ask(json!({ "worker": "ann", "job": "default-01KAJ3V7Q2M8Z4R6T9XW5YB1CD" })).await.refused("unknown-job");
    for (body, pointer) in [
        (json!({ "worker": "ann" }), "/queues"),
        (json!({ "worker": "ann", "job": other, "queues": ["default"] }), "/job"),
        (json!({ "worker": "ann", "job": "x" }), "/job"),
        (json!({ "worker": "ann", "job": null }), "/job"),
        (json!({ "job": other }), "/worker"),
        (json!({ "worker": "ann", "job": other, "ttl_ms": 0 }), "/ttl_ms"),
    ] {
        ask(body).await.invalid_at(&[pointer]);
    }
    w.delete(&format!("/jobs/{other}")).await.is(200);
    let ended = ask(json!({ "worker": "ann", "job": other })).await;
    assert_eq!(ended.status, 409);
    assert_contains(&ended.refused("wrong-state"), json!({ "job_state": "cancelled" }));
    w.check().await;
}

#[tokio::test]
async fn rules_count_when_the_link_is_used() {
    let w = start().await;
    let id = w.enqueue(1).await;
    let link = mint(&w, json!({ "worker": "ann", "job": id })).await;
    w.patch(&format!("/jobs/{id}"), json!({ "excluded": ["ann"] })).await.is(200);
    assert_eq!(link.send_reserve(json!({})).await.refused("not-eligible")["rule"], "excluded");
    w.patch(&format!("/jobs/{id}"), json!({ "excluded": null })).await.is(200);
    let held = link.send_reserve(json!({})).await.is(200)["jobs"][0].clone();
    let reservation = &held["reservation"];
    link.post("/jobs/hand-over", json!({ "reservation": reservation, "to": "bob" })).await.is(200);
    let lost = link.post("/jobs/complete", json!({ "reservation": reservation })).await;
    assert_contains(&lost.refused("reservation-lost"), json!({ "reason": "handed-over" }));
    assert_eq!(link.send_reserve(json!({})).await.refused("not-eligible")["rule"], "assignees");
    w.check().await;
}

#[tokio::test]
async fn expired_job_has_no_link() {
    let w = start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": 5_000 })).await;
    let link = mint(&w, json!({ "worker": "ann", "job": id })).await;
    w.advance_clock(5_000);
    let asked = w.with_credential(&key("web")).post("/tokens", json!({ "worker": "ann", "job": id })).await;
    assert_contains(&asked.refused("wrong-state"), json!({ "job_state": "cancelled" }));
    assert_contains(&link.send_reserve(json!({})).await.refused("wrong-state"), json!({ "job_state": "cancelled" }));
    w.check().await;
}

#[tokio::test]
async fn printed_token_is_for_one_job_too() {
    let w = start().await;
    let id = w.enqueue(1).await;
    let printed = run(program(["token", "--worker", "ann", "--job", &id, "--token-secret", SECRET])).await;
    let link = w.with_credential(printed.stdout.trim());
    assert_eq!(link.send_reserve(json!({})).await.is(200)["jobs"][0]["id"], id);
    w.check().await;
}

#[tokio::test]
async fn token_that_names_queues_and_a_job_is_refused() {
    let w = start().await;
    let id = w.enqueue(1).await;
    for claims in
        [json!({ "sub": "ann", "queues": ["default"], "job": id }), json!({ "sub": "ann", "queues": null, "job": "x" })]
    {
        w.with_credential(&signed(SECRET, claims)).get("/me").await.refused("unauthorized");
    }
    let link = w.with_credential(&signed(SECRET, json!({ "sub": "ann", "queues": null, "job": id })));
    assert_eq!(link.get("/me").await.is(200)["job"], id);
}
