//! A move from the private server to a cluster, with the jobs of a small company: every job is unchanged.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use redis::{Cmd, Value, aio::MultiplexedConnection};
use serde_json::json;

use crate::world::{Client, Engine, Service, World, keyspace::KEYS, move_process::MoveProcess, program, run};

const JOBS: usize = 100_000;
const AT_ONCE: usize = 1_000;

async fn all_of(kind: &str, key: &str, mut ask: impl AsyncFnMut(Cmd) -> Value) -> Vec<Value> {
    let mut command = match kind {
        "zset" => redis::cmd("ZRANGE"),
        "hash" => redis::cmd("HGETALL"),
        _ => redis::cmd("XRANGE"),
    };
    command.arg(key);
    match kind {
        "zset" => drop(command.arg(0).arg(-1).arg("WITHSCORES")),
        "hash" => {}
        _ => drop(command.arg("-").arg("+")),
    }
    match ask(command).await {
        Value::Array(parts) if kind == "stream" => parts,
        Value::Array(parts) => parts.chunks(2).map(|pair| Value::Array(pair.to_vec())).collect(),
        other => panic!("{key}: {other:?}"),
    }
}

/// The size of each key, and a digest of its entries in any order.
async fn digests(suffix: &str, mut ask: impl AsyncFnMut(Cmd) -> Value) -> BTreeMap<&'static str, (usize, u64)> {
    let mut found = BTreeMap::new();
    // The end of a lease is another time at the target.
    for (name, kind) in KEYS.into_iter().filter(|(name, _)| *name != "reserved") {
        let entries = all_of(kind, &format!("intray:{{default}}:2:{name}{suffix}"), &mut ask).await;
        let digest = |entry: &Value| {
            let mut hasher = DefaultHasher::new();
            format!("{entry:?}").hash(&mut hasher);
            hasher.finish()
        };
        found.insert(name, (entries.len(), entries.iter().map(digest).fold(0, u64::wrapping_add)));
    }
    found
}

async fn connected(data: &Path) -> MultiplexedConnection {
    let client = redis::Client::open(format!("unix://{}", data.join("redis.sock").display())).expect("a URL");
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await.expect("a connection")
}

async fn fill(client: &Client) {
    let payload = "x".repeat(180);
    for from in (0..JOBS).step_by(AT_ONCE) {
        let some = (from..from + AT_ONCE).map(|n| json!({ "payload": { "n": n, "text": payload } }));
        client.enqueue_many(some).await;
    }
}

async fn at(engine: &Engine) -> BTreeMap<&'static str, (usize, u64)> {
    digests("", async |command| engine.query(&command).await).await
}

#[tokio::test]
async fn move_of_100000_jobs_to_a_cluster_changes_none() {
    let there = World::start_cluster().await;
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let data = data.to_str().expect("UTF-8");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data];
    let service = Service::start(program(serve)).await;
    let client = Client::new(service.url());
    fill(&client).await;
    let held = client.reserve_all(json!({ "limit": 100, "worker": "ann" })).await;

    let lines = MoveProcess::start_with_flags(&["--data-dir", data, "--to", &there.engine.url()]).read_to_end();
    assert!(lines.iter().any(|line| line.contains("waiting until this is on disk")), "{lines:?}");
    assert!(lines.iter().any(|line| line == "default: moved"), "{lines:?}");
    let mut source = connected(Path::new(data)).await;
    let left = digests(":left", async |command| command.query_async(&mut source).await.expect("an answer")).await;
    assert_eq!(left["jobs"].0, JOBS);
    assert_eq!(at(&there.engine).await, left);

    for held in &held {
        there.complete(held).await.is(200);
    }
    client.extend(&held[0]).await.refused("unavailable");
    drop(service);
    let again = run(program(["move", "--data-dir", data, "--to", &there.engine.url()])).await;
    assert!(again.status.success() && again.stdout.contains("had already moved"), "{again:?}");
    let started = Service::try_start(program(serve)).await.err().expect("it does not start");
    let last = started.lines().last().expect("a line");
    assert!(last.contains(&format!("the queues have moved to {}", there.engine.url())), "{started}");
    there.check().await;
}
