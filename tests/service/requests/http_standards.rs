//! What HTTP requires of answers to caches, proxies and browsers, and of invalid requests.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::world::World;

#[tokio::test]
async fn api_answers_are_not_stored_by_caches() {
    let w = World::start_process().await;
    w.enqueue(1).await;
    let lines = |accept: &'static str| w.request("GET", "/queues/default/jobs?state=waiting").header("accept", accept);
    let unsupported = w.request("POST", "/jobs").header("content-type", "text/html").body("x");
    for (what, answer) in [
        ("created", w.post("/jobs", json!({ "payload": 2 })).await),
        ("refused", w.post("/jobs", json!({})).await),
        ("unsupported", unsupported.send().await),
        ("no method", w.request("PUT", "/jobs").send().await),
        ("no route", w.get("/nowhere").await),
        ("queues", w.get("/queues").await),
        ("me", w.get("/me").await),
        ("page", w.get("/queues/default/jobs?state=waiting").await),
        ("lines", lines("application/x-ndjson").send().await),
        ("table", lines("text/csv").send().await),
        ("metrics", w.get("/metrics").await),
        ("ready", w.get("/readyz").await),
        ("reserved", w.post("/jobs/reserve", json!({})).await),
    ] {
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}: {answer:?}");
    }
    for page in ["/client.js", "/console/", "/docs/", "/client.tgz", "/python/", "/openapi.yaml"] {
        assert_eq!(w.get(page).await.header("cache-control"), Some("no-cache"), "{page}");
    }
    w.check().await;
}

/// Every `Location` resolves below the path of a proxy.
#[tokio::test]
async fn locations_hold_below_a_path_prefix() {
    let w = World::start().await;
    let below = |path: &str| reqwest::Url::parse(&format!("https://proxy.example/tools/intray{path}")).expect("a URL");
    for (path, body) in [
        ("/jobs", json!({ "payload": 1 })),
        ("/jobs", json!({ "queue": "a.b-c", "payload": 1 })),
        ("/batches", json!({ "jobs": [{ "payload": 1 }] })),
        ("/batches", json!({ "queue": "a.b-c", "sealed": false })),
    ] {
        let answer = w.post(path, body).await;
        let id = answer.is(201)["id"].as_str().expect("an id").to_owned();
        let target = below(path).join(answer.header("location").expect("a Location")).expect("a reference");
        assert_eq!(target.path(), format!("/tools/intray{path}/{id}"));
        w.get(target.path().strip_prefix("/tools/intray").expect("below")).await.is(200);
    }
    w.check().await;
}

/// Percent-encoded bytes that are not UTF-8 are refused everywhere, and never replaced.
#[tokio::test]
async fn invalid_utf8_in_a_query_is_refused() {
    let w = World::start().await;
    let job = w.enqueue(1).await;
    for (method, path, body) in [
        ("GET", "/queues/default/jobs?state=waiting&search=%ff", ""),
        ("GET", "/queues/default/jobs?state=waiting&client=a%c3", ""),
        ("GET", "/queues/default/jobs?state=waiting&%ff=1", ""),
        ("GET", "/queues/default/jobs?state=waiting&worker=%ed%a0%80", ""),
        ("DELETE", "/queues/default?state=waiting&client=%ff", ""),
        ("DELETE", "/queues/default?state=waiting&error=%c0%af", ""),
        ("GET", "/queues?after=%fe", ""),
        ("GET", "/events?queue=%ff", ""),
        ("GET", "/batches?queue=%f8", ""),
        ("GET", "/me?%ff", ""),
        ("POST", "/jobs?%ff", r#"{"payload":3}"#),
    ] {
        let answer = w.request(method, path).json(body).send().await;
        assert_eq!(answer.status, 422, "{method} {path}: {}", answer.text());
        let problem = answer.refused("invalid-request");
        assert_eq!(problem["errors"][0]["detail"], "must be UTF-8", "{method} {path}: {problem}");
        assert!(!answer.text().contains('\u{fffd}'), "{method} {path}: {problem}");
    }
    w.get("/queues/default/jobs?state=waiting&search=%EF%BF%BD").await.is(200);
    assert!(w.get("/readyz?verbose=%ff").await.text().contains("redis: ok"), "the value is ignored");
    assert_eq!(w.state(&job).await, "waiting");
    w.check().await;
}

#[tokio::test]
async fn invalid_utf8_in_a_path_is_refused() {
    let w = World::start().await;
    for (method, path, parameter) in [
        ("GET", "/jobs/%ff", "id"),
        ("DELETE", "/jobs/default-%c3", "id"),
        ("GET", "/batches/%ff", "id"),
        ("GET", "/queues/%ff", "queue"),
        ("PATCH", "/queues/a%ff", "queue"),
        ("GET", "/queues/%e2%82/jobs?state=waiting", "queue"),
        ("GET", "/workers/%ff/reservations", "worker"),
    ] {
        let answer = w.request(method, path).json(if method == "PATCH" { "{}" } else { "" }).send().await;
        assert_eq!(answer.status, 422, "{method} {path}: {}", answer.text());
        answer.invalid_by("parameter", &[parameter]);
        assert_eq!(answer.json()["errors"][0]["detail"], "must be UTF-8", "{method} {path}");
    }
    w.check().await;
}

/// A proxy that reads one of two and a service that reads the other would not see the same request.
#[tokio::test]
async fn two_content_types_are_refused() {
    let w = World::start().await;
    for types in [
        ["application/json", "application/json"],
        ["application/json", "text/html"],
        ["text/html", "application/json"],
        ["application/x-ndjson", "application/json"],
        ["application/json", "application/x-ndjson"],
    ] {
        let request = w.request("POST", "/jobs").header("content-type", types[0]).header("content-type", types[1]);
        request.body(r#"{"payload":1}"#).send().await.refused("unsupported-media-type");
    }
    assert_eq!(w.get("/queues").await.is(200)["queues"], json!([]));
    w.check().await;
}

/// RFC 9112, sections 3.2 and 6.1: a proxy may read such requests in another way.
#[tokio::test]
async fn hosts_and_codings_of_two_meanings_close_the_connection() {
    let w = World::start().await;
    let post = "POST /jobs HTTP/1.1\r\ncontent-type: application/json\r\n";
    let chunked = "d\r\n{\"payload\":1}\r\n0\r\n\r\n";
    let host = "host: localhost\r\n";
    for (status, head) in [
        (400, "GET /livez HTTP/1.1\r\n".to_owned()),
        (400, format!("GET /livez HTTP/1.1\r\n{host}{host}")),
        (400, format!("GET /livez HTTP/1.1\r\n{host}host: evil.example\r\n")),
        (501, format!("{post}{host}transfer-encoding: gzip, chunked\r\n")),
        (501, format!("{post}{host}transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n")),
        (400, format!("{post}{host}transfer-encoding: chunked, chunked\r\n")),
        (400, format!("{post}{host}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n")),
    ] {
        let mut socket = TcpStream::connect(w.address()).await.expect("the service listens");
        socket.write_all(format!("{head}\r\n{chunked}").as_bytes()).await.expect("open");
        let mut heard = Vec::new();
        // What was not read may reset the connection.
        let _ = socket.read_to_end(&mut heard).await;
        let heard = String::from_utf8_lossy(&heard);
        assert!(heard.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {heard}");
    }
    assert_eq!(w.get("/queues").await.is(200)["queues"], json!([]));
    w.check().await;
}

/// RFC 9112, section 6.3: by `Transfer-Encoding` alone, and nothing after it on that connection.
#[tokio::test]
async fn two_lengths_smuggle_no_second_request() {
    let w = World::start().await;
    let hidden = "POST /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n{\"payload\":13}";
    let length = format!("content-length: {}\r\n", 5 + hidden.len());
    for lengths in
        [format!("{length}transfer-encoding: chunked\r\n"), format!("transfer-encoding: chunked\r\n{length}")]
    {
        let mut socket = TcpStream::connect(w.address()).await.expect("the service listens");
        let head = "POST /queues/default/sweep HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        let request = format!("{head}{lengths}\r\n0\r\n\r\n{hidden}");
        socket.write_all(request.as_bytes()).await.expect("open");
        let mut heard = String::new();
        socket.read_to_string(&mut heard).await.expect("closed by the service");
        assert_eq!(heard.matches("HTTP/1.1 ").count(), 1, "{heard}");
    }
    assert_eq!(w.get("/queues").await.is(200)["queues"], json!([]), "what was hidden did not run");
    w.check().await;
}
