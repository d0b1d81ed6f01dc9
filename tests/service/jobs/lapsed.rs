//! A job that is over by time counts as over for every call that acts on its state, swept or not. No sweep runs in these stories before the
//! call that they are about.

use serde_json::{Value, json};

use crate::world::{Client, World, assert_contains, id_of};

const LATER: u64 = 900_000;

/// How a job came to be over, and the state that it has then.
const OVER: [(&str, &str); 6] = [
    ("it expired waiting", "cancelled"),
    ("it expired delayed", "cancelled"),
    ("it expired blocked", "cancelled"),
    ("it expired held", "cancelled"),
    ("its completion is final", "completed"),
    ("its last attempt is over", "dead"),
];

/// A job that is over since a millisecond, which no sweep has met.
async fn over(w: &World, how: &str, also: Value) -> String {
    let mut job = json!({ "payload": "refund 17" });
    let fields = job.as_object_mut().expect("an object");
    fields.extend(also.as_object().expect("an object").clone());
    match how {
        "it expired delayed" => fields.extend([("delay_ms".to_owned(), json!(999))]),
        "it expired blocked" => fields.extend([("locks".to_owned(), json!(["acme"]))]),
        "its last attempt is over" => {
            fields.extend([("max_attempts".to_owned(), json!(1)), ("lease_ms".to_owned(), json!(1_000))]);
        }
        _ => {}
    }
    if how.starts_with("it expired") {
        fields.extend([("expires_ms".to_owned(), json!(1_000))]);
    }
    if how == "it expired blocked" {
        w.enqueue_locked("holds the lock", &["acme"]).await;
        w.reserve_as("lou").await;
    }
    let id = w.enqueue_with(job).await;
    match how {
        "it expired blocked" => assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "blocked"),
        "it expired held" | "its last attempt is over" => drop(w.reserve_as("ann").await),
        "its completion is final" => {
            w.close(&w.reserve_as("ann").await, "done", 1_000).await.is(200);
        }
        _ => {}
    }
    w.advance_clock(1_000);
    id
}

/// A queue whose clock stands still, and a job in it that is over.
async fn with_one_over(how: &str, also: Value) -> (World, String) {
    let w = World::start().await;
    w.stop_clock();
    let id = over(&w, how, also).await;
    (w, id)
}

async fn keyed(client: &Client, key: &str, body: &Value) -> Value {
    client.request("POST", "/jobs").header("idempotency-key", key).json(body.to_string()).send().await.json()
}

/// The job was stored by a call of its own, and ends as one.
async fn assert_new(w: &World, how: &str, over: (&str, &str), answer: &Value) {
    let (before, state) = over;
    assert_eq!(answer["duplicate"], false, "{how}: {answer}");
    let id = id_of(answer);
    assert_ne!(id, before, "{how}");
    assert_eq!(w.state(before).await, state, "{how}: the call has done what time had done");
    assert_eq!(w.state(&id).await, "waiting", "{how}");
}

#[tokio::test]
async fn twin_that_is_over_answers_no_enqueue() {
    for (how, state) in OVER {
        let again = json!({ "payload": "refund 17", "expires_ms": LATER });
        let (w, id) = with_one_over(how, json!({})).await;
        assert_new(&w, how, (&id, state), &w.send_enqueue(again.clone()).await.is(201)).await;
        w.check().await;

        let (w, id) = with_one_over(how, json!({})).await;
        let stored = keyed(&w, "run-2", &again).await;
        assert_new(&w, how, (&id, state), &stored).await;
        assert_eq!(id_of(&keyed(&w, "run-2", &again).await), id_of(&stored), "{how}: the key points at the new job");
        w.check().await;

        let (w, id) = with_one_over(how, json!({ "dedupe_key": "refund" })).await;
        let array = json!([{ "payload": 2 }, { "payload": 3, "dedupe_key": "refund" }, { "payload": 2 }]);
        let answers = w.post("/jobs", array).await.is(200);
        assert_new(&w, how, (&id, state), &answers["jobs"][1]).await;
        assert_eq!(answers["jobs"][2]["duplicate"], true, "of the one before it in the list");
        w.check().await;

        let (w, id) = with_one_over(how, json!({ "client": "shop" })).await;
        let line = json!({ "payload": "refund 17", "client": "shop", "expires_ms": LATER });
        let sent = w.request("POST", "/jobs").header("content-type", "application/x-ndjson").body(format!("{line}\n"));
        assert_contains(&sent.send().await.is(200), json!({ "created": 1, "duplicates": 0 }));
        assert_eq!(w.state(&id).await, state, "{how}");
        w.check().await;
    }
}

#[tokio::test]
async fn key_of_an_enqueue_never_points_at_a_job_that_was_over() {
    for (how, _) in OVER {
        let (w, first) = with_one_over(how, json!({})).await;
        let job = json!({ "payload": "refund 17", "expires_ms": LATER });
        let second = id_of(&keyed(&w, "run-1", &job).await);
        w.sweep().await;
        assert_eq!(id_of(&keyed(&w, "run-1", &job).await), second, "{how}");
        assert_ne!(second, first, "{how}");
        assert_eq!(w.state(&second).await, "waiting", "{how}");
        w.check().await;
    }
}

#[tokio::test]
async fn twin_after_one_that_is_over_answers_only_while_it_lives() {
    let w = World::start().await;
    w.stop_clock();
    let job = |ms: u64| json!({ "payload": 1, "max_attempts": 1, "lease_ms": 1_000, "expires_ms": ms });
    // The first dies, the second owns the key, and the first follows it when it lives again.
    let first = w.enqueue_with(job(LATER)).await;
    w.fail(&w.reserve().await).await.is(200);
    let second = w.enqueue_with(job(2_000)).await;
    assert_eq!(w.requeue(&first).await, 1);
    w.advance_clock(2_000);
    let answer = w.send_enqueue(json!({ "payload": 1 })).await.is(200);
    assert_eq!((id_of(&answer), &answer["duplicate"]), (first.clone(), &json!(true)), "it lives");
    assert_eq!(w.state(&second).await, "cancelled");
    w.advance_clock(LATER);
    let third = w.enqueue(1).await;
    assert_eq!((w.state(&first).await.as_str(), w.state(&third).await.as_str()), ("cancelled", "waiting"));
    w.check().await;
}

#[tokio::test]
async fn jobs_that_are_over_take_no_room() {
    for (how, state) in OVER {
        // A dead job takes room until an operator has looked at it, and what holds the lock takes some.
        let (kept, takes_room) = (u64::from(how == "it expired blocked"), state == "dead");
        let full = async || {
            let (w, _) = with_one_over(how, json!({})).await;
            w.update_settings(json!({ "max_jobs": kept + 1 })).await;
            w
        };
        let calls = [
            ("/jobs", json!({ "payload": 2 })),
            ("/jobs", json!([{ "payload": 2 }])),
            ("/batches", json!({ "jobs": [{ "payload": 2 }] })),
            ("/batches", json!([{ "overlap": 2, "job": { "payload": 2 } }])),
        ];
        for (path, body) in calls {
            let w = full().await;
            if body[0]["overlap"] == 2 {
                w.update_settings(json!({ "max_jobs": kept + 2 })).await;
            }
            let before = w.queue().await["totals"]["enqueued"].clone();
            let answer = w.post(path, body.clone()).await;
            let stored = w.queue().await["totals"]["enqueued"] != before;
            let takes_room = takes_room || body[0]["overlap"] == 2 && state == "dead";
            assert_eq!(stored, !takes_room, "{how}: {body}: {}", answer.text());
            w.check().await;
        }
        let w = World::start().await;
        w.stop_clock();
        let batch = w.create_batch(json!({ "sealed": false, "jobs": [] })).await;
        over(&w, how, json!({})).await;
        w.update_settings(json!({ "max_jobs": kept + 1 })).await;
        let appended = w.append(&batch, &[json!({ "payload": 2 })]).await;
        if takes_room {
            drop(appended.refused("queue-full"))
        } else {
            drop(appended.is(200))
        }
        w.check().await;
    }
}

#[tokio::test]
async fn full_queue_refuses_whatever_else_is_overdue() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_with(json!({ "payload": 1, "lease_ms": 1_000, "sla_ms": 1_000 })).await;
    w.update_settings(json!({ "max_jobs": 1 })).await;
    w.reserve().await;
    w.advance_clock(1_000);
    w.send_enqueue(json!({ "payload": 2 })).await.refused("queue-full");
    assert_contains(&w.queue().await, json!({ "counts": { "waiting": 1 }, "totals": { "expired": 1, "breached": 1 } }));
    w.check().await;
}
