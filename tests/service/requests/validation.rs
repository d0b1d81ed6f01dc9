//! Invalid input of every kind: a problem that names the field, and nothing stored.

use serde_json::{Value, json};

use crate::world::World;

/// A dump of all keys, to compare before and after.
async fn footprint(w: &World) -> Vec<(String, Vec<u8>)> {
    let mut keys: Vec<String> = w.engine.run("KEYS *").await;
    keys.sort();
    let mut dump = Vec::new();
    for key in keys {
        let bytes = w.engine.run(&format!("DUMP {key}")).await;
        dump.push((key, bytes));
    }
    dump
}

#[tokio::test]
async fn invalid_field_is_named_and_nothing_is_stored() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let before = footprint(&w).await;
    let (name, key) = ("x".repeat(129), "x".repeat(257));
    let r = || json!(held.reservation);
    let cases: Vec<(&str, Value, &[&str])> = vec![
        ("/jobs", json!({}), &["/payload"]),
        ("/jobs", json!(1), &[""]),
        ("/jobs", json!(null), &[""]),
        ("/jobs", json!("x"), &[""]),
        ("/jobs", json!({ "payload": 1, "queue": "" }), &["/queue"]),
        ("/jobs", json!({ "payload": 1, "queue": "a b" }), &["/queue"]),
        ("/jobs", json!({ "payload": 1, "queue": "x".repeat(65) }), &["/queue"]),
        ("/jobs", json!({ "payload": 1, "queue": "a{b}" }), &["/queue"]),
        ("/jobs", json!({ "payload": 1, "queue": 1 }), &["/queue"]),
        ("/jobs", json!({ "payload": 1, "queue": null }), &["/queue"]),
        ("/jobs", json!({ "payload": 1, "priority": -1 }), &["/priority"]),
        ("/jobs", json!({ "payload": 1, "priority": 100 }), &["/priority"]),
        ("/jobs", json!({ "payload": 1, "priority": "5" }), &["/priority"]),
        ("/jobs", json!({ "payload": 1, "priority": 1.5 }), &["/priority"]),
        ("/jobs", json!({ "payload": 1, "priority": null }), &["/priority"]),
        ("/jobs", json!({ "payload": 1, "client": "" }), &["/client"]),
        ("/jobs", json!({ "payload": 1, "client": name }), &["/client"]),
        ("/jobs", json!({ "payload": 1, "client": "a\u{0}b" }), &["/client"]),
        ("/jobs", json!({ "payload": 1, "client": "a\nb" }), &["/client"]),
        ("/jobs", json!({ "payload": 1, "dedupe_key": "" }), &["/dedupe_key"]),
        ("/jobs", json!({ "payload": 1, "dedupe_key": key }), &["/dedupe_key"]),
        ("/jobs", json!({ "payload": 1, "dedupe": "no" }), &["/dedupe"]),
        ("/jobs", json!({ "payload": 1, "delay_ms": -1 }), &["/delay_ms"]),
        ("/jobs", json!({ "payload": 1, "delay_ms": 2_592_000_001_u64 }), &["/delay_ms"]),
        ("/jobs", json!({ "payload": 1, "run_at": "tomorrow" }), &["/run_at"]),
        ("/jobs", json!({ "payload": 1, "run_at": 5 }), &["/run_at"]),
        ("/jobs", json!({ "payload": 1, "run_at": "2030-01-01T00:00:00Z", "delay_ms": 1 }), &["/run_at", "/run_at"]),
        ("/jobs", json!({ "payload": 1, "lease_ms": 999 }), &["/lease_ms"]),
        ("/jobs", json!({ "payload": 1, "lease_ms": 86_400_001 }), &["/lease_ms"]),
        ("/jobs", json!({ "payload": 1, "max_attempts": -1 }), &["/max_attempts"]),
        ("/jobs", json!({ "payload": 1, "backoff": "fixed" }), &["/backoff"]),
        ("/jobs", json!({ "payload": 1, "backoff": {} }), &["/backoff/type", "/backoff/delay_ms"]),
        ("/jobs", json!({ "payload": 1, "backoff": { "type": "fixed", "delay_ms": 1, "x": 1 } }), &["/backoff/x"]),
        ("/jobs", json!({ "payload": 1, "locks": ["a", ""] }), &["/locks/1"]),
        ("/jobs", json!({ "payload": 1, "a/b~c": 1 }), &["/a~1b~0c"]),
        ("/jobs", json!({ "payload": 1, "queue": "?", "priority": -1, "x": 1 }), &["/queue", "/priority", "/x"]),
        ("/jobs/reserve", json!([]), &[""]),
        ("/jobs/reserve", json!({ "queues": [] }), &["/queues"]),
        ("/jobs/reserve", json!({ "queues": "default" }), &["/queues"]),
        ("/jobs/reserve", json!({ "queues": ["a", "?", "a"] }), &["/queues/1", "/queues/2"]),
        ("/jobs/reserve", json!({ "queues": (0..17).map(|n| n.to_string()).collect::<Vec<_>>() }), &["/queues"]),
        ("/jobs/reserve", json!({ "worker": "" }), &["/worker"]),
        ("/jobs/reserve", json!({ "worker": name }), &["/worker"]),
        ("/jobs/reserve", json!({ "worker": "a\u{0}" }), &["/worker"]),
        ("/jobs/reserve", json!({ "limit": 0 }), &["/limit"]),
        ("/jobs/reserve", json!({ "limit": 101 }), &["/limit"]),
        ("/jobs/reserve", json!({ "wait_ms": 30_001 }), &["/wait_ms"]),
        ("/jobs/reserve", json!({ "lease_ms": 1 }), &["/lease_ms"]),
        ("/jobs/reserve", json!({ "id": "default-x" }), &["/id"]),
        ("/jobs/reserve", json!({ "skip": true }), &["/skip"]),
        ("/jobs/extend", json!({}), &["/reservation"]),
        ("/jobs/extend", json!({ "reservation": "x" }), &["/reservation"]),
        ("/jobs/extend", json!({ "reservation": id }), &["/reservation"]),
        ("/jobs/extend", json!({ "reservation": held.reservation.to_lowercase() }), &["/reservation"]),
        ("/jobs/extend", json!({ "reservation": r(), "lease_ms": 0 }), &["/lease_ms"]),
        ("/jobs/extend", json!({ "reservation": r(), "drafts": 1 }), &["/drafts"]),
        ("/jobs/complete", json!({ "result": 1 }), &["/reservation"]),
        ("/jobs/complete", json!({ "reservation": r(), "results": 1 }), &["/results"]),
        ("/jobs/abandon", json!({ "reservation": r(), "reason": key }), &["/reason"]),
        ("/jobs/abandon", json!({ "reservation": r(), "reason": 1 }), &["/reason"]),
        ("/jobs/abandon", json!({ "reservation": r(), "delay_ms": "1" }), &["/delay_ms"]),
        ("/jobs/abandon", json!({ "reservation": r(), "grace_ms": -1 }), &["/grace_ms"]),
        ("/jobs/abandon", json!({ "reservation": r(), "grace_ms": 1, "delay_ms": 1 }), &["/grace_ms"]),
        ("/jobs/abandon", json!({ "reservation": r(), "resumes": "1" }), &["/resumes"]),
        ("/jobs/abandon", json!({ "reservation": r(), "skip": 1 }), &["/skip"]),
        ("/jobs/fail", json!({ "reservation": r(), "error": "x".repeat(1_025) }), &["/error"]),
        ("/jobs/fail", json!({ "reservation": r(), "error": null }), &["/error"]),
        ("/jobs/release", json!({ "id": "x" }), &["/id"]),
        ("/jobs/requeue", json!({ "queue": "?" }), &["/queue"]),
        ("/jobs/requeue", json!({ "id": id, "all": true }), &["/all"]),
        ("/jobs/requeue", json!({ "queue": "default", "enqueued_before": 7 }), &["/enqueued_before"]),
        ("/jobs/reprioritize", json!({}), &["/queue", "/priority"]),
        (
            "/jobs/reprioritize",
            json!({ "queue": "default", "priority": 100, "state": "dead" }),
            &["/priority", "/state"],
        ),
        ("/jobs/reprioritize", json!({ "queue": "default", "priority": 1, "after": "7" }), &["/after"]),
    ];
    for (path, body, pointers) in cases {
        let answer = w.post(path, body.clone()).await;
        assert_eq!(answer.status, 422, "{path} {body}: {}", answer.text());
        let problem = answer.refused("invalid-request");
        let reported: Vec<_> = problem["errors"]
            .as_array()
            .expect("errors")
            .iter()
            .map(|e| e["pointer"].as_str().unwrap_or("?").to_owned())
            .collect();
        for place in &reported {
            assert!(pointers.contains(&place.as_str()), "{path} {body}: {problem}");
        }
        for pointer in pointers {
            assert!(reported.iter().any(|place| place == pointer), "{path} {body}: {problem}");
        }
    }
    for (path, body) in [
        ("/jobs/release", json!({})),
        ("/jobs/release", json!({ "queue": "default" })),
        ("/jobs/release", json!({ "worker": "ann" })),
        ("/jobs/release", json!({ "id": id, "worker": "ann" })),
        ("/jobs/requeue", json!({})),
        ("/jobs/requeue", json!({ "id": id, "queue": "default" })),
        ("/jobs/reserve", json!({ "id": id, "queues": ["default"] })),
        ("/jobs/reserve", json!({ "id": id, "limit": 2 })),
    ] {
        assert_eq!(w.post(path, body).await.refused("invalid-request")["status"], 422);
    }
    for (body, pointer) in [
        (json!({}), "/priority"),
        (json!({ "priority": 100 }), "/priority"),
        (json!({ "priority": 1, "paused": true }), "/paused"),
        (json!([]), ""),
    ] {
        w.patch(&format!("/jobs/{id}"), body).await.invalid_at(&[pointer]);
    }
    assert_eq!(footprint(&w).await, before, "nothing is stored");
    w.extend(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn repeated_field_is_refused() {
    let w = World::start().await;
    w.post_text("/jobs", r#"{"payload":1,"payload":2}"#).await.invalid_at(&["/payload"]);
    w.post_text("/jobs", r#"{"payload":1,"queue":"a","queue":"a"}"#).await.invalid_at(&["/queue"]);
    w.post_text("/jobs/reserve", r#"{"worker":"a","worker":"b"}"#).await.invalid_at(&["/worker"]);
    w.post_text("/jobs/reserve", r#"{"worker":"a","worker":"b"}"#).await.invalid_at(&["/worker"]);
    w.get("/queues/default").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn invalid_parameter_is_named() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let job = format!("/jobs/{id}");
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("GET", format!("{job}?wait_ms=30001"), &["wait_ms"]),
        ("GET", format!("{job}?wait=1"), &["wait"]),
        ("DELETE", format!("{job}?force=yes"), &["force"]),
        ("DELETE", format!("{job}?force=true&force=true"), &["force"]),
        ("GET", "/queues/default/jobs?limit=0".into(), &["limit"]),
        ("GET", "/queues/default/jobs?limit=101".into(), &["limit"]),
        (
            "GET",
            "/queues/default/jobs?limit=x&state=gone&client=&after=%00&x=1".into(),
            &["limit", "state", "client", "after", "x"],
        ),
        ("GET", format!("/queues/default/jobs?worker={}", "x".repeat(129)), &["worker"]),
        ("GET", "/queues/default/jobs?after=garbage".into(), &["after"]),
        ("GET", "/queues/default/jobs?wait_ms=-1".into(), &["wait_ms"]),
        ("GET", "/queues/default/workers?limit=0".into(), &["limit"]),
        ("GET", "/queues/default/workers?after=%20".into(), &["after"]),
        ("GET", "/queues?x=1".into(), &["x"]),
        ("GET", "/queues/default?x=1".into(), &["x"]),
        ("DELETE", "/queues/default".into(), &["state"]),
        ("DELETE", "/queues/default?state=reserved".into(), &["force"]),
        ("POST", "/queues/default/sweep?now=1".into(), &["now"]),
        ("GET", "/me/queues?worker=%00".into(), &["worker"]),
        ("GET", "/me/queues?queue=default".into(), &["queue"]),
        ("GET", "/workers/ann/reservations?queue=".into(), &["queue"]),
        ("GET", "/workers/ann/reservations?queue=a%20b".into(), &["queue"]),
        ("GET", "/workers/ann/reservations?queue=a,a".into(), &["queue"]),
        (
            "GET",
            format!("/workers/ann/reservations?queue={}", (0..17).map(|n| n.to_string()).collect::<Vec<_>>().join(",")),
            &["queue"],
        ),
        ("GET", format!("/workers/{}/reservations", "x".repeat(129)), &["worker"]),
        ("GET", "/workers/%00/reservations".into(), &["worker"]),
        ("POST", "/jobs?x=1".into(), &["x"]),
        ("POST", "/jobs/reserve?x=1".into(), &["x"]),
        ("POST", "/jobs/complete?x=1".into(), &["x"]),
    ];
    for (method, path, parameters) in cases {
        let answer = w.request(method, &path).json("{}").send().await;
        assert_eq!(answer.status, 422, "{method} {path}: {}", answer.text());
        answer.invalid_by("parameter", parameters);
    }
    w.check().await;
}

#[tokio::test]
async fn long_query_is_refused_with_a_bounded_answer() {
    let w = World::start().await;
    let names: Vec<_> = (0..17).map(|n| n.to_string()).chain((0..5_000).map(|_| "a%20b".to_owned())).collect();
    let wrong = vec!["?"; 15_000].join(",").replace('?', "%3F");
    let repeated_names = vec!["a"; 30_000].join(",");
    let unknown = (0..5_000).map(|n| format!("p{n}=1")).collect::<Vec<_>>().join("&");
    for path in ["/workers/ann/reservations", "/events"] {
        let seventeenth = w.get(&format!("{path}?queue={}", names.join(","))).await;
        seventeenth.invalid_by("parameter", &["queue"]);
        let repeated = names.iter().map(|name| format!("queue={name}")).take(3_000).collect::<Vec<_>>().join("&");
        w.get(&format!("{path}?{repeated}")).await.invalid_by("parameter", &["queue"]);
        for query in [format!("queue={wrong}"), format!("queue={repeated_names}"), unknown.clone()] {
            let answer = w.get(&format!("{path}?{query}")).await;
            let errors = answer.refused("invalid-request")["errors"].as_array().expect("errors").len();
            assert!((1..=20).contains(&errors), "{path}: {errors} errors");
            assert!(answer.text().len() < 4_096, "{path}: an answer of {} bytes", answer.text().len());
        }
    }
    w.get(&format!("/events?type={}", vec!["nothing"; 5_000].join(","))).await.refused("invalid-request");
    let types = w.get(&format!("/events?type={}", vec!["completed"; 5_000].join(","))).await;
    types.invalid_by("parameter", &["type"]);
    w.check().await;
}

#[tokio::test]
async fn invalid_header_is_named() {
    let w = World::start().await;
    let keyed = |path: &str, key: &str, body: Value| {
        w.request("POST", path).header("idempotency-key", key).json(body.to_string()).send()
    };
    for key in ["", "\"", "\"a", "a\"b", &"x".repeat(257)] {
        keyed("/jobs", key, json!({ "payload": 1 })).await.invalid_by("header", &["Idempotency-Key"]);
        keyed("/jobs/reserve", key, json!({ "worker": "ann" })).await.invalid_by("header", &["Idempotency-Key"]);
    }
    keyed("/jobs/reserve", "k", json!({})).await.invalid_by("header", &["Idempotency-Key"]);
    let odd =
        w.request("POST", "/jobs").header("traceparent", "nonsense").json(r#"{"payload":1}"#).send().await.is(201);
    let id = odd["id"].as_str().expect("an id");
    assert!(w.job(id).await["traceparent"].is_null(), "an invalid traceparent is ignored");
    w.check().await;
}
