//! The memory that remains in Redis after jobs are ended and removed: enqueued, reserved and completed in bulk, in a
//! queue with the shortest retention.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use futures_util::future::join_all;

use crate::{
    rig::{
        Rig,
        stock::{PUT, TAKE, many, settle},
    },
    size::Size,
    table::Table,
};

use super::Found;

const LATEST: Duration = Duration::from_secs(300);
const CONNECTIONS: usize = 8;

pub async fn run(size: Size) -> Found {
    let (rig, count) = (Rig::start(), size.of(5_000, 300_000, 1_000_000));
    let mut client = rig.client().await;
    client.request("PATCH", "/queues/through", r#"{"retention_ms":10000}"#).await;
    // The first turn adds what stays: the library, the retained events.
    work(&rig, count / 10, 0).await;
    forgotten(&rig).await;
    let before = rig.engine.used_memory() as f64;
    let start = Instant::now();
    work(&rig, count, count).await;
    let took = start.elapsed().as_secs_f64();
    let peak = rig.engine.used_memory() as f64;
    forgotten(&rig).await;
    let after = rig.engine.used_memory() as f64;
    let mut table =
        Table::new(&["jobs through", "jobs/s", "MB before", "MB at the end", "MB when forgotten", "bytes a job left"]);
    table.row(
        count,
        [count as f64 / took, before / 1e6, peak / 1e6, after / 1e6, (after - before).max(0.0) / count as f64],
    );
    Found::of(table)
}

async fn work(rig: &Rig, count: u64, from: u64) {
    let next = Cell::new(from);
    let one = || async {
        let mut client = rig.client().await;
        loop {
            let at = next.replace(next.get() + PUT);
            if at >= from + count {
                return;
            }
            client.post("/jobs", &many("through", at..at + PUT, |_| String::new())).await;
            let mut left = PUT;
            // Others reserve too, and may leave fewer jobs.
            for _ in 0..2 * PUT / TAKE {
                if left > 0 {
                    left = left.saturating_sub(settle(&mut client, "through").await);
                }
            }
        }
    };
    join_all((0..CONNECTIONS).map(|_| one())).await;
}

/// Until no ended job is left; a timeout is reported in the figures.
async fn forgotten(rig: &Rig) {
    let (mut client, start) = (rig.client().await, Instant::now());
    while !client.request("GET", "/queues/through", "").await.contains(r#""completed":0"#) {
        if start.elapsed() > LATEST {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}
