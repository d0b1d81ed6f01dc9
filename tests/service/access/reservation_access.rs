//! Events say by which credential a worker came to a job.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::world::{
    Client, World,
    access::{SECRET, issued, key, signed},
    id_of,
};

fn access(kind: &str, key: Option<&str>, issuer: Option<&str>) -> Value {
    json!({ "kind": kind, "key": key, "issuer": issuer })
}

async fn with_access_control() -> World {
    let jwks = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/jwks.json");
    let keys = [("site", "producer", "*"), ("shop", "producer", "*"), ("desk", "worker", "*"), ("team", "worker", "*")];
    let w = World::plan().with_keys(&keys).flag("--jwks-file", jwks).flag("--token-secret", SECRET).start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    w
}

/// Ann with a token that this key made.
async fn ann_by(w: &World, maker: &str) -> Client {
    let asked = json!({ "worker": "ann", "queues": ["default"] });
    let made = w.with_credential(&key(maker)).post("/tokens", asked).await.is(200);
    w.with_credential(made["token"].as_str().expect("a token"))
}

async fn take(client: &Client, ask: Value) -> Value {
    let mut jobs = client.post("/jobs/reserve", ask).await.is(200)["jobs"].take();
    jobs[0].take()
}

/// The type and the access of each event of a job that is of a reservation, or has an access.
async fn accesses(w: &World, id: &str) -> Vec<(String, Value)> {
    let story = w.get(&format!("/jobs/{id}/events")).await.is(200);
    let mut seen = Vec::new();
    for event in story["events"].as_array().expect("events") {
        let (kind, access) = (event["type"].as_str().expect("a type"), &event["access"]);
        if matches!(kind, "reserved" | "resumed") {
            assert_eq!(event["reason"], Value::Null, "{event}");
        } else if access.is_null() {
            continue;
        }
        seen.push((kind.to_owned(), access.clone()));
    }
    seen
}

#[tokio::test]
async fn reservation_says_by_which_credential_its_worker_came() {
    let w = with_access_control().await;
    let ways = [
        (ann_by(&w, "site").await, access("token", Some("site"), None)),
        (w.with_credential(&signed(SECRET, json!({}))), access("token", None, None)),
        (w.with_credential(&issued(Algorithm::EdDSA, "d", json!({}))), access("token", None, Some("intray"))),
        (w.with_credential(&key("desk")), access("key", Some("desk"), None)),
    ];
    for (n, (ann, expected)) in ways.into_iter().enumerate() {
        // The next job, and one by its id.
        let (next, named) = (w.enqueue(json!([n, "next"])).await, w.enqueue(json!([n, "named"])).await);
        assert_eq!(id_of(&take(&ann, json!({ "worker": "ann", "queues": ["default"] })).await), next);
        assert_eq!(id_of(&take(&ann, json!({ "worker": "ann", "id": named })).await), named);
        for id in [next, named] {
            assert_eq!(accesses(&w, &id).await, [("reserved".to_owned(), expected.clone())]);
        }
    }
    w.check().await;
}

#[tokio::test]
async fn concurrent_reservations_say_each_its_own_access() {
    let w = with_access_control().await;
    for n in 0..2 {
        w.enqueue(n).await;
    }
    // Without a name: calls of one worker are not taken together.
    let (one, other) = (w.with_credential(&key("desk")), w.with_credential(&key("team")));
    let ask = json!({ "queues": ["default"] });
    let (by_one, by_other) = tokio::join!(take(&one, ask.clone()), take(&other, ask.clone()));
    for (job, name) in [(by_one, "desk"), (by_other, "team")] {
        let expected = access("key", Some(name), None);
        assert_eq!(accesses(&w, &id_of(&job)).await, [("reserved".to_owned(), expected)]);
    }
}

#[tokio::test]
async fn resumed_job_says_by_which_credential_it_was_resumed() {
    let w = with_access_control().await;
    let id = w.enqueue(1).await;
    take(&ann_by(&w, "site").await, json!({ "queues": ["default"] })).await;
    take(&w.with_credential(&key("desk")), json!({ "worker": "ann", "id": id })).await;
    let expected = [
        ("reserved".to_owned(), access("token", Some("site"), None)),
        ("resumed".to_owned(), access("key", Some("desk"), None)),
    ];
    assert_eq!(accesses(&w, &id).await, expected);
    w.check().await;
}

#[tokio::test]
async fn repeated_call_by_a_token_of_another_origin_is_a_new_call() {
    let w = with_access_control().await;
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(w.enqueue(n).await);
    }
    let (site, shop) = (ann_by(&w, "site").await, ann_by(&w, "shop").await);
    let signed = w.with_credential(&signed(SECRET, json!({})));
    let issued = w.with_credential(&issued(Algorithm::EdDSA, "d", json!({})));
    let calls = [(&site, 0), (&site, 0), (&shop, 1), (&signed, 2), (&issued, 3), (&signed, 2)];
    for (client, id) in calls.map(|(client, n)| (client, &ids[n])) {
        let call = client.request("POST", "/jobs/reserve").header("idempotency-key", "k");
        let answer = call.json(json!({ "queues": ["default"] }).to_string()).send().await.is(200);
        assert_eq!(answer["jobs"][0]["id"], json!(id));
    }
    w.check().await;
}

#[tokio::test]
async fn receiver_of_a_hand_over_has_their_own_access() {
    let w = with_access_control().await;
    let id = w.enqueue(1).await;
    let (ann, desk) = (ann_by(&w, "site").await, w.with_credential(&key("desk")));
    let held = take(&ann, json!({ "queues": ["default"] })).await;
    ann.post("/jobs/hand-over", json!({ "reservation": held["reservation"], "to": "bob" })).await.is(200);
    assert_eq!(id_of(&take(&desk, json!({ "worker": "bob", "queues": ["default"] })).await), id);
    let expected = [("site", "token"), ("desk", "key")]
        .map(|(name, kind)| ("reserved".to_owned(), access(kind, Some(name), None)));
    assert_eq!(accesses(&w, &id).await, expected);
    w.check().await;
}

#[tokio::test]
async fn access_is_open_without_keys_and_null_in_old_events() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    take(&w, json!({ "queues": ["default"] })).await;
    assert_eq!(accesses(&w, &id).await, [("reserved".to_owned(), access("open", None, None))]);
    // An event as it was before accesses were recorded.
    let mut before = redis::cmd("XADD");
    before.arg("intray:{default}:2:events").arg("*").arg(1).arg(format!("\x08reserved{}\x03ann\0\0\0", "0".repeat(26)));
    let _: String = w.engine.query(&before).await;
    let seen = w.get("/queues/default/events").await.is(200);
    let old = seen["events"].as_array().expect("events").iter().find(|event| event["worker"] == "ann").expect("it");
    assert_eq!((&old["type"], &old["access"], &old["reason"]), (&json!("reserved"), &Value::Null, &Value::Null));
}

#[tokio::test]
async fn token_that_is_made_is_logged_with_its_key_and_worker() {
    let plan = World::plan().own_process().with_keys(&[("site", "producer", "*")]);
    let w = plan.flag("--token-secret", SECRET).start().await;
    let id = w.enqueue(1).await;
    let site = w.with_credential(&key("site"));
    let mut tokens = Vec::new();
    for asked in [json!({ "worker": "ann", "queues": ["default"] }), json!({ "worker": "bob", "job": id })] {
        tokens.push(site.post("/tokens", asked).await.is(200)["token"].as_str().expect("a token").to_owned());
    }
    let log = w.service.output();
    for parts in [vec!["worker=\"ann\""], vec!["worker=\"bob\"", "queue=default", &format!("job=\"{id}\"")]] {
        let is_it = |line: &&str| line.contains("action=\"make-token\"") && line.contains(parts[0]);
        let line = log.lines().find(is_it).unwrap_or_else(|| panic!("no line of {}: {log}", parts[0]));
        for part in parts.iter().chain(&["by=\"site\"", "request_id="]) {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert!(tokens.iter().all(|token| !log.contains(token)));
}
