//! The webhooks file: what the start refuses, what a later change does, and `intray check`, which tests each webhook.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
};

use intray_webhook::{WebhookSecret, sign};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::world::{Engine, Service, authority::CertificateAuthority, eventually, free_port, program, run};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PATH: &str = "hunter2?token=hunter2";

/// A line of the file, whose path is a secret.
fn line(name: &str, place: &str) -> String {
    format!("{name} {place}/{PATH} * all {SECRET}\n")
}

fn serve(file: &Path, data: &Path) -> Command {
    let mut command = program(["serve", "--listen", "127.0.0.1:0", "--webhooks-file"]);
    command.arg(file).arg("--data-dir").arg(data);
    command
}

fn check(file: &Path, engine: &Engine) -> Command {
    let mut command = program(["check", "--redis-url", &format!("unix://{}", engine.socket().display())]);
    command.env("INTRAY_WEBHOOKS_FILE", file);
    command
}

type Requests = Arc<Mutex<Vec<String>>>;

/// Answers each connection's request with this head, and keeps the requests.
async fn receiver(head: &'static str) -> (u16, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (port, requests) = (listener.local_addr().expect("an address").port(), Requests::default());
    let received = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut text, mut bytes) = (String::new(), [0; 4096]);
            // The body is an object with one in it.
            while !text.ends_with("}}") {
                let count = stream.read(&mut bytes).await.expect("a request");
                assert!(count > 0, "the sender left: {text}");
                text.push_str(std::str::from_utf8(&bytes[..count]).expect("UTF-8"));
            }
            received.lock().expect("no thread panics with it").push(text);
            stream.write_all(format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n").as_bytes()).await.expect("sent");
        }
    });
    (port, requests)
}

fn header<'a>(request: &'a str, name: &str) -> &'a str {
    let found = request.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("no {name}: {request}"))
}

#[tokio::test]
async fn start_is_refused_with_a_broken_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("webhooks");
    for (text, rule) in [
        (None, "webhooks: No such file"),
        (Some(line("a", "https://shop.example").repeat(2)), "webhooks: line 2: a webhook of this name"),
        (Some(line("a", "https://u:hunter2@shop.example")), "webhooks: line 1: the URL must not name a user"),
        (Some(line("a", "http://shop.example")), "webhooks: line 1: the URL may be http://"),
        (
            Some("\n# ours\na https://shop.example/hunter2 * all whsec_aHVudGVyMg==".to_owned()),
            "webhooks: line 3: the secret",
        ),
        (
            Some("a https://shop.example/hunter2 * hunter2 hunter2".to_owned()),
            "webhooks: line 1: the types must be all",
        ),
    ] {
        if let Some(text) = &text {
            fs::write(&file, text).expect("written");
        }
        let end = run(serve(&file, &folder.path().join("data"))).await;
        assert!(!end.status.success() && end.stderr.contains(rule), "{rule}: {end:?}");
        assert!(![&end.stdout, &end.stderr].iter().any(|text| text.contains("hunter2")), "{end:?}");
        end.assert_no_repetition();
        assert!(!folder.path().join("data").exists(), "the file is read first");
    }
}

#[tokio::test]
async fn later_broken_or_deleted_file_is_named_and_a_repaired_one_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("webhooks");
    fs::write(&file, line("a", "https://shop.example")).expect("written");
    let service = Service::start(serve(&file, &folder.path().join("data"))).await;
    let logged = async |words: [&str; 3]| {
        let found = || service.output().lines().any(|line| words.iter().all(|word| line.contains(word))).then_some(());
        eventually(words[2], async || found()).await;
    };
    let named = file.to_str().expect("UTF-8");
    fs::write(&file, format!("{0}{0}", line("a", "https://shop.example"))).expect("written");
    logged([named, "the previous content stays in use", "line 2: a webhook of this name"]).await;
    fs::remove_file(&file).expect("ours");
    logged([named, "the previous content stays in use", "No such file"]).await;
    fs::write(&file, ["a", "b"].map(|name| line(name, "https://shop.example")).concat()).expect("written");
    logged([named, "changed", "2 webhooks"]).await;
    assert!(!service.output().contains("hunter2") && !service.output().contains("whsec_"), "{}", service.output());
}

#[tokio::test]
async fn world_readable_webhooks_file_is_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("webhooks");
    fs::write(&file, line("a", "https://shop.example")).expect("written");
    for (mode, warnings) in [(0o644, 1), (0o640, 0)] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("ours");
        let log = Service::start(serve(&file, &folder.path().join("data"))).await.output();
        let count = log.lines().filter(|line| line.contains("can be read by all users") && line.contains("webhooks"));
        assert_eq!(count.count(), warnings, "{mode:o}: {log}");
    }
}

#[tokio::test]
async fn check_tests_each_webhook_and_counts_failures() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), true).await;
    let file = folder.path().join("webhooks");
    let (taking, requests) = receiver("204 x").await;
    let (failing, _) = receiver("500 x").await;
    let (moved, _) = receiver("308 x\r\nlocation: http://127.0.0.1:1/").await;
    let place = |port: u16| format!("http://127.0.0.1:{port}");
    let taken = line("taking", &place(taking));
    fs::write(&file, &taken).expect("written");
    let mut command = check(&file, &engine);
    // Nothing listens there.
    for variable in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(variable, "http://127.0.0.1:1");
    }
    let end = run(command).await;
    assert!(end.status.success() && end.stdout.contains("ok       webhooks\n"), "{end:?}");
    assert!(end.stdout.contains("ok       webhook taking: 127.0.0.1 answered 204 in "), "{end:?}");

    let request = requests.lock().expect("no thread panics with it").pop().expect("a request");
    assert!(request.starts_with(&format!("POST /{PATH} HTTP/1.1\r\n")), "{request}");
    let (id, body) = (header(&request, "webhook-id"), request.split("\r\n\r\n").nth(1).expect("a body"));
    assert!(id.starts_with("msg_") && id.len() == 30, "{id}");
    let seconds = header(&request, "webhook-timestamp").parse().expect("seconds");
    let secret = WebhookSecret::parse(SECRET).expect("a secret");
    assert_eq!(header(&request, "webhook-signature"), sign(&[secret], id, seconds, body.as_bytes()));
    let timestamp = body.split('"').nth(7).unwrap_or_default();
    assert_eq!(body, format!(r#"{{"type":"intray.test","timestamp":"{timestamp}","data":{{}}}}"#));
    assert!(timestamp.len() == 24 && timestamp.ends_with('Z'), "{timestamp}");

    let others = [("failing", failing), ("moved", moved), ("closed", free_port())];
    let others = others.map(|(name, port)| line(name, &place(port)));
    let unknown = line("unknown", &format!("https://{}.invalid", "a".repeat(64)));
    fs::write(&file, [&others.concat(), &unknown, &taken].map(String::as_str).concat()).expect("written");
    let end = run(check(&file, &engine)).await;
    let lines: Vec<_> = end.stdout.lines().filter(|line| line.contains("webhook ")).collect();
    for (line, begin) in lines.iter().zip([
        "wrong    webhook failing: 127.0.0.1 answered 500 in ",
        "wrong    webhook moved: 127.0.0.1 answered 308 in ",
        "wrong    webhook closed: 127.0.0.1: connection refused",
        &format!("wrong    webhook unknown: {}.invalid: the name cannot be resolved", "a".repeat(64)),
        "ok       webhook taking: 127.0.0.1 answered 204 in ",
    ]) {
        assert!(line.starts_with(begin), "{line}: {end:?}");
    }
    assert_eq!((lines.len(), end.status.success()), (5, false), "{end:?}");
    assert!(end.stderr.trim().ends_with("4 checks failed"), "{end:?}");
    assert!(
        ![&end.stdout, &end.stderr].iter().any(|text| text.contains("hunter2") || text.contains("whsec_")),
        "{end:?}"
    );
}

#[tokio::test]
async fn check_names_a_broken_webhooks_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), true).await;
    let file = folder.path().join("webhooks");
    fs::write(&file, line("a", "https://u:hunter2@shop.example")).expect("written");
    let end = run(check(&file, &engine)).await;
    assert!(end.stdout.contains("webhooks: line 1: the URL must not name a user"), "{end:?}");
    assert!(end.stderr.trim().ends_with("1 check failed") && !end.stdout.contains("hunter2"), "{end:?}");
}

/// The receiver is a service with TLS, which knows no such path.
#[tokio::test]
async fn check_trusts_the_authorities_of_the_machine_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), true).await;
    let [ours, theirs] = ["ours", "theirs"].map(|name| CertificateAuthority::new(folder.path(), name));
    let unknown = "the certificate is of an unknown authority";
    for (year, authority, expected) in
        [(2099, &ours, "answered 404 in "), (2099, &theirs, unknown), (2021, &ours, "the certificate has expired")]
    {
        let own = ours.issue("127.0.0.1", year);
        let mut command = program(["serve", "--listen", "127.0.0.1:0", "--redis-url"]);
        command.arg(format!("unix://{}", engine.socket().display()));
        command.arg("--tls-cert-file").arg(&own.certificate).arg("--tls-key-file").arg(&own.key);
        let service = Service::start(command).await;
        let file = folder.path().join("webhooks");
        fs::write(&file, line("a", service.url())).expect("written");
        let checked = async |authorities: &Path| {
            let mut command = check(&file, &engine);
            command.env("SSL_CERT_FILE", authorities);
            run(command).await
        };
        let end = checked(&authority.ca_file()).await;
        assert!(end.stdout.contains(expected) && end.stdout.contains("wrong    webhook a: 127.0.0.1"), "{end:?}");
        if authority.ca_file() == theirs.ca_file() {
            let end = checked(&folder.path().join("nowhere")).await;
            assert!(end.stdout.contains("install ca-certificates"), "{end:?}");
        }
    }
}
