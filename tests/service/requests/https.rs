//! HTTPS and HTTP/2: browser tabs on one connection, and misuse of streams.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::world::{
    Engine, SLOW_MACHINE, Service,
    authority::{CertificateAuthority, CertifiedKey},
    eventually,
    http2::{HOST_NAME, Http2Client, tls_handshake},
    hurried, hurried_wait, program, run,
};

/// A service with TLS, its Redis and its certificate authority.
struct Desk {
    ca: CertificateAuthority,
    pair: CertifiedKey,
    engine: Engine,
    service: Service,
    _folder: TempDir,
}

impl Desk {
    async fn start() -> Self {
        Self::start_by(|command| command).await
    }

    /// By the usual command, changed.
    async fn start_by(change: impl FnOnce(Command) -> Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = Engine::start(folder.path(), false).await;
        let ca = CertificateAuthority::new(folder.path(), "ours");
        let pair = ca.issue(HOST_NAME, 2099);
        let url = format!("unix://{}", engine.socket().display());
        let serve = with_tls(["serve", "--listen", "127.0.0.1:0", "--redis-url", &url], &pair);
        let service = Service::start(change(serve)).await;
        assert!(service.url().starts_with("https://"), "{}", service.url());
        Self { ca, pair, engine, service, _folder: folder }
    }

    async fn page(&self) -> Http2Client {
        Http2Client::open(self.service.url(), &self.ca.ca_file()).await
    }
}

fn with_tls<const N: usize>(args: [&str; N], pair: &CertifiedKey) -> Command {
    let mut command = program(args);
    command.arg("--tls-cert-file").arg(&pair.certificate).arg("--tls-key-file").arg(&pair.key);
    command
}

#[tokio::test]
async fn forty_tabs_share_one_http2_connection() {
    let desk = Desk::start().await;
    let page = desk.page().await;
    let mut waits = Vec::new();
    for tab in 0..40 {
        let body = json!({ "queues": [format!("tab-{tab}")], "wait_ms": 30_000 }).to_string();
        waits.push(page.request("POST", "/jobs/reserve", &body).await);
    }
    let events = page.request("GET", "/events?queue=q", "").await.head().await;
    assert_eq!(events.status(), 200);
    let (status, job) = page.post("/jobs", json!({ "queue": "q", "payload": "x".repeat(50_000) })).await;
    assert_eq!((status, &job["state"]), (201, &json!("waiting")));
    let (status, held) = page.post("/jobs/reserve", json!({ "queues": ["q"] })).await;
    assert_eq!((status, held["jobs"][0]["payload"].as_str().map(str::len)), (200, Some(50_000)));
    let (status, done) = page.post("/jobs/complete", json!({ "reservation": held["jobs"][0]["reservation"] })).await;
    assert_eq!((status, &done["state"]), (200, &json!("completed")));
    let (mut events, mut received) = (events.into_body(), String::new());
    while !received.contains("event: completed") {
        let data = events.data().await.expect("events").expect("data");
        received += &String::from_utf8_lossy(&data);
    }
    assert!(received.contains("event: enqueued"), "{received}");
    for (tab, wait) in waits.into_iter().enumerate() {
        page.post("/jobs", json!({ "queue": format!("tab-{tab}"), "payload": tab })).await;
        let (status, text) = wait.answer().await;
        assert!(status == 200 && text.contains(&format!("\"payload\":{tab},")), "{text}");
    }
    assert!(!page.is_closed());
}

#[tokio::test]
async fn ndjson_line_is_answered_before_the_next_is_sent() {
    let desk = Desk::start().await;
    let page = desk.page().await;
    let mut talk = page.start_lines().await;
    for n in 1..=3 {
        talk.writer(&json!({ "payload": n }));
        let answer = talk.reader().await;
        assert_eq!((&answer["line"], &answer["duplicate"]), (&json!(n), &json!(false)), "{answer}");
    }
    talk.finish();
    let last = talk.reader().await;
    assert_eq!((&last["created"], &last["complete"]), (&json!(3), &json!(true)), "{last}");
}

#[tokio::test]
async fn import_and_export_accept_only_a_trusted_certificate() {
    let desk = Desk::start().await;
    let ca = desk.ca.ca_file();
    let file = ca.with_file_name("jobs");
    fs::write(&file, "{\"payload\":1}\n{\"payload\":2}\n").expect("written");
    let url = desk.service.url().replace("127.0.0.1", HOST_NAME);
    let run_command = async |words: &[&str], trusted: bool| {
        let mut command = program(words);
        command.args(["--url", &url]);
        if trusted {
            command.arg("--ca-file").arg(&ca);
        }
        run(command).await
    };
    let path = file.to_str().expect("a path");
    let end = run_command(&["import", path], false).await;
    assert!(!end.status.success() && end.stderr.contains("certificate"), "{end:?}");
    let end = run_command(&["import", path], true).await;
    assert!(end.status.success() && end.stdout.starts_with("2 lines: 2 new"), "{end:?}");
    let end = run_command(&["export", "default", "--state", "waiting"], true).await;
    assert!(end.status.success() && end.stdout.lines().count() == 2, "{end:?}");
}

#[tokio::test]
async fn wait_whose_stream_is_reset_takes_no_job() {
    let desk = Desk::start().await;
    let page = desk.page().await;
    let body = json!({ "queues": ["q"], "wait_ms": 30_000, "worker": "ann" }).to_string();
    let wait = page.request("POST", "/jobs/reserve", &body).await;
    eventually("a caller waits", async || (desk.engine.hint_subscribers("q").await == 1).then_some(())).await;
    wait.reset();
    let (_, job) = page.post("/jobs", json!({ "queue": "q", "payload": 1 })).await;
    let (_, held) = page.post("/jobs/reserve", json!({ "queues": ["q"], "worker": "ben" })).await;
    assert_eq!((&held["jobs"][0]["id"], &held["jobs"][0]["attempt"]), (&job["id"], &json!(1)), "{held}");
}

#[tokio::test]
async fn rapid_stream_resets_close_only_that_connection() {
    let desk = Desk::start().await;
    let (page, other) = (desk.page().await, desk.page().await);
    let body = json!({ "queues": ["q"], "wait_ms": 30_000 }).to_string();
    let wait = other.request("POST", "/jobs/reserve", &body).await;
    // A user may do this any number of times: each completed call offsets a reset one.
    for n in 0..150 {
        page.request("POST", "/jobs/reserve", &body).await.reset();
        let (status, _) = page.post("/jobs", json!({ "queue": "elsewhere", "payload": n })).await;
        assert_eq!(status, 201);
    }
    assert!(!page.is_closed());
    let mut resets = 0;
    while resets < 10_000 && !page.is_closed() {
        let Some(call) = page.try_request("POST", "/jobs/reserve", &body, None).await else { break };
        // A stream that the service has not accepted yet costs nothing and is not counted.
        tokio::time::sleep(Duration::from_millis(1)).await;
        call.reset();
        resets += 1;
    }
    eventually("the connection is cut", async || page.is_closed().then_some(())).await;
    assert!(resets < 1_000, "{resets}");
    let (status, _) = other.post("/jobs", json!({ "queue": "q", "payload": 1 })).await;
    assert_eq!(status, 201);
    assert_eq!(wait.answer().await.0, 200, "other connections still wait");
}

#[tokio::test]
async fn connection_has_100_streams_and_heads_up_to_64_kib() {
    let desk = Desk::start().await;
    let page = desk.page().await;
    page.request("GET", "/livez", "").await.answer().await;
    assert_eq!(page.max_streams(), 100);
    let long = "x".repeat(70 << 10);
    let call = page.try_request("GET", "/livez", "", Some(("x-long", &long))).await.expect("sent");
    assert_eq!(call.answer().await.0, 431);
    assert_eq!(page.request("GET", "/livez", "").await.answer().await.0, 200, "the connection stays open");
}

/// Some clients, curl among them, report an error when a stream is reset after its answer.
#[tokio::test]
async fn early_refusal_is_answered_without_a_stream_reset() {
    let desk = Desk::start().await;
    let page = desk.page().await;
    let refusals = [("POST", "/jobs?x=1", 422), ("POST", "/nowhere", 404), ("PATCH", "/jobs/none", 404)];
    for (method, path, status) in refusals {
        for bytes in [1, 100 << 10, 500 << 10] {
            let mut call = page.start_request(method, path).await;
            // After another answer this call has been refused, and its body is not sent yet.
            assert_eq!(page.request("GET", "/livez", "").await.answer().await.0, 200);
            call.send(&"x".repeat(bytes)).unwrap_or_else(|error| panic!("{method} {path} with {bytes} bytes: {error}"));
            assert_eq!(call.answer().await.0, status, "{method} {path} with {bytes} bytes");
        }
    }
    // A caller that sends no body, or one without end, gets its answer too.
    assert_eq!(page.start_request("POST", "/nowhere").await.head().await.status(), 404);
    let mut endless = page.start_request("POST", "/nowhere").await;
    endless.send(&"x".repeat(20 << 20)).expect("the stream is open");
    assert_eq!(endless.head().await.status(), 404);
    assert_eq!(page.request("GET", "/livez", "").await.answer().await.0, 200, "the connection stays open");
}

/// All cases run together, for as long as the longest timeout of the service.
#[tokio::test]
async fn silent_or_stalled_connections_are_closed() {
    let desk = Desk::start_by(hurried).await;
    let address = desk.service.url().trim_start_matches("https://").to_owned();
    let mut mute = TcpStream::connect(&address).await.expect("the service listens");
    let idle = desk.page().await;
    let narrow = h2::client::Builder::new().initial_window_size(1_000).clone();
    let full = Http2Client::open_with(desk.service.url(), &desk.ca.ca_file(), &narrow).await;
    let answer = full.request("GET", "/openapi.yaml", "").await.head().await;
    assert_eq!(answer.status(), 200, "the body is not read");
    desk.page().await.post("/jobs", json!({ "queue": "q", "payload": "x".repeat(2_000) })).await;
    let head = full.request("POST", "/jobs/reserve", r#"{ "queues": ["q"] }"#).await.head().await;
    assert_eq!(head.status(), 200, "the reserved job is not delivered");
    let hello = async {
        let begin = Instant::now();
        let mut heard = Vec::new();
        let _ = mute.read_to_end(&mut heard).await;
        begin.elapsed()
    };
    let busy = async {
        // A connection with other calls is not idle.
        while !full.is_closed() {
            if let Some(call) = full.try_request("GET", "/livez", "", None).await {
                let _ = tokio::time::timeout(Duration::from_secs(5), call.try_head()).await;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let gone = async {
        while !idle.is_closed() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let all = async { tokio::join!(hello, busy, gone) };
    tokio::time::timeout(hurried_wait(Duration::from_secs(75)) + SLOW_MACHINE, all)
        .await
        .expect("all connections are closed");
    assert_eq!(desk.page().await.request("GET", "/readyz", "").await.answer().await.0, 200);
    let (_, job) = desk.page().await.post("/jobs/reserve", json!({ "queues": ["q"], "wait_ms": 10_000 })).await;
    assert_eq!(job["jobs"].as_array().map(Vec::len), Some(1), "the job is ready again: {job}");
}

#[tokio::test]
async fn http1_and_probe_are_served_only_with_tls() {
    let desk = Desk::start().await;
    let mut stream = tls_handshake(desk.service.url(), &desk.ca.ca_file(), None).await.expect("a handshake");
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.expect("sent");
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.expect("an answer");
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");

    let address = desk.service.url().trim_start_matches("https://");
    let probe = run(with_tls(["healthcheck", "--listen", address], &desk.pair)).await;
    assert!(probe.status.success(), "{probe:?}");
    let plain = run(program(["healthcheck", "--listen", address])).await;
    assert!(!plain.status.success(), "{plain:?}");
    let strangers = CertificateAuthority::new(desk.ca.ca_file().parent().expect("a folder"), "strangers");
    assert!(tls_handshake(desk.service.url(), &strangers.ca_file(), None).await.is_err());
}

#[tokio::test]
async fn new_certificate_is_loaded_and_a_bad_one_ignored() {
    let desk = Desk::start().await;
    let open = desk.page().await;
    let shown = async || {
        let stream = tls_handshake(desk.service.url(), &desk.ca.ca_file(), None).await.expect("a handshake");
        stream.get_ref().1.peer_certificates().expect("shown")[0].to_vec()
    };
    let put = |from: &Path, to: &Path| fs::copy(from, to).map(drop).expect("written");
    let (first, new) = (shown().await, desk.ca.issue(HOST_NAME, 2098));
    // For a moment the new certificate is there without its key.
    put(&new.certificate, &desk.pair.certificate);
    eventually("the log says so", async || desk.service.output().contains("the key is not that").then_some(())).await;
    assert_eq!(shown().await, first);
    put(&new.key, &desk.pair.key);
    eventually("the new certificate is served", async || (shown().await != first).then_some(())).await;
    fs::remove_file(&desk.pair.key).expect("removed");
    eventually("the log says so", async || desk.service.output().contains("cannot be used").then_some(())).await;
    assert_ne!(shown().await, first);
    assert_eq!(open.request("GET", "/livez", "").await.answer().await.0, 200, "existing connections stay open");
    assert!(!desk.service.output().contains("PRIVATE KEY"));
}

#[tokio::test]
async fn mismatched_certificate_and_key_are_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = CertificateAuthority::new(folder.path(), "ours");
    let (one, other) = (ca.issue(HOST_NAME, 2099), ca.issue("desk", 2099));
    let mixed = CertifiedKey { certificate: one.certificate.clone(), key: other.key };
    let dead = ["serve", "--redis-url", "redis://127.0.0.1:1"];
    let end = run(with_tls(dead, &mixed)).await;
    assert!(!end.status.success() && end.stderr.contains("the key is not that of the certificate"), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "{end:?}");
    let end = run(with_tls(["check", "--redis-url", "redis://127.0.0.1:1"], &mixed)).await;
    assert!(end.stdout.contains("wrong    certificate"), "{end:?}");
    let mut half = program(dead);
    half.arg("--tls-cert-file").arg(&one.certificate);
    let end = run(half).await;
    assert!(!end.status.success() && end.stderr.contains("--tls-key-file"), "{end:?}");
}
