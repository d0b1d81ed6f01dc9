//! The memory of a waiting job in Redis, by its own count.

use std::process::Command;

use super::{
    crowd::{Crowd, Shape},
    redis::patiently,
    server::{Form, Server},
};

const JOBS: u64 = 20_000;

/// Bytes, for a job with a payload of 200.
pub async fn of_a_waiting_job(engine: &str) -> f64 {
    patiently(async || {
        let server = Server::start(Command::new(engine), Form::Preferred);
        // Buffers of the file would be counted too.
        server.ask("CONFIG SET appendonly no");
        let shape = Shape { calls: 100, waiting: 100, is_named: false };
        let mut crowd = Crowd::ready(&server.queues().await, shape).await?;
        let before = used(&server);
        for _ in 0..JOBS / shape.calls {
            crowd.enqueue(shape.calls).await?;
        }
        Ok((used(&server) - before) / JOBS as f64)
    })
    .await
}

fn used(server: &Server) -> f64 {
    let info = server.ask("INFO memory");
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    line.and_then(|value| value.trim().parse().ok()).expect("used_memory")
}
