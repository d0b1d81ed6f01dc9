//! webdis runs the same minimal scripts over HTTP.

use std::process::Command;

use super::{super::crowd, Server, free, listening, raw::Scripts};
use crate::rig::{
    client::{Client, payload},
    engine::Engine,
};

pub fn start(engine: &Engine) -> Option<Server> {
    let address = free();
    let settings = engine.folder().join("webdis.json");
    let config = serde_json::json!({
        "redis_host": engine.socket(),
        "http_host": "127.0.0.1",
        "http_port": address.port(),
        "threads": 2,
        "daemonize": false,
        "database": 0,
        "verbosity": 0,
        "logfile": "/dev/null",
    });
    std::fs::write(&settings, config.to_string()).expect("settings");
    listening(Command::new("webdis").arg(settings), address)
}

pub struct Caller {
    client: Client,
    scripts: Scripts,
}

impl Caller {
    pub fn new(client: Client, scripts: &Scripts) -> Self {
        Self { client, scripts: scripts.clone() }
    }
}

impl crowd::Caller for Caller {
    async fn cycle(&mut self, n: u64) {
        let Scripts { put, take, finish } = &self.scripts;
        self.client.post("/", &format!("EVALSHA/{put}/1/bare:inbound/{n}/{}", payload(n))).await;
        // In Redis's protocol: a length, and the job.
        let answer = self.client.post("/", &format!("EVALSHA/{take}/2/bare:inbound/bare:reserved/{n}.raw")).await;
        let job = answer.lines().nth(1).expect("a job");
        let done = format!("EVALSHA/{finish}/1/bare:reserved/{job}");
        let answer = self.client.post("/", &done).await;
        assert!(answer.contains(":1"), "{answer}");
    }
}
