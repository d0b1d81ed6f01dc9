//! Origins of pages, their CORS headers and beacons, and request ids.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn write_from_a_foreign_origin_is_refused() {
    let w = World::start().await;
    let from = |method: &str, path: &str, origin: &str| {
        w.request(method, path).header("origin", origin).json(r#"{"payload":1}"#).send()
    };
    for origin in ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1"] {
        for (method, path) in [
            ("POST", "/jobs"),
            ("POST", "/jobs/reserve"),
            ("PATCH", "/queues/default"),
            ("DELETE", "/queues/default"),
            ("POST", "/nowhere"),
        ] {
            let answer = from(method, path, origin).await;
            assert_eq!(answer.status, 403, "{origin} {method} {path}");
            answer.refused("origin-not-allowed");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(
        w.request("GET", "/queues").header("origin", "https://evil.example").send().await.is(200),
        json!({ "queues": [], "next": null })
    );
    let own = format!("http://{}", w.address());
    from("POST", "/jobs", &own).await.is(201);
    w.check().await;
}

#[tokio::test]
async fn request_for_an_unknown_host_gets_421() {
    let w = World::plan().flag("--allowed-host", "queue.example,other.example").start().await;
    let at = |host: &str| w.request("GET", "/queues").header("host", host).send();
    for host in ["localhost", "localhost:1", "127.0.0.1", "[::1]:80", "queue.example", "other.example:8443"] {
        assert_eq!(at(host).await.status, 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1:80"] {
        let answer = at(host).await;
        assert_eq!(answer.status, 421, "{host}");
        answer.refused("host-not-allowed");
    }
    w.check().await;
}

#[tokio::test]
async fn allowed_origin_gets_cors_headers_on_every_status() {
    let w = World::plan().flag("--cors-origin", "https://desk.example,https://other.example:8443").start().await;
    let desk = "https://desk.example";
    let preflight = w
        .request("OPTIONS", "/jobs/reserve")
        .header("origin", desk)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type,idempotency-key")
        .send()
        .await;
    assert!((200..300).contains(&preflight.status), "{preflight:?}");
    assert_eq!(preflight.header("access-control-allow-origin"), Some(desk));
    assert_eq!(preflight.header("access-control-max-age"), Some("7200"));
    assert_eq!(preflight.header("access-control-allow-credentials"), None);
    let words = |name: &str| preflight.header(name).expect(name).to_lowercase();
    for method in ["get", "post", "patch", "delete"] {
        assert!(words("access-control-allow-methods").contains(method));
    }
    for header in ["content-type", "authorization", "idempotency-key", "traceparent", "x-request-id"] {
        assert!(words("access-control-allow-headers").contains(header), "{header}");
    }

    w.configure("full", json!({ "max_jobs": 1 })).await;
    w.enqueue_with(json!({ "queue": "full", "payload": 1 })).await;
    let cases = [
        ("POST", "/jobs", r#"{"payload":1}"#, 201),
        ("POST", "/jobs", "{", 400),
        ("POST", "/jobs", "{}", 422),
        ("POST", "/jobs", r#"{"payload":2,"queue":"full"}"#, 429),
        ("POST", "/jobs/extend", r#"{"reservation":"q-7ZZZZZZZZZZZZZZZZZZZZZZZZZ.7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}"#, 409),
        ("GET", "/jobs/x", "", 404),
        ("GET", "/nowhere", "", 404),
        ("PUT", "/jobs", "", 405),
    ];
    for (method, path, body, status) in cases {
        let answer = w.request(method, path).header("origin", desk).json(body).send().await;
        assert_eq!(answer.status, status, "{method} {path} {body}");
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some(desk),
            "{method} {path}: a page must be able to read it"
        );
        let exposed = answer.header("access-control-expose-headers").expect("exposed").to_lowercase();
        for header in ["retry-after", "location", "x-request-id"] {
            assert!(exposed.contains(header), "{exposed}");
        }
    }
    let unsupported =
        w.request("POST", "/jobs").header("origin", desk).header("content-type", "text/html").body("x").send().await;
    assert_eq!((unsupported.status, unsupported.header("access-control-allow-origin")), (415, Some(desk)));
    let foreign = w.request("POST", "/jobs").header("origin", "https://evil.example").json("{}").send().await;
    assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (403, None));
    w.check().await;
}

#[tokio::test]
async fn wildcard_origin_never_allows_credentials() {
    let w = World::plan().flag("--cors-origin", "*").switch("--insecure").start().await;
    let answer =
        w.request("POST", "/jobs").header("origin", "https://any.example").json(r#"{"payload":1}"#).send().await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    w.check().await;
}

#[tokio::test]
async fn settle_calls_accept_text_plain_beacons() {
    let w = World::plan().flag("--cors-origin", "https://desk.example").start().await;
    for (call, rest, state) in [
        ("extend", "", "reserved"),
        ("abandon", r#","reason":"closed""#, "waiting"),
        ("fail", "", "waiting"),
        ("complete", r#","result":1"#, "completed"),
    ] {
        let id = w.enqueue(call).await;
        let held = w.reserve_with(json!({ "id": id })).await;
        let beacon = w
            .request("POST", &format!("/jobs/{call}"))
            .header("origin", "https://desk.example")
            .header("content-type", "text/plain;charset=UTF-8")
            .body(format!(r#"{{"reservation":"{}"{rest}}}"#, held.reservation))
            .send()
            .await;
        assert_eq!(beacon.is(200)["state"], state);
        assert_eq!(w.state(&id).await, state);
    }
    w.check().await;
}

#[tokio::test]
async fn answers_echo_the_request_id_or_create_one() {
    let w = World::start().await;
    let answer = w.request("GET", "/livez").header("x-request-id", "abc-123").send().await;
    assert_eq!(answer.header("x-request-id"), Some("abc-123"));
    let answer = w.request("GET", "/nowhere").header("x-request-id", "abc-124").send().await;
    assert_eq!(answer.header("x-request-id"), Some("abc-124"), "on refusals too");
    let (one, other) = (w.get("/livez").await, w.get("/livez").await);
    assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
    let long = "x".repeat(500);
    let answer = w.request("GET", "/livez").header("x-request-id", &long).send().await;
    assert_ne!(answer.header("x-request-id"), Some(long.as_str()), "what is too long is not repeated");
    w.check().await;
}

/// Pages with OpenTelemetry or Sentry send more than they mean to; a browser that may not refuses the whole call.
#[tokio::test]
async fn preflight_allows_tracing_and_configured_headers() {
    let w = World::plan()
        .flag("--cors-origin", "https://desk.example")
        .flag("--cors-header", "sentry-trace,X-Datadog-Trace-Id")
        .flag("--cors-header", "b3")
        .start()
        .await;
    let wanted = "content-type,traceparent,tracestate,baggage,sentry-trace,x-datadog-trace-id,b3";
    let preflight = w
        .request("OPTIONS", "/jobs/reserve")
        .header("origin", "https://desk.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", wanted)
        .send()
        .await;
    let allowed = preflight.header("access-control-allow-headers").expect("allowed").to_lowercase();
    let allowed: Vec<_> = allowed.split(',').map(str::trim).collect();
    for header in wanted.split(',') {
        assert!(allowed.contains(&header), "{header}: {allowed:?}");
    }
    assert!(!allowed.contains(&"*"), "{allowed:?}");
    w.check().await;
}
