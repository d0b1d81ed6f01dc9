//! The documented backups of a separate Redis, in a container too, and of a cluster.

use std::{fs, path::Path, process::Stdio};

use serde_json::json;

use super::{
    backup::{Load, PAGE, all_is_there, folder, printed, serving},
    documented_calls::shell,
};
use crate::world::{ChildProcess, Engine, NodeSettings, eventually, free_port, server_program, tool};

/// The page names Valkey's programs.
fn as_installed(script: &str) -> String {
    let is_valkey = server_program().ends_with("valkey-server");
    if is_valkey { script.to_owned() } else { script.replace("valkey-", "redis-") }
}

async fn put_in_place(folder: &Path) {
    let block = printed("A Redis of yours", "mkdir");
    shell(block.split_once("\nvalkey-server ").expect("where it is started").0, folder).await;
}

/// The line of the page, with a socket in place of its port.
async fn restored_server(folder: &Path, port: u16) -> (ChildProcess, String) {
    let block = printed("A Redis of yours", "mkdir");
    let line = block.lines().find_map(|line| line.strip_prefix("valkey-server ")).expect("where it is started");
    let socket = folder.join("restored.sock");
    let mut command = tool(server_program());
    command.args(line.replace("6379", &port.to_string()).split_whitespace().map(|word| word.trim_matches('"')));
    command.arg("--unixsocket").arg(&socket).current_dir(folder).stdout(Stdio::null());
    let server = ChildProcess::spawn(command);
    let url = format!("unix://{}", socket.display());
    let client = redis::Client::open(&*url).expect("a URL");
    eventually("the restored server has loaded", async || {
        let mut connection = client.get_multiplexed_async_connection().await.ok()?;
        redis::cmd("PING").query_async::<String>(&mut connection).await.ok()
    })
    .await;
    (server, url)
}

#[tokio::test]
async fn backup_of_an_own_redis_restores_every_job_once() {
    let folder = folder();
    fs::create_dir(folder.path().join("redis")).expect("a folder");
    let engine = Engine::start(&folder.path().join("redis"), true).await;
    let (_service, client) = serving(&["--redis-url", &engine.url()], folder.path()).await;
    client.update_settings(json!({ "lease_ms": 3_600_000 })).await;
    client.enqueue("held").await;
    let held = client.reserve_as("ann").await;
    let load = Load::on(&client);
    load.grows().await;
    let before = load.so_far();
    let there = format!("-s {}", engine.socket().display());
    let dump = printed("A Redis of yours", "valkey-cli").replace("-h 127.0.0.1 -p 6379", &there);
    shell(&as_installed(&dump), folder.path()).await;
    load.ends().await;
    put_in_place(folder.path()).await;
    let (mut server, url) = restored_server(folder.path(), 0).await;
    let (service, client) = serving(&["--redis-url", &url], folder.path()).await;
    all_is_there(&client, &before, &held).await;
    drop(service);
    // Once more in place, under a running server, as compose and Kubernetes do.
    for heading in ["Compose", "Kubernetes"] {
        let part = PAGE.split(&format!("\n## {heading}\n")).nth(1).expect("a heading");
        let script =
            part.split("sh -euc '").nth(1).and_then(|rest| rest.split("' < intray.rdb").next()).expect("a script");
        let script = script.replace("cd /data", "cd restored-redis");
        shell(&format!("rm -rf restored-redis/before; sh -euc '{script}' < intray.rdb"), folder.path()).await;
        server.signal(libc::SIGTERM);
        eventually("it has ended", async || server.child().try_wait().expect("our child")).await;
        let (again, url) = restored_server(folder.path(), 0).await;
        server = again;
        let (_service, client) = serving(&["--redis-url", &url], folder.path()).await;
        all_is_there(&client, &before, &held).await;
    }
}

#[tokio::test]
async fn backup_of_a_cluster_restores_every_queue_into_another() {
    let folder = folder();
    let cluster = async |name: &str| {
        fs::create_dir(folder.path().join(name)).expect("a folder");
        Engine::start_cluster(&folder.path().join(name), NodeSettings::with_defaults(true, 15_000)).await
    };
    let (old, new) = tokio::join!(cluster("old"), cluster("new"));
    let (_service, client) = serving(&["--redis-url", &old.url()], folder.path()).await;
    client.update_settings(json!({ "lease_ms": 3_600_000 })).await;
    for n in 0..12 {
        client.enqueue_with(json!({ "queue": format!("q{n}"), "payload": n })).await;
    }
    client.enqueue("held").await;
    let held = client.reserve_as("ann").await;
    let load = Load::on(&client);
    load.grows().await;
    let before = load.so_far();
    let import = PAGE.lines().find(|line| line.starts_with("valkey-cli --cluster import")).expect("it is printed");
    for node in 0..old.node_count() {
        let dump = printed("A Redis of yours", "valkey-cli").replace("6379", &old.port_of(node).to_string());
        shell(&as_installed(&format!("rm -rf restored-redis; {dump}")), folder.path()).await;
        put_in_place(folder.path()).await;
        let port = free_port();
        let (_alone, _) = restored_server(folder.path(), port).await;
        let import = import.replace("7001", &new.port_of(1).to_string()).replace("6379", &port.to_string());
        shell(&as_installed(&import), folder.path()).await;
    }
    load.ends().await;
    let (_service, client) = serving(&["--redis-url", &new.url()], folder.path()).await;
    all_is_there(&client, &before, &held).await;
    for n in 0..12 {
        let counts = client.get(&format!("/queues/q{n}")).await.is(200);
        assert_eq!(counts["counts"]["waiting"], 1, "{counts}");
    }
}
