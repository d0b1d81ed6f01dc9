//! A stream whose reader stands still while their key is taken away.

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

/// A reader who takes a byte at a time has only the first heartbeat, and one event at most, under way when the key is taken away.
#[tokio::test]
async fn stalled_stream_tells_no_event_after_its_key_is_gone() {
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
    // A stream asks for its key once a second.
    let asks_again = Instant::now() + Duration::from_millis(1_100);
    let page = Http2Client::open(service.url(), &ca.ca_file()).await;
    let body = json!({ "queue": "q", "payload": 1, "dedupe": false }).to_string();
    for _ in 0..5 {
        let call = page.try_request("POST", "/jobs", &body, Some(("authorization", &root_key))).await;
        assert_eq!(call.expect("a stream").answer().await.0, 201);
    }
    fs::write(&keys, root).expect("written");
    eventually("the key is none any more", async || {
        let call = page.try_request("GET", "/queues", "", Some(("authorization", &old))).await?;
        (call.answer().await.0 == 401).then_some(())
    })
    .await;
    sleep_until(asks_again).await;
    for stream in streams {
        let said = rest(stream).await;
        // One that was handed to the connection before is under way.
        let told = said.matches("event: enqueued").count();
        assert!(said.contains("heartbeat") && told <= 1, "{told}: {said}");
    }
}

async fn rest(mut body: h2::RecvStream) -> String {
    let mut said = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.expect("an end in order");
        body.flow_control().release_capacity(data.len()).expect("it was taken");
        said.extend(data);
    }
    String::from_utf8(said).expect("text")
}
