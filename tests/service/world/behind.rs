//! Worlds whose Redis is found by asking a sentinel.

use std::{
    fs,
    process::{Command, Stdio},
};

use super::{Engine, children::Tied, engine::program_of_engines, eventually, replica::free_port};

/// A variable that makes every world's Redis one behind a sentinel: `make test-sentinel`.
pub const EVERYWHERE: &str = "INTRAY_STORIES_BEHIND_A_SENTINEL";
const NAME: &str = "jobs";
/// Longer than anybody is frozen or gone: there is nobody who could take the place.
const PATIENT: u64 = 3_600_000;

/// One sentinel, which knows where the Redis of a world is.
pub struct Watcher {
    port: u16,
    _process: Tied,
}

impl Watcher {
    pub async fn of(engine: &mut Engine) -> Self {
        let redis = eventually("a port", async || {
            let port = free_port();
            engine.opens(port).await.then_some(port)
        })
        .await;
        let (port, folder) = (free_port(), engine.folder().join("sentinel"));
        fs::create_dir(&folder).expect("a folder");
        let lines = [
            format!("port {port}"),
            format!("dir {}", folder.display()),
            format!("sentinel monitor {NAME} 127.0.0.1 {redis} 1"),
            format!("sentinel down-after-milliseconds {NAME} {PATIENT}"),
        ];
        let file = folder.join("sentinel.conf");
        fs::write(&file, lines.join("\n") + "\n").expect("written");
        let mut command = Command::new(program_of_engines());
        command.arg(&file).arg("--sentinel").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let watcher = Self { port, _process: Tied::spawn(command) };
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("a URL");
        eventually("the sentinel answers", async || client.get_multiplexed_async_connection().await.ok()).await;
        watcher
    }

    pub fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/{NAME}", self.port)
    }
}
