//! Viewers read and change nothing; askers make no tokens; `/me` shows the caller's identity.

use serde_json::json;

use crate::world::{
    World,
    access::{SECRET, key, signed},
    id_of,
};

#[tokio::test]
async fn viewer_reads_like_an_operator_without_reservations() {
    let keys = [("wall", "viewer", "*"), ("part", "viewer", "b-*"), ("web", "producer", "*")];
    let w = World::plan().own_process().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    w.stop_clock();
    let (wall, part) = (w.with_credential(&key("wall")), w.with_credential(&key("part")));
    let (mut stream, mut part_stream) = (wall.listen("").await, part.listen("?queue=b-1").await);
    let id = w.enqueue_with(json!({ "payload": 1, "locks": ["l"] })).await;
    w.enqueue_with(json!({ "queue": "b-1", "payload": 1 })).await;
    let batch = id_of(&w.post("/batches", json!({ "jobs": [{ "payload": 1 }] })).await.is(201));
    let ann = w.with_credential(&signed(SECRET, json!({})));
    let held = ann.post("/jobs/reserve", json!({})).await.is(200)["jobs"][0].clone();
    assert_eq!(held["id"], json!(id));
    let secret = held["reservation"].as_str().expect("a reservation").rsplit('.').next().expect("a secret").to_owned();
    for path in [
        &format!("/jobs/{id}"),
        &format!("/jobs/{id}/events"),
        &format!("/batches/{batch}"),
        &format!("/batches/{batch}/results"),
        "/batches",
        "/queues",
        "/queues/default",
        "/queues/default/jobs",
        "/queues/default/jobs?state=reserved",
        "/queues/default/workers",
        "/queues/default/locks",
        "/workers/ann/reservations",
        "/queues/default/events",
    ] {
        let (seen, all) = (wall.get(path).await, w.get(path).await);
        assert!(seen.status == 200 && !seen.text().contains(&secret), "{path}: {}", seen.text());
        assert_eq!(seen.is(200), all.is(200), "{path}");
    }
    wall.get("/redis").await.is(200);
    let figures = wall.get("/metrics").await;
    assert!(figures.status == 200 && figures.text().contains("intray_jobs"), "{}", figures.text());
    let events = stream.read_events(3).await;
    assert!(events[2]["type"] == "reserved" && !json!(events).to_string().contains(&secret), "{events:?}");
    assert_eq!(part_stream.read_events(1).await[0]["queue"], "b-1");
    let held = wall.get("/workers/ann/reservations").await.is(200)["reservations"].clone();
    assert_eq!(
        (&held[0]["id"], &held[0]["reservation"], held.as_array().map(Vec::len)),
        (&json!(id), &json!(null), Some(1))
    );
    part.get("/workers/ann/reservations").await.refused("forbidden");
    part.get("/workers/ann/reservations?queue=b-1,default").await.refused("forbidden");
    w.with_credential(&key("web")).get("/workers/ann/reservations").await.refused("forbidden");
    wall.delete(&format!("/jobs/{id}?force=true")).await.refused("forbidden");
    // Other queues are forbidden, as for every role.
    part.listen_answer("").await.refused("forbidden");
    part.get("/queues/default/jobs").await.refused("forbidden");
    assert_eq!(part.get("/queues").await.is(200)["queues"].as_array().map(Vec::len), Some(1));
    w.with_credential(&key("web")).get("/queues/default/jobs").await.refused("forbidden");
    w.check().await;
}

#[tokio::test]
async fn me_shows_the_callers_identity() {
    let w = World::plan()
        .with_default_redis_timeout()
        .with_keys(&[("wall", "viewer", "b-*")])
        .flag("--token-secret", SECRET)
        .start()
        .await;
    let key_of = |name: &str, role: &str, queue: &str| json!({ "role": role, "name": name, "worker": null, "queues": [queue], "job": null, "skills": [], "until": null });
    assert_eq!(w.get("/me").await.is(200), key_of("root", "operator", "*"));
    assert_eq!(w.with_credential(&key("wall")).get("/me").await.is(200), key_of("wall", "viewer", "b-*"));
    let ann = w.with_credential(&signed(SECRET, json!({ "exp": 4_070_908_800_u64 }))).get("/me").await.is(200);
    let token = json!({ "role": "worker", "name": null, "worker": "ann", "queues": ["default", "reviews*"], "job": null,
        "skills": [], "until": "2099-01-01T00:00:00.000Z" });
    assert_eq!(ann, token);
    w.without_credential().get("/me").await.refused("unauthorized");
    // A Redis that is away knows nothing of it.
    w.engine.freeze();
    assert_eq!(w.get("/me").await.is(200)["role"], "operator");
    w.engine.thaw();
    w.check().await;
    let open = World::start().await;
    let everybody = json!({ "role": "operator", "name": null, "worker": null, "queues": ["*"], "job": null, "skills": [], "until": null });
    assert_eq!(open.get("/me").await.is(200), everybody);
}

#[tokio::test]
async fn asker_does_what_a_producer_does_but_makes_no_tokens() {
    let keys = [("agent", "asker", "*"), ("site", "producer", "*")];
    let w = World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    let (agent, site) = (w.with_credential(&key("agent")), w.with_credential(&key("site")));
    let me = agent.get("/me").await.is(200);
    assert_eq!((&me["role"], &me["name"]), (&json!("asker"), &json!("agent")));
    let id = id_of(&agent.post("/jobs", json!({ "payload": 1 })).await.is(201));
    let batch = id_of(&agent.post("/batches", json!({ "jobs": [{ "payload": 2 }], "sealed": false })).await.is(201));
    for body in [
        json!({ "worker": "ann", "queues": ["default"] }),
        json!({ "worker": "ann", "job": id }),
        json!([{ "worker": "ann", "queues": ["default"] }]),
        json!({}),
    ] {
        let answer = agent.post("/tokens", body).await;
        answer.refused("forbidden");
        assert!(answer.text().contains("could answer its own question"), "{}", answer.text());
    }
    agent.post("/jobs/reserve", json!({ "worker": "ann" })).await.refused("forbidden");
    agent.get("/queues/default/jobs?state=reserved").await.refused("forbidden");
    let token = site.post("/tokens", json!({ "worker": "ann", "job": id })).await.is(200)["token"].clone();
    let ann = w.with_credential(token.as_str().expect("a token"));
    let held = ann.post("/jobs/reserve", json!({ "id": id })).await.is(200)["jobs"][0]["reservation"].clone();
    ann.post("/jobs/complete", json!({ "reservation": held, "result": "yes" })).await.is(200);
    let job = agent.get(&format!("/jobs/{id}")).await.is(200);
    assert_eq!((&job["result"], &job["completed"]["worker"]), (&json!("yes"), &json!("ann")));
    assert_eq!(agent.get("/queues/default/jobs?state=completed").await.is(200)["jobs"][0]["id"], json!(id));
    assert_eq!(agent.delete(&format!("/batches/{batch}")).await.status, 200);
    w.check().await;
}
