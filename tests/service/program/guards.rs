//! Empty or garbled credential files and settings: the service does not start, and an open service warns each time.
//! Byte order marks.

use std::{fs, process::Command};

use serde_json::json;

use crate::world::{Client, Exit, Service, World, access, authority::CertificateAuthority, program, run};

const MARK: &str = "\u{feff}";
/// Settings that guard calls; they are checked before Redis is contacted.
const GUARDS: [&str; 6] = [
    "INTRAY_KEYS_FILE",
    "INTRAY_JWKS_FILE",
    "INTRAY_TOKEN_SECRET",
    "INTRAY_TOKEN_SECRET_FILE",
    "INTRAY_TLS_CERT_FILE",
    "INTRAY_TLS_KEY_FILE",
];

fn open(args: &[&str]) -> Command {
    let mut command =
        program(["serve", "--listen", "0.0.0.0:0", "--redis-url", "redis://127.0.0.1:1"].iter().chain(args));
    command.env("INTRAY_INSECURE", "true");
    command
}

#[track_caller]
fn refused(end: &Exit, words: &[&str]) {
    assert!(!end.status.success() && end.stderr.trim().lines().count() == 1, "{end:?}");
    assert!(words.iter().all(|word| end.stderr.contains(word)), "{words:?}: {end:?}");
}

#[tokio::test]
async fn empty_guards_are_refused_even_with_insecure() {
    for name in GUARDS {
        let mut command = open(&[]);
        command.env(name, "");
        refused(&run(command).await, &[name, "empty"]);
    }
    let mut check = program(["check", "--redis-url", "redis://127.0.0.1:1", "--listen", "0.0.0.0:0"]);
    check.env("INTRAY_KEYS_FILE", "").env("INTRAY_INSECURE", "true");
    let end = run(check).await;
    assert!(end.stdout.contains("wrong    listen: INTRAY_KEYS_FILE is set and empty"), "{end:?}");
}

#[tokio::test]
async fn garbled_guards_are_refused_even_with_insecure() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let utf16: Vec<u8> = b"\xff\xfe".iter().copied().chain("web".bytes().flat_map(|byte| [byte, 0])).collect();
    for (name, value, words) in [
        ("INTRAY_KEYS_FILE", file("empty", b""), "no key"),
        ("INTRAY_KEYS_FILE", file("blank", b" \r\n\n"), "no key"),
        ("INTRAY_KEYS_FILE", file("remarks", b"# nothing yet\n"), "no key"),
        ("INTRAY_KEYS_FILE", file("mark", MARK.as_bytes()), "no key"),
        ("INTRAY_KEYS_FILE", file("utf16", &utf16), "UTF-16"),
        ("INTRAY_TOKEN_SECRET_FILE", file("utf16", &utf16), "UTF-16"),
        ("INTRAY_TOKEN_SECRET_FILE", file("mark", MARK.as_bytes()), "no secret"),
        ("INTRAY_JWKS_FILE", file("empty", b""), "JSON Web Key Set"),
        ("INTRAY_JWKS_FILE", file("none", br#"{"keys":[]}"#), "no key"),
    ] {
        let mut command = open(&[]);
        command.env(name, &value);
        let end = run(command).await;
        assert!(!end.status.success() && end.stderr.contains(words), "{name} {value}: {end:?}");
    }
    for (name, value) in [("INTRAY_KEYS_FILE", "  "), ("INTRAY_TOKEN_SECRET", "  "), ("INTRAY_JWKS_FILE", "\n")] {
        let mut command = open(&[]);
        command.env(name, value);
        assert!(!run(command).await.status.success(), "{name}");
    }
    let mut command = open(&[]);
    command.env("INTRAY_TOKEN_SECRET", " ".repeat(40));
    assert!(run(command).await.stderr.contains("32 bytes"), "a blank secret is refused");
}

#[tokio::test]
async fn open_service_warns_at_each_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let serve = |listen: &str| {
        let data = folder.path().to_str().expect("UTF-8");
        let mut command = program(["serve", "--listen", listen, "--data-dir", data]);
        command.env("INTRAY_INSECURE", "true");
        command
    };
    let warnings = |log: &str| log.lines().filter(|line| line.contains("nothing guards the service")).count();
    for _ in 0..2 {
        let mut service = Service::start(serve("0.0.0.0:0")).await;
        assert_eq!(warnings(&service.output()), 1, "{}", service.output());
        service.signal(15);
        service.wait_for_exit().await;
    }
    let mut service = Service::start(serve("127.0.0.1:0")).await;
    assert_eq!(warnings(&service.output()), 0, "{}", service.output());
    service.signal(15);
    service.wait_for_exit().await;
    let mut check = program(["check", "--listen", "0.0.0.0:0", "--data-dir", folder.path().to_str().expect("UTF-8")]);
    check.env("INTRAY_INSECURE", "true");
    let end = run(check).await;
    assert!(end.stdout.contains("warning  listen: nothing guards the service"), "{end:?}");
}

#[tokio::test]
async fn byte_order_marks_in_files_are_ignored() {
    let w = World::start_process().await;
    let file = |name: &str, text: &str| {
        let path = w.folder().join(name);
        fs::write(&path, format!("{MARK}{text}")).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let keys = file("keys", &format!("{}\n", access::keys_file_line("root", "operator", "*")));
    let (secret, url) = (file("secret", access::SECRET), file("url", &w.engine.url()));
    let jwks = file("jwks", include_str!("../../keys/jwks.json"));
    let pair = CertificateAuthority::new(w.folder(), "ca").issue("127.0.0.1", 2099);
    let cert = file("cert", &fs::read_to_string(pair.certificate).expect("a certificate"));
    let own = file("own", &fs::read_to_string(pair.key).expect("a key"));
    let args = ["--keys-file", &keys, "--token-secret-file", &secret, "--redis-url-file", &url, "--jwks-file", &jwks];
    let tls = ["--tls-cert-file", &cert, "--tls-key-file", &own];
    let mut service = Service::start(program(["serve", "--listen", "127.0.0.1:0"].iter().chain(&args))).await;
    let root = Client::new(service.url()).with_credential(&access::key("root"));
    root.get("/queues").await.is(200);
    let token = access::signed(access::SECRET, json!({}));
    root.with_credential(&token).get("/me").await.is(200);
    let key = file("key", &format!("{}\n", access::key("root")));
    let top = run(program(["top", "--once", "--url", service.url(), "--key-file", &key])).await;
    assert!(top.status.success(), "{top:?}");
    service.kill();
    let _https = Service::start(program(["serve", "--listen", "127.0.0.1:0"].iter().chain(&args).chain(&tls))).await;
}

#[tokio::test]
async fn byte_order_marks_in_bodies_are_ignored() {
    let w = World::start().await;
    let marked = |body: &str| format!("{MARK}{body}").into_bytes();
    w.post_text("/jobs", marked(r#"{"payload":1}"#)).await.is(201);
    w.post_text("/jobs", marked(r#"[{"payload":2},{"payload":3}]"#)).await.is(200);
    w.post_text("/jobs/reserve", marked("")).await.is(200);
    let held = w.reserve().await;
    let call = marked(&json!({ "reservation": held.reservation }).to_string());
    let beacon = w.request("POST", "/jobs/complete").header("content-type", "text/plain");
    beacon.body(call).send().await.is(200);
    w.request("PATCH", "/queues/default").json(marked(r#"{"paused":true}"#)).send().await.is(200);
    let utf16: Vec<u8> = b"\xff\xfe{\0}\0".to_vec();
    for (path, kind) in
        [("/jobs", "application/json"), ("/jobs", "application/x-ndjson"), ("/jobs/complete", "text/plain")]
    {
        let answer = w.request("POST", path).header("content-type", kind).body(utf16.clone()).send().await;
        assert!(answer.text().contains("UTF-16"), "{path} {kind}: {}", answer.text());
    }
}
