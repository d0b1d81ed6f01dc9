//! A stalled stream whose key is revoked.

use std::{fs, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep_until};

use crate::world::{
    Engine, Service, access,
    authority::CertificateAuthority,
    eventually,
    http2::{HOST_NAME, Http2Client},
    program,
};

/// With a window of one byte, only the first heartbeat and at most one event are in flight when the key is revoked.
#[tokio::test]
async fn stalled_stream_sends_no_event_after_key_revocation() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let ca = CertificateAuthority::new(folder.path(), "ours");
    let (pair, keys) = (ca.issue(HOST_NAME, 2099), folder.path().join("keys"));
    let root = access::keys_file_line("root", "operator", "*");
    fs::write(&keys, format!("{root}\n{}\n", access::keys_file_line("old", "viewer", "*"))).expect("written");
    let mut command = program(["serve", "--listen", "127.0.0.1:0", "--redis-url"]);
    command.arg(engine.url()).arg("--keys-file").arg(&keys);
    command.arg("--tls-cert-file").arg(&pair.certificate).arg("--tls-key-file").arg(&pair.key);
    let service = Service::start(command).await;
    let [root_key, old] = ["root", "old"].map(|name| format!("Bearer {}", access::key(name)));
    let narrow = h2::client::Builder::new().initial_window_size(1).clone();
    let slow = Http2Client::open_with(service.url(), &ca.ca_file(), &narrow).await;
    let mut streams = Vec::new();
    for _ in 0..8 {
        let call = slow.try_request("GET", "/events?queue=q", "", Some(("authorization", &old))).await;
        streams.push(call.expect("a stream").head().await.into_body());
    }
    // A stream checks its key once a second.
    let asks_again = Instant::now() + Duration::from_millis(1_100);
    let page = Http2Client::open(service.url(), &ca.ca_file()).await;
    let body = json!({ "queue": "q", "payload": 1, "dedupe": false }).to_string();
    for _ in 0..5 {
        let call = page.try_request("POST", "/jobs", &body, Some(("authorization", &root_key))).await;
        assert_eq!(call.expect("a stream").answer().await.0, 201);
    }
    fs::write(&keys, root).expect("written");
    eventually("the key is revoked", async || {
        let call = page.try_request("GET", "/queues", "", Some(("authorization", &old))).await?;
        (call.answer().await.0 == 401).then_some(())
    })
    .await;
    sleep_until(asks_again).await;
    for stream in streams {
        let body = rest(stream).await;
        // An event that HTTP/2 already holds is in flight.
        let events = body.matches("event: enqueued").count();
        assert!(body.contains("heartbeat") && events <= 1, "{events}: {body}");
    }
}

async fn rest(mut stream: h2::RecvStream) -> String {
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data.expect("a regular end");
        stream.flow_control().release_capacity(data.len()).expect("released");
        body.extend(data);
    }
    String::from_utf8(body).expect("text")
}
