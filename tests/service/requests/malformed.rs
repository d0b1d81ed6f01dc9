//! Requests refused before their fields are read: type, size, route, method; and invalid values of every kind.

use serde_json::json;

use crate::world::{World, assert_contains, contract::CONTRACT, percent_encode};

#[tokio::test]
async fn body_without_a_json_content_type_is_refused() {
    let w = World::start().await;
    let held = {
        w.enqueue(1).await;
        w.reserve().await
    };
    let id = &held.id;
    let send = async |method: &str, path: &str, kind: Option<&str>, body: &str| {
        let request = w.request(method, path).body(body);
        match kind {
            Some(kind) => request.header("content-type", kind).send().await,
            None => request.send().await,
        }
    };
    let job = format!("/jobs/{id}");
    for (method, path) in [
        ("POST", "/jobs"),
        ("POST", "/jobs/reserve"),
        ("POST", "/jobs/release"),
        ("POST", "/jobs/requeue"),
        ("PATCH", &*job),
        ("PATCH", "/queues/default"),
        ("POST", "/queues/default/sweep"),
    ] {
        for kind in [
            None,
            Some("text/plain"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data"),
            Some("x"),
        ] {
            let answer = send(method, path, kind, "{}").await;
            assert_eq!(answer.status, 415, "{method} {path} {kind:?}: {}", answer.text());
            answer.refused("unsupported-media-type");
        }
    }
    for call in CONTRACT.settle_calls() {
        for kind in [None, Some("application/x-www-form-urlencoded"), Some("text/html")] {
            send("POST", call, kind, "{}").await.refused("unsupported-media-type");
        }
        let mut beacon = CONTRACT.settle_body("POST", call, "").expect("a settle call");
        beacon.as_object_mut().expect("an object").remove("reservation");
        let beacon = beacon.to_string();
        send("POST", call, Some("text/plain;charset=UTF-8"), &beacon).await.invalid_at(&["/reservation"]);
        send("POST", call, Some("text/plain"), "").await.refused("not-json");
    }
    for kind in ["application/json; charset=utf-8", "application/vnd.api+json", "APPLICATION/JSON"] {
        send("POST", "/jobs", Some(kind), &format!(r#"{{"payload":"{kind}"}}"#)).await.is(201);
    }
    send("POST", "/jobs/reserve", None, "").await.is(200);
    w.check().await;
}

#[tokio::test]
async fn unknown_route_or_method_returns_a_problem() {
    let w = World::start().await;
    for path in ["/job", "/jobs/", "/jobs/x/y", "/event", "/queues/", "/%ff", "/livez/"] {
        let answer = w.get(path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        answer.refused("not-found");
    }
    for (method, path, allowed) in [
        ("GET", "/jobs", "POST"),
        ("PUT", "/jobs", "POST"),
        ("DELETE", "/jobs/reserve", "POST"),
        ("POST", "/queues", "GET"),
        ("PUT", "/queues/default", "PATCH"),
        ("POST", "/livez", "GET"),
        ("BREW", "/jobs/x", "PATCH"),
    ] {
        let answer = w.request(method, path).send().await;
        assert_eq!(answer.status, 405, "{method} {path}: {}", answer.text());
        answer.refused("method-not-allowed");
        assert!(answer.header("allow").expect("Allow").contains(allowed), "{answer:?}");
    }
    w.request("HEAD", "/livez").send().await;
    w.check().await;
}

#[tokio::test]
async fn body_over_8_mib_is_refused() {
    let w = World::start().await;
    let item = |n: usize| json!({ "payload": format!("{n}{}", "x".repeat(250 << 10)) });
    let fits: Vec<_> = (0..32).map(item).collect();
    let answer = w.post("/jobs", json!(fits)).await.is(200);
    assert!(answer["jobs"].as_array().expect("jobs").iter().all(|job| job["duplicate"] == false));
    let too_large = w.post("/jobs", json!((0..34).map(item).collect::<Vec<_>>())).await;
    assert_eq!(too_large.status, 413);
    too_large.refused("too-large");
    for path in ["/jobs/reserve", "/jobs/complete", "/jobs/release", "/queues/default/sweep"] {
        w.post_text(path, vec![b' '; (8 << 20) + 1]).await.refused("too-large");
    }
    assert_eq!(w.queue().await["counts"]["waiting"], 32);
    w.check().await;
}

#[tokio::test]
async fn invalid_input_never_returns_a_5xx() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let odd = [
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "\"\"",
        "\"x\"",
        "[]",
        "{}",
        "[[]]",
        "[null]",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "18446744073709551616",
        "0.1",
    ];
    let fields = [
        "queue",
        "payload",
        "priority",
        "client",
        "dedupe_key",
        "dedupe",
        "delay_ms",
        "run_at",
        "lease_ms",
        "max_attempts",
        "backoff",
        "queues",
        "worker",
        "limit",
        "wait_ms",
        "id",
        "reservation",
        "result",
        "reason",
        "error",
        "paused",
        "warn_ms",
        "retention_ms",
        "max_jobs",
    ];
    let calls = [
        ("POST", "/jobs"),
        ("POST", "/jobs/reserve"),
        ("POST", "/jobs/extend"),
        ("POST", "/jobs/complete"),
        ("POST", "/jobs/abandon"),
        ("POST", "/jobs/fail"),
        ("POST", "/jobs/release"),
        ("POST", "/jobs/requeue"),
        ("PATCH", "/queues/default"),
        ("POST", "/queues/default/sweep"),
    ];
    for (method, path) in calls {
        let mut bodies: Vec<String> = odd.iter().map(|&odd| odd.to_owned()).collect();
        for field in fields {
            for odd in odd {
                bodies.push(format!(r#"{{"{field}":{odd}}}"#));
            }
        }
        let all = format!("[{}]", bodies.join(","));
        for body in bodies.into_iter().step_by(3).chain([all]) {
            let answer = w.request(method, path).json(body.clone()).send().await;
            assert!(answer.status < 500, "{method} {path} {body}: {}", answer.text());
        }
    }
    for name in ["%00", "%ff", "a%2Fb", "%F0%9F%8E%89", "a%20b", &"x".repeat(5_000), "{default}", "*"] {
        for path in [
            format!("/jobs/{name}"),
            format!("/queues/{name}"),
            format!("/queues/{name}/jobs"),
            format!("/workers/{name}/reservations"),
        ] {
            let answer = w.get(&path).await;
            assert!(answer.status < 500, "{path}: {}", answer.text());
        }
    }
    for after in ["x", "0", "-1", "1-2", "1795252529123-01KAJ3V7Q2M8Z4R6T9XW5YB1CD", "nan-x", "\u{0}", "é"] {
        for list in ["jobs", "workers"] {
            let answer = w.get(&format!("/queues/default/{list}?after={}", percent_encode(after))).await;
            assert!(answer.status < 500, "{after}: {}", answer.text());
        }
    }
    w.patch("/queues/default", json!({ "paused": null, "lease_ms": null, "dedupe": null, "max_jobs": null }))
        .await
        .is(200);
    assert_contains(&w.job(&held.id).await, json!({ "payload": 1 }));
    w.check().await;
}

#[tokio::test]
async fn compressed_body_is_refused_with_a_hint() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    let settle = format!(r#"{{"reservation":"{}"}}"#, held.reservation);
    let send = async |path: &str, codings: &[&str], body: &str| {
        let request = w.request("POST", path).json(body);
        codings.iter().fold(request, |request, coding| request.header("content-encoding", coding)).send().await
    };
    for codings in [&["gzip"][..], &["br"], &["identity, gzip"], &["identity", "gzip"], &["x"]] {
        for (path, body) in [("/jobs", r#"{"payload":2}"#), ("/jobs/complete", &settle), ("/jobs/reserve", "{}")] {
            let answer = send(path, codings, body).await;
            assert_eq!(answer.status, 415, "{path} {codings:?}: {}", answer.text());
            answer.refused("unsupported-media-type");
            assert_eq!(answer.header("accept-encoding"), Some("identity"), "RFC 7694: what would have been taken");
        }
    }
    let wrong_type = w.request("POST", "/jobs").header("content-type", "text/html").body("{}").send().await;
    assert_eq!((wrong_type.status, wrong_type.header("accept-encoding")), (415, None), "that is another matter");
    send("/jobs", &["Identity"], r#"{"payload":2}"#).await.is(201);
    send("/jobs/complete", &["identity,identity"], &settle).await.is(200);
    w.check().await;
}
