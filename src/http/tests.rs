//! The middleware around the routes, without a store.

use std::time::Duration;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use super::*;

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

async fn panics() -> Response {
    panic!("on purpose");
}

/// A service without a store.
fn service(routes: Routes, cors: Origins) -> Router {
    let queues = Queues::new("redis://localhost", "t:").expect("a URL");
    let leaving = CancellationToken::new();
    let waiting = Waiting::new(queues.clone(), leaving.clone());
    let dispatcher = Dispatcher::new(queues.clone(), waiting.clone(), None);
    let app = Parts {
        readiness: Readiness::new(queues.clone(), leaving.clone()),
        figures: MetricsPage::new(queues.clone(), waiting.clone(), dispatcher.clone()),
        waiting,
        dispatcher,
        sheets: Sheets::new(queues.clone()),
        access: Access::off(),
        stored: StoreRate::default(),
        max_payload: PayloadLimit(1),
        demo: Demo(false),
        desk: DeskPage::new(&DeskSources::default()),
        queues,
        leaving,
    };
    let auth_context = AuthContext {
        access: Access::off(),
        clients: Clients::new(Vec::new()),
        memory: MemoryPool::new(Access::off()),
    };
    let desk = DeskSources::default();
    let policy = Policy { allowed_hosts: vec![], cors, cors_headers: vec![], max_payload: 1, demo: false, desk };
    routes.with_state(AppStack::new(App(app.into()), auth_context, policy))
}

/// Calls a service with two routes that pages at `https://spa.example` may call.
async fn ask(method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let fine = async || "fine";
    let routes = Router::new()
        .route("/fine", post(operators(fine)).get(operators(fine)))
        .route("/broken", post(operators(panics)));
    let cors = Origins::Listed(vec!["https://spa.example".to_owned()]);
    let service = service(whole(routes), cors);
    let local = (header::HOST.as_str(), "localhost:7070");
    let host = if headers.iter().any(|(name, _)| *name == local.0) { None } else { Some(local) };
    let request = Request::builder().method(method).uri(path);
    let request =
        headers.iter().chain(host.iter()).fold(request, |request, (name, value)| request.header(*name, *value));
    let response = service.oneshot(request.body(Body::empty()).expect("a request")).await.expect("infallible");
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
    Answer { status: parts.status, headers: parts.headers, body: serde_json::from_slice(&body).unwrap_or_default() }
}

#[tokio::test]
async fn refusals_are_problems_with_readable_request_ids() {
    for (method, path, headers, status, slug) in [
        ("GET", "/nowhere", vec![], 404, "not-found"),
        ("DELETE", "/fine", vec![], 405, "method-not-allowed"),
        ("BREW", "/fine", vec![], 405, "method-not-allowed"),
        ("POST", "/broken", vec![], 500, "internal"),
        ("POST", "/fine", vec![(header::HOST.as_str(), "evil.example")], 421, "host-not-allowed"),
    ] {
        let headers: Vec<_> = headers.into_iter().chain([("origin", "https://spa.example")]).collect();
        let answer = ask(method, path, &headers).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.body["type"], format!("/problems/{slug}"));
        assert_eq!(answer.body["status"], status);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert_eq!(answer.headers["access-control-allow-origin"], "https://spa.example");
        assert_eq!(answer.headers["access-control-expose-headers"], "retry-after,location,x-request-id");
        assert_eq!(answer.headers["x-request-id"].len(), 26);
    }
}

#[tokio::test]
async fn allow_header_lists_the_methods_of_a_route() {
    assert_eq!(ask("PUT", "/fine", &[]).await.headers["allow"], "POST,GET,HEAD");
}

#[tokio::test]
async fn write_from_a_foreign_origin_is_refused() {
    let evil = [("origin", "https://evil.example")];
    let answer = ask("POST", "/broken", &evil).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "before anything runs");
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    assert_eq!(ask("GET", "/fine", &evil).await.status, StatusCode::OK);
}

#[tokio::test]
async fn preflight_is_cached_for_two_hours() {
    let asked = [("origin", "https://spa.example"), ("access-control-request-method", "PATCH")];
    let answer = ask("OPTIONS", "/fine", &asked).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["access-control-max-age"], "7200");
    assert_eq!(answer.headers["access-control-allow-methods"], "GET,POST,PATCH,DELETE");
    let named = "content-type,authorization,idempotency-key,last-event-id,traceparent,tracestate,baggage,x-request-id";
    assert_eq!(answer.headers["access-control-allow-headers"], named);
    assert!(!answer.headers.contains_key("access-control-allow-credentials"));
}

#[tokio::test]
async fn valid_request_id_is_kept() {
    let kept = "x".repeat(128);
    assert_eq!(ask("GET", "/fine", &[("x-request-id", &kept)]).await.headers["x-request-id"], kept);
    for odd in ["", "é", &"x".repeat(129)] {
        assert_eq!(ask("GET", "/fine", &[("x-request-id", odd)]).await.headers["x-request-id"].len(), 26, "{odd}");
    }
}

/// The server polls an answer when its reader has room; the body's timeout does not run meanwhile.
#[tokio::test]
async fn slow_reader_does_not_time_out_the_body() {
    let (lines, body) = tokio::sync::mpsc::unbounded_channel::<Result<&str, std::io::Error>>();
    let body = futures_util::stream::unfold(body, async |mut body| body.recv().await.map(|line| (line, body)));
    let service = service(whole(Router::new().route("/jobs", post(producers(jobs::enqueue)))), Origins::Listed(vec![]));
    let request = Request::post("/jobs?answers=all")
        .header(header::HOST, "localhost:7070")
        .header(header::CONTENT_TYPE, "application/x-ndjson")
        .body(Body::from_stream(body))
        .expect("a request");
    lines.send(Ok("no JSON\n")).expect("it is read");
    let mut answer = service.oneshot(request).await.expect("infallible").into_body();
    let first = answer.frame().await.expect("a line").expect("a line");
    assert!(first.into_data().expect("data").starts_with(b"{\"line\":1,"));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let soon = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        lines.send(Ok("nor this\n")).expect("it is still read");
    };
    let (second, ()) = tokio::join!(answer.frame(), soon);
    let second = second.expect("a line").expect("a line").into_data().expect("data");
    assert!(second.starts_with(b"{\"line\":2,"), "{second:?}");
}
