//! From the start of the process to ready, with a private server.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    numbers::percentile,
    rig::{SERVICE, process::resident, serving},
    size::Size,
    table::Table,
};

use super::Found;

pub async fn run(size: Size) -> Found {
    let (mut took, mut idle) = (Vec::new(), 0.0);
    for _ in 0..size.of(1, 10, 10) {
        let folder = tempfile::tempdir().expect("a folder");
        let start = Instant::now();
        let mut service = Command::new(&*SERVICE);
        service.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path()).env_remove("REDIS_URL");
        let (mut service, _) = serving(service.env("RUST_LOG", "warn"));
        took.push(start.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(Duration::from_millis(500)).await;
        idle = resident(service.id()) as f64 / 1e6;
        // A signal ends its private server too.
        let signal = Command::new("kill").args(["-TERM", &service.id().to_string()]).status();
        assert!(signal.expect("kill").success());
        service.wait().expect("it ends");
    }
    took.sort_by(f64::total_cmp);
    let program = std::fs::metadata(&*SERVICE).expect("the program").len() as f64 / 1e6;
    let mut table = Table::new(&["starts", "ready ms", "slowest ms", "idle MB", "program MB"]);
    table.row(took.len(), [percentile(&took, 0.5), percentile(&took, 1.0), idle, program]);
    Found::of(table)
}
