//! BullMQ in a Node process that is producer and worker at once: no client and no HTTP.

use std::{path::PathBuf, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use super::{
    super::{
        crowd::{Sample, Span},
        meter::Meter,
    },
    CONNECTIONS,
};
use crate::rig::engine::Engine;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/compare/yardsticks/bullmq"))
}

/// `scripts/yardsticks.sh` installs it.
pub fn is_here() -> bool {
    folder().join("node_modules/bullmq").is_dir()
}

/// `None` when Node failed.
pub async fn round(engine: &Engine, span: Span) -> Option<Sample> {
    let mut node = Command::new("node");
    node.arg(folder().join("cycle.mjs")).arg(engine.socket()).arg(CONNECTIONS.to_string());
    node.args([span.warm_up, span.measured].map(|time| time.as_millis().to_string()));
    let mut node = node.stdout(Stdio::piped()).kill_on_drop(true).spawn().ok()?;
    let mut lines = BufReader::new(node.stdout.take()?).lines();
    let meter = Meter { server: node.id(), engine: Some(engine) };
    lines.next_line().await.ok()??;
    let before = meter.read();
    let latencies = lines.next_line().await.ok()??;
    let used = meter.since(&before);
    Some(Sample::new(&used, serde_json::from_str(&latencies).ok()?))
}
