//! Which jobs are the same: by payload, by key, by client and queue, or never.

use serde_json::json;

use crate::world::{World, assert_events, id_of};

#[tokio::test]
async fn equal_payload_is_a_duplicate_until_the_job_ends() {
    let w = World::start().await;
    let first = w.enqueue_with(json!({ "payload": { "a": 1, "b": [1, 2] } })).await;
    let place = w.score_of(&first).await;
    w.enqueue(2).await;
    let twin = w.post_text("/jobs", r#"{"payload":{ "b" : [1,2],"a":1 },"priority":1}"#).await;
    assert_eq!(
        twin.is(200),
        json!({ "id": first, "queue": "default", "state": "waiting", "duplicate": true, "differs": ["priority"] })
    );
    assert_eq!(w.score_of(&first).await, place, "the twin's place does not change");
    assert_eq!(w.get(&format!("/jobs/{first}")).await.text_at("/payload"), r#"{"a":1,"b":[1,2]}"#, "nor its payload");
    assert_events(&w.events_of(&first).await, &["enqueued"]);

    let held = w.reserve().await;
    assert_eq!(held.id, first);
    let duplicate = w.send_enqueue(json!({ "payload": { "a": 1, "b": [1, 2] } })).await.is(200);
    assert_eq!((&duplicate["state"], &duplicate["duplicate"]), (&json!("reserved"), &json!(true)));
    w.abandon_with_delay(&held, 5_000).await.is(200);
    assert_eq!(w.send_enqueue(json!({ "payload": { "a": 1, "b": [1, 2] } })).await.is(200)["state"], "delayed");
    w.advance_clock(5_000);
    let held = w.reserve_with(json!({ "id": first })).await;
    w.complete(&held).await.is(200);
    let new = w.enqueue_with(json!({ "payload": { "a": 1, "b": [1, 2] } })).await;
    assert_ne!(new, first, "an ended job holds no key");
    w.check().await;
}

#[tokio::test]
async fn payloads_are_compared_by_canonical_text() {
    let w = World::start().await;
    let id = async |payload: &str| {
        let answer = w.post_text("/jobs", format!(r#"{{"payload":{payload}}}"#)).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
        id_of(&answer.json())
    };
    let different = [
        r#"{"id":9007199254740992}"#,
        r#"{"id":9007199254740993}"#,
        r#"{"id":9007199254740993.0}"#,
        "1",
        "1.0",
        "1e0",
        r#""1""#,
        r#""a b""#,
        r#""a  b""#,
        "[1,2]",
        "[2,1]",
        "{}",
        "[]",
        "null",
        r#"{"a":1,"b":2}"#,
        r#"{"a":1,"b":2,"c":3}"#,
    ];
    let mut seen = Vec::new();
    for payload in different {
        let id = id(payload).await;
        assert!(!seen.contains(&id), "{payload} is a job of its own");
        seen.push(id);
    }
    assert_eq!(id(r#"{ "b":2, "a":1 }"#).await, seen[14]);
    assert_eq!(id("[ 1,\n\t2 ]").await, seen[9]);
    w.check().await;
}

#[tokio::test]
async fn dedupe_keys_are_separate_per_client_and_queue() {
    let w = World::start().await;
    let mut ids = Vec::new();
    for job in [
        json!({ "payload": 1 }),
        json!({ "payload": 1, "client": "a" }),
        json!({ "payload": 1, "client": "b" }),
        json!({ "payload": 1, "queue": "other" }),
        json!({ "payload": 1, "dedupe_key": "1" }),
        json!({ "payload": 1, "dedupe_key": "1", "client": "a" }),
        json!({ "payload": 1, "dedupe": false }),
        json!({ "payload": 1, "dedupe": false }),
    ] {
        ids.push(w.enqueue_with(job).await);
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 8);
    let twin = w.send_enqueue(json!({ "payload": "something else", "dedupe_key": "1" })).await.is(200);
    assert_eq!(twin["duplicate"], true, "a key says more than the payload");
    let twin = w.send_enqueue(json!({ "payload": 1, "client": "b" })).await.is(200);
    assert_eq!(w.job(&id_of(&twin)).await["client"], "b");
    w.check().await;
}

#[tokio::test]
async fn queue_setting_disables_deduplication() {
    let w = World::start().await;
    w.update_settings(json!({ "dedupe": false })).await;
    let (first, second) = (w.enqueue(1).await, w.enqueue(1).await);
    assert_ne!(first, second);
    let asked = w.enqueue_with(json!({ "payload": 1, "dedupe": true })).await;
    let twin = w.send_enqueue(json!({ "payload": 1, "dedupe": true })).await.is(200);
    assert_eq!(id_of(&twin), asked);
    let keyed = w.enqueue_with(json!({ "payload": 1, "dedupe_key": "k" })).await;
    assert_eq!(id_of(&w.send_enqueue(json!({ "payload": 2, "dedupe_key": "k" })).await.is(200)), keyed);
    w.check().await;
}

/// The key is theirs until both have ended.
#[tokio::test]
async fn equal_dead_jobs_requeued_at_once_share_their_dedupe_key() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 1 })).await;
    for (n, first_to_end) in [0, 1].into_iter().enumerate() {
        let payload = json!({ "payload": n });
        let mut dead = Vec::new();
        for _ in 0..2 {
            let id = w.enqueue_with(payload.clone()).await;
            w.fail(&w.reserve_with(json!({ "id": id })).await).await.is(200);
            dead.push(id);
        }
        let requeued = w.requeue_all().await;
        assert_eq!(requeued, 2);
        let complete = async |id: &str| w.complete(&w.reserve_with(json!({ "id": id })).await).await.is(200);
        let (ends, stays) = (dead.remove(first_to_end), dead.remove(0));
        complete(&ends).await;
        assert_eq!(id_of(&w.send_enqueue(payload.clone()).await.is(200)), stays, "{first_to_end} ends first");
        complete(&stays).await;
        let fresh = w.send_enqueue(payload).await.is(201);
        w.delete(&format!("/jobs/{}", id_of(&fresh))).await.is(200);
    }
    w.check().await;
}

/// When one of two equal jobs ends, a new duplicate gets the id of the other.
#[tokio::test]
async fn requeued_job_shares_its_dedupe_key() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 1 })).await;
    for (n, first_ends) in [(1, "requeued"), (2, "other"), (3, "both"), (4, "cancelled")] {
        let payload = json!({ "payload": n });
        let old = w.enqueue_with(payload.clone()).await;
        w.fail(&w.reserve_with(json!({ "id": old })).await).await.is(200);
        assert_eq!(w.state(&old).await, "dead");
        let new = w.enqueue_with(payload.clone()).await;
        assert_ne!(old, new, "a dead job is no twin");
        assert_eq!(w.requeue(&old).await, 1);
        let twin_is = async |id: &str| {
            let answer = w.send_enqueue(payload.clone()).await.is(200);
            assert_eq!((answer["duplicate"].clone(), id_of(&answer)), (json!(true), id.to_owned()), "{first_ends}");
        };
        twin_is(&new).await;
        let complete = async |id: &str| w.complete(&w.reserve_with(json!({ "id": id })).await).await.is(200);
        match first_ends {
            "other" => {
                complete(&new).await;
                twin_is(&old).await;
                complete(&old).await;
            }
            "requeued" => {
                complete(&old).await;
                twin_is(&new).await;
                complete(&new).await;
            }
            "cancelled" => {
                w.delete(&format!("/jobs/{new}")).await.is(200);
                twin_is(&old).await;
                w.delete(&format!("/jobs/{old}")).await.is(200);
            }
            _ => {
                let held = [w.reserve_with(json!({ "id": new })).await, w.reserve_with(json!({ "id": old })).await];
                let items: Vec<_> = held.iter().map(|held| json!({ "reservation": held.reservation })).collect();
                w.post("/jobs/complete", json!(items)).await.is(200);
            }
        }
        let fresh = w.send_enqueue(payload.clone()).await;
        assert_eq!(fresh.status, 201, "{first_ends}: both jobs have ended");
        w.delete(&format!("/jobs/{}", id_of(&fresh.json()))).await.is(200);
    }
    w.check().await;
}
