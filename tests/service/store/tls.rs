//! Redis over TLS: both sides check certificates, and each error is one clear line.

use std::{fs, path::Path};

use serde_json::json;

use crate::world::{
    Client, Engine, Exit, Service, World,
    authority::{CertificateAuthority, CertifiedKey},
    eventually, program, run, tls,
};

async fn speaks_tls(
    engine: &Engine,
    ca: &CertificateAuthority,
    own: &CertifiedKey,
    wants_client_certificate: bool,
) -> u16 {
    tls::enable_tls(engine, 0, ca, own, wants_client_certificate).await
}

fn serve(url: &str, files: &[(&str, &Path)]) -> std::process::Command {
    with_files(program(["serve", "--listen", "127.0.0.1:0", "--redis-url", url]), files)
}

fn check(url: &str, files: &[(&str, &Path)]) -> std::process::Command {
    with_files(program(["check", "--redis-url", url]), files)
}

fn with_files(mut command: std::process::Command, files: &[(&str, &Path)]) -> std::process::Command {
    for (flag, file) in files {
        command.arg(flag).arg(file);
    }
    command
}

#[track_caller]
fn refuses(end: &Exit, words: &[&str]) {
    assert!(!end.status.success(), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "one clear line: {end:?}");
    for word in words {
        assert!(end.stderr.contains(word), "{word}: {end:?}");
    }
}

#[tokio::test]
async fn service_and_redis_check_each_others_certificates() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let (ca, other) =
        (CertificateAuthority::new(folder.path(), "ours"), CertificateAuthority::new(folder.path(), "theirs"));
    let (server, desk) = (ca.issue("localhost", 2099), ca.issue("desk", 2099));
    let port = speaks_tls(&engine, &ca, &server, true).await;
    let url = format!("rediss://localhost:{port}");
    let known = ("--redis-ca-file", ca.ca_file());
    let ours = [("--redis-cert-file", &*desk.certificate), ("--redis-key-file", &*desk.key)];

    let all = [&[(known.0, &*known.1)][..], &ours].concat();
    let service = Service::start(serve(&url, &all)).await;
    let client = Client::new(service.url());
    let waiter = client.start_wait(json!({})).await;
    let id = client.enqueue(1).await;
    let held = waiter.job().await;
    assert_eq!(held.id, id);
    client.complete(&held).await.is(200);
    assert_eq!(client.get("/readyz").await.status, 200);
    // Every connection of the service uses TLS; the test's own uses the socket.
    let clients: String = engine.run("CLIENT LIST").await;
    let by_tls = clients.lines().filter(|line| line.contains(&format!("laddr=127.0.0.1:{port}"))).count();
    assert!(by_tls >= 3, "{clients}");
    assert!(run(check(&url, &all)).await.status.success());

    refuses(&run(serve(&url, &[(known.0, &known.1)])).await, &["localhost", "certificate"]);
    let strangers = other.ca_file();
    let who = [&[("--redis-ca-file", &*strangers)][..], &ours].concat();
    refuses(&run(serve(&url, &who)).await, &["localhost", "not signed by an authority", "--redis-ca-file"]);
}

#[tokio::test]
async fn wrong_name_or_expired_certificate_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let ca = CertificateAuthority::new(folder.path(), "ours");
    let known = [("--redis-ca-file", &*ca.ca_file())].map(|(flag, file)| (flag, file.to_owned()));
    let known: Vec<_> = known.iter().map(|(flag, file)| (*flag, file.as_path())).collect();

    let port = speaks_tls(&engine, &ca, &ca.issue("elsewhere.example", 2099), false).await;
    refuses(&run(serve(&format!("rediss://localhost:{port}"), &known)).await, &["localhost", "another name"]);
    let port = speaks_tls(&engine, &ca, &ca.issue("localhost", 2021), false).await;
    refuses(&run(serve(&format!("rediss://localhost:{port}"), &known)).await, &["localhost", "has expired"]);
    let port = speaks_tls(&engine, &ca, &ca.issue("localhost", 2099), false).await;
    // No authority that this machine trusts has signed it.
    refuses(
        &run(serve(&format!("rediss://localhost:{port}"), &[])).await,
        &["localhost", "not signed by an authority"],
    );
    let service = Service::start(serve(&format!("rediss://localhost:{port}"), &known)).await;
    assert_eq!(Client::new(service.url()).get("/readyz").await.status, 200);
}

#[tokio::test]
async fn expired_certificate_is_logged_and_its_successor_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let ca = CertificateAuthority::new(folder.path(), "ours");
    let file = ca.ca_file();
    let good = ca.issue("localhost", 2099);
    let port = speaks_tls(&engine, &ca, &good, false).await;
    let service = Service::start(serve(&format!("rediss://localhost:{port}"), &[("--redis-ca-file", &*file)])).await;
    let client = Client::new(service.url());
    client.enqueue(1).await;

    let set = async |pair: &CertifiedKey| {
        let mut command = redis::cmd("CONFIG");
        command.arg("SET").arg("tls-cert-file").arg(pair.certificate.as_os_str().as_encoded_bytes());
        command.arg("tls-key-file").arg(pair.key.as_os_str().as_encoded_bytes());
        let _: String = engine.query(&command).await;
        let _: u64 = engine.run("CLIENT KILL TYPE normal SKIPME yes").await;
    };
    set(&ca.issue("localhost", 2021)).await;
    let logged = async || service.output().contains("has expired").then_some(());
    eventually("the log names it", logged).await;
    assert_eq!(client.get("/readyz").await.status, 503);
    set(&good).await;
    eventually("Redis is back", async || (client.get("/readyz").await.status == 200).then_some(())).await;
    client.enqueue(2).await;
}

#[tokio::test]
async fn invalid_tls_file_is_refused_without_its_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = CertificateAuthority::new(folder.path(), "ours");
    let (pair, file) = (ca.issue("desk", 2099), folder.path().join("text"));
    fs::write(&file, "not a certificate, and secret").expect("written");
    let url = "rediss://127.0.0.1:1";
    for (flags, words) in [
        (vec![("--redis-ca-file", &*file)], vec!["--redis-ca-file", "no certificate"]),
        (vec![("--redis-cert-file", &*pair.certificate), ("--redis-key-file", &*file)], vec!["no private key"]),
        (vec![("--redis-cert-file", &*pair.key), ("--redis-key-file", &*pair.key)], vec!["no certificate"]),
        (vec![("--redis-cert-file", &*pair.certificate)], vec!["--redis-key-file"]),
    ] {
        let end = run(serve(url, &flags)).await;
        assert!(!end.status.success() && !end.stderr.contains("and secret"), "{end:?}");
        assert!(words.iter().all(|word| end.stderr.contains(word)), "{words:?}: {end:?}");
    }
    let ca = ca.ca_file();
    refuses(&run(serve("redis://127.0.0.1:1", &[("--redis-ca-file", &*ca)])).await, &["rediss://"]);
    let end = run(serve("rediss://127.0.0.1:1/#insecure", &[])).await;
    assert!(!end.status.success() && end.stderr.contains("--redis-ca-file"), "{end:?}");
}

#[tokio::test]
async fn move_to_a_redis_over_tls_checks_its_certificate() {
    let (folder, w) = (tempfile::tempdir().expect("a folder"), World::start().await);
    let engine = Engine::start(folder.path(), false).await;
    let ca = CertificateAuthority::new(folder.path(), "ours");
    let (server, desk, known) = (ca.issue("localhost", 2099), ca.issue("desk", 2099), ca.ca_file());
    let url = format!("rediss://localhost:{}", speaks_tls(&engine, &ca, &server, true).await);
    w.enqueue(1).await;
    let held = w.reserve().await;
    let moving = |to: &str, files: &[(&str, &Path)]| {
        run(with_files(program(["move", "--redis-url", &w.engine.url(), "--to", to]), files))
    };
    let all = [("--to-ca-file", &*known), ("--to-cert-file", &*desk.certificate), ("--to-key-file", &*desk.key)];
    refuses(&moving(&url, &[]).await, &["localhost", "--to-ca-file", "nothing was moved"]);
    refuses(&moving("redis://localhost:1", &all).await, &["--to-ca-file", "rediss://"]);
    w.extend(&held).await.is(200);
    let end = moving(&url, &all).await;
    assert!(end.status.success() && end.stdout.contains(&url), "{end:?}");
    assert_eq!(engine.run::<u64>("HLEN intray:{default}:2:jobs").await, 1);
}
