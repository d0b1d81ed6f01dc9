//! A service that starts while its Redis is away serves unready until Redis comes, and then does all its work.

use std::{
    fs::{self, File},
    path::Path,
    process::Stdio,
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    webhooks::line,
    world::{ChildProcess, Client, eventually, free_port, program, receiver::Receiver, server_program, tool},
};

/// A service that is not ready yet, at a port that is known before.
struct EarlyService {
    process: ChildProcess,
    client: Client,
    folder: tempfile::TempDir,
}

impl EarlyService {
    fn start(redis_url: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listen = format!("127.0.0.1:{}", free_port());
        let mut command =
            program(["serve", "--listen", &listen, "--redis-url", redis_url, "--sweep-interval-ms", "50"]);
        let log = File::create(folder.path().join("log")).expect("a file");
        command.args(flags).stdout(log.try_clone().expect("a file")).stderr(log);
        Self { process: ChildProcess::spawn(command), client: Client::new(&format!("http://{listen}")), folder }
    }

    fn output(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("a log")
    }

    async fn wait_until_alive(&self) {
        eventually("it listens", async || {
            let answer = self.client.request("GET", "/livez").send_if_possible().await;
            answer.filter(|answer| answer.status == 200).map(|_| ())
        })
        .await;
    }

    async fn assert_serves_unready(&self) {
        self.wait_until_alive().await;
        let ready = self.client.get("/readyz?verbose").await;
        assert!(ready.status == 503 && ready.text().starts_with("redis: Redis does not answer"), "{}", ready.text());
        let answer = self.client.send_enqueue(json!({ "payload": 1 })).await;
        assert_eq!(answer.refused("unavailable")["applied"], false, "{}", self.output());
        self.client.post("/jobs/reserve", json!({ "queues": ["default"] })).await.refused("unavailable");
        assert!(!self.output().contains("intray is ready on"), "{}", self.output());
    }

    async fn wait_until_ready(&self) {
        let ready = async || (self.client.get("/readyz").await.status == 200).then_some(());
        eventually("it is ready", ready).await;
        eventually("it says so", async || self.output().contains("intray is ready on").then_some(())).await;
    }

    async fn assert_ends_with(&mut self, word: &str) {
        let end = eventually("it ends", async || self.process.child().try_wait().expect("our child")).await;
        assert!(!end.success(), "{end:?}");
        let output = self.output();
        let last = output.trim().lines().last().unwrap_or_default();
        assert!(last.starts_with("intray: ") && last.contains(word), "{output}");
    }
}

fn redis(port: u16, folder: &Path, flags: &[&str]) -> ChildProcess {
    let mut command = tool(server_program());
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--dir"]).arg(folder).args(flags);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    ChildProcess::spawn(command)
}

#[tokio::test]
async fn redis_that_comes_after_the_service_is_used_for_all_work() {
    let (port, receiver, folder) = (free_port(), Receiver::start().await, tempfile::tempdir().expect("a folder"));
    let webhooks = folder.path().join("webhooks");
    fs::write(&webhooks, line("shop", &receiver, "*", "all")).expect("written");
    let flags = ["--webhooks-file", webhooks.to_str().expect("UTF-8")];
    let service = EarlyService::start(&format!("redis://127.0.0.1:{port}"), &flags);
    service.assert_serves_unready().await;
    let faults = service.client.get("/metrics").await.text();
    assert!(faults.contains("intray_script_faults_total{script=\"start\"}"), "{faults}");

    let _redis = redis(port, folder.path(), &[]);
    service.wait_until_ready().await;
    let client = &service.client;
    let waiter = client.start_wait(json!({ "queues": ["default"], "worker": "ann" })).await;
    client.enqueue(1).await;
    client.complete(&waiter.job().await).await.is(200);
    receiver.wait_for(1).await;
    eventually("it sweeps", async || {
        let text = client.get("/metrics").await.text();
        text.lines().find_map(|line| line.strip_prefix("intray_sweep_duration_seconds_count ")?.parse::<u64>().ok())
    })
    .await;
    let text = client.get("/readyz?verbose").await.text();
    assert!(text.lines().all(|line| line.ends_with(": ok")), "{text}");
    let warned = service.output().matches("Redis is away: this instance serves unready until it comes").count();
    assert_eq!(warned, 1, "{}", service.output());
}

#[tokio::test]
async fn every_kind_of_absence_is_waited_for_and_can_be_ended() {
    for (url, place) in [
        ("redis://someuser:hunter2@127.0.0.1:1", "127.0.0.1:1"),
        ("unix:///nowhere/redis.sock?user=someuser&pass=hunter2", "/nowhere/redis.sock"),
        ("redis+cluster://127.0.0.1:1,127.0.0.1:2", "127.0.0.1"),
        ("redis+sentinel://127.0.0.1:1/jobs", "127.0.0.1:1"),
        ("redis://no-such-host.invalid", "no-such-host.invalid"),
    ] {
        let mut service = EarlyService::start(url, &[]);
        service.assert_serves_unready().await;
        let output = service.output();
        assert!(output.contains(place), "{output}");
        for word in ["hunter2", "someuser", "new object"] {
            assert!(!output.contains(word), "{word}: {output}");
        }
        service.process.signal(libc::SIGTERM);
        let end = eventually("it ends", async || service.process.child().try_wait().expect("our child")).await;
        assert!(end.success(), "{}", service.output());
    }
}

#[tokio::test]
async fn unfit_redis_that_comes_later_ends_the_service() {
    let unfit: [(&[&str], &str); 2] =
        [(&["--maxmemory-policy", "allkeys-lru"], "noeviction"), (&["--requirepass", "secret"], "password")];
    for (flags, word) in unfit {
        let (port, folder) = (free_port(), tempfile::tempdir().expect("a folder"));
        let mut service = EarlyService::start(&format!("redis://127.0.0.1:{port}"), &[]);
        service.assert_serves_unready().await;
        let _redis = redis(port, folder.path(), flags);
        service.assert_ends_with(word).await;
    }
}

/// The first answers of a Redis that reads its file.
#[tokio::test]
async fn redis_that_is_loading_is_waited_for() {
    let (port, folder) = (free_port(), tempfile::tempdir().expect("a folder"));
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a port");
    let loading = tokio::spawn(async move {
        let mut calls = tokio::task::JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            calls.spawn(async move {
                let mut read = [0; 4_096];
                while let Ok(length @ 1..) = stream.read(&mut read).await {
                    let commands = read[..length].windows(2).filter(|two| two[0] == b'*' && two[1].is_ascii_digit());
                    let answer = "-LOADING Redis is loading the dataset in memory\r\n".repeat(commands.count());
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    let service = EarlyService::start(&format!("redis://127.0.0.1:{port}"), &[]);
    service.assert_serves_unready().await;
    loading.abort();
    let _ = loading.await;
    let _redis = redis(port, folder.path(), &[]);
    service.wait_until_ready().await;
    service.client.enqueue(1).await;
}
