//! A single sentinel that names the Redis of a world.

use std::{fs, process::Stdio};

use super::{
    Engine,
    children::{ChildProcess, free_port, tool},
    engine::server_program,
    eventually,
};

/// A variable that makes every world's Redis one behind a sentinel: `make test-sentinel`.
pub const SENTINEL_VARIABLE: &str = "INTRAY_STORIES_BEHIND_A_SENTINEL";
const PRIMARY_NAME: &str = "jobs";
/// Longer than any test freezes Redis: there is no replica for a failover.
const DOWN_AFTER_MS: u64 = 3_600_000;

/// One sentinel, which knows where the Redis of a world is.
pub struct LoneSentinel {
    port: u16,
    _process: ChildProcess,
}

impl LoneSentinel {
    pub async fn start(engine: &mut Engine) -> Self {
        let redis = eventually("a port", async || {
            let port = free_port();
            engine.open_port(port).await.then_some(port)
        })
        .await;
        let (port, folder) = (free_port(), engine.folder().join("sentinel"));
        fs::create_dir(&folder).expect("a folder");
        let lines = [
            format!("port {port}"),
            format!("dir {}", folder.display()),
            format!("sentinel monitor {PRIMARY_NAME} 127.0.0.1 {redis} 1"),
            format!("sentinel down-after-milliseconds {PRIMARY_NAME} {DOWN_AFTER_MS}"),
        ];
        let file = folder.join("sentinel.conf");
        fs::write(&file, lines.join("\n") + "\n").expect("written");
        let mut command = tool(server_program());
        command.arg(&file).arg("--sentinel").stdout(Stdio::null()).stderr(Stdio::null());
        let watcher = Self { port, _process: ChildProcess::spawn(command) };
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("a URL");
        eventually("the sentinel answers", async || client.get_multiplexed_async_connection().await.ok()).await;
        watcher
    }

    pub fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/{PRIMARY_NAME}", self.port)
    }
}
