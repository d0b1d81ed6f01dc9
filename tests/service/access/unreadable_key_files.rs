//! The service keeps its keys while their file cannot be read, reads it again later, and still shuts down.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    program::crash::server_of,
    world::{Client, Engine, Service, Took, access, eventually, is_alive, program, run, shim, signal_process},
};

struct Guarded {
    service: Service,
    client: Client,
    keys: PathBuf,
    _engine: Engine,
    _folder: tempfile::TempDir,
}

/// A service that knows the operator `root`.
async fn guarded() -> Guarded {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let keys = folder.path().join("keys");
    fs::write(&keys, access::keys_file_line("root", "operator", "*")).expect("a file of keys");
    let url = format!("unix://{}", engine.socket().display());
    let listen = ["serve", "--listen", "127.0.0.1:0", "--redis-url", &url, "--keys-file"];
    let mut command = program(listen.iter().copied().chain([keys.to_str().expect("UTF-8")]));
    command.env("LD_PRELOAD", &*shim::DEAD_FILE).env("DEAD_FILE", &keys);
    let service = Service::start(command).await;
    let client = Client::new(service.url());
    Guarded { service, client, keys, _engine: engine, _folder: folder }
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

fn sibling(keys: &Path, end: &str) -> PathBuf {
    keys.with_extension(end)
}

impl Guarded {
    async fn wait_for_log(&self, words: &str) {
        eventually(words, async || self.service.output().contains(words).then_some(())).await;
    }

    async fn accepts_key(&self, name: &str) {
        let client = self.client.with_credential(&access::key(name));
        eventually(name, async || (client.get("/queues").await.status == 200).then_some(())).await;
    }

    async fn shuts_down_in_time(&mut self) {
        let begin = Instant::now();
        self.service.signal(libc::SIGTERM);
        assert!(self.service.wait_for_exit().await.success());
        Took::since(begin).assert_within(Duration::from_secs(15), "a service ends within 10 s");
    }
}

#[tokio::test]
async fn keys_file_replaced_by_a_pipe_keeps_the_old_keys() {
    let mut w = guarded().await;
    fs::remove_file(&w.keys).expect("ours");
    pipe(&w.keys);
    w.wait_for_log("not a regular file").await;
    w.accepts_key("root").await;
    fs::remove_file(&w.keys).expect("ours");
    fs::write(&w.keys, access::keys_file_line("next", "operator", "*")).expect("a file of keys");
    w.accepts_key("next").await;
    fs::remove_file(&w.keys).expect("ours");
    pipe(&w.keys);
    w.shuts_down_in_time().await;
}

#[tokio::test]
async fn keys_file_on_a_hung_disk_is_logged_and_reread_later() {
    let mut w = guarded().await;
    fs::write(sibling(&w.keys, "dead"), "").expect("written");
    fs::write(&w.keys, access::keys_file_line("next", "operator", "*")).expect("a file of keys");
    w.wait_for_log("takes more than 5 s").await;
    w.accepts_key("root").await;
    fs::remove_file(sibling(&w.keys, "dead")).expect("ours");
    w.accepts_key("next").await;

    fs::remove_file(sibling(&w.keys, "asked")).expect("asked before");
    fs::write(sibling(&w.keys, "dead"), "").expect("written");
    eventually("the service reads the file", async || sibling(&w.keys, "asked").exists().then_some(())).await;
    w.shuts_down_in_time().await;
}

#[tokio::test]
async fn start_is_refused_when_a_credential_file_is_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("pipe");
    pipe(&place);
    for flag in ["--keys-file", "--webhooks-file", "--jwks-file", "--token-secret-file", "--redis-url-file"] {
        let args = ["serve", "--listen", "127.0.0.1:0", "--redis-url", "redis://127.0.0.1:1", flag];
        let end = run(program(args.iter().copied().chain([place.to_str().expect("UTF-8")]))).await;
        assert!(!end.status.success() && end.stderr.contains("not a regular file"), "{flag}: {end:?}");
    }
}

/// The private server may be killed, because its file holds everything that it acknowledged.
#[tokio::test]
async fn shutdown_kills_a_hung_private_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("UTF-8");
    let mut service = Service::start(program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data])).await;
    let id = Client::new(service.url()).enqueue(1).await;
    let server = server_of(folder.path()).await;
    signal_process(server, libc::SIGSTOP);
    let begin = Instant::now();
    service.signal(libc::SIGTERM);
    assert!(service.wait_for_exit().await.success());
    Took::since(begin).assert_within(Duration::from_secs(15), "a service ends within 10 s");
    eventually("the server is gone", async || (!is_alive(server)).then_some(())).await;
    let service = Service::start(program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data])).await;
    assert_eq!(Client::new(service.url()).state(&id).await, "waiting");
}
