//! Jobs that exist before a measurement.

use std::{cell::Cell, fmt::Write, time::Duration};

use super::{
    Rig,
    client::{Client, field, fields, payload},
};

/// The maximum number of jobs in one call.
pub const PUT: u64 = 1_000;
pub const TAKE: u64 = 100;

/// Numbers of cycles: unique within a part, above those of the stock, so that no two payloads are equal.
pub struct Numbers(Cell<u64>);

impl Numbers {
    pub fn new() -> Self {
        Self(Cell::new(1 << 40))
    }

    pub fn next(&self) -> u64 {
        self.0.replace(self.0.get() + 1)
    }
}

/// Enqueues many jobs per call. `also` adds fields for each number, `"client":"a",`.
pub async fn fill(rig: &Rig, queue: &str, count: u64, also: impl Fn(u64) -> String) {
    let mut client = rig.client().await;
    for start in (0..count).step_by(PUT as usize) {
        client.post("/jobs", &many(queue, start..(start + PUT).min(count), &also)).await;
    }
}

pub fn many(queue: &str, numbers: std::ops::Range<u64>, also: impl Fn(u64) -> String) -> String {
    let mut body = String::from("[");
    for n in numbers {
        let comma = if body.len() > 1 { "," } else { "" };
        write!(body, r#"{comma}{{"queue":"{queue}",{}"payload":{}}}"#, also(n), payload(n)).expect("memory");
    }
    body + "]"
}

/// Reserves until no job is left, at most so many. Returns the number.
pub async fn take(rig: &Rig, queue: &str, count: u64, lease_ms: u64) -> u64 {
    let mut client = rig.client().await;
    let mut taken = 0;
    while taken < count {
        let limit = TAKE.min(count - taken);
        let ask = format!(r#"{{"queues":["{queue}"],"limit":{limit},"lease_ms":{lease_ms}}}"#);
        let given = fields(client.post("/jobs/reserve", &ask).await, "reservation").count() as u64;
        if given == 0 {
            break;
        }
        taken += given;
    }
    taken
}

/// Reserves the maximum of one call and completes them with another. Returns the number: none after a lost answer, until
/// the leases expire.
pub async fn settle(client: &mut Client, queue: &str) -> u64 {
    let ask = format!(r#"{{"queues":["{queue}"],"limit":{TAKE}}}"#);
    let jobs = client.post("/jobs/reserve", &ask).await;
    let done: Vec<_> = fields(jobs, "reservation").map(|id| format!(r#"{{"reservation":"{id}"}}"#)).collect();
    match done.is_empty() {
        true => tokio::time::sleep(Duration::from_millis(50)).await,
        false => {
            client.post("/jobs/complete", &format!("[{}]", done.join(","))).await;
        }
    }
    done.len() as u64
}

/// So many concurrent calls, each on its own connection: enqueue all, reserve all, complete all. Calls `mark` after
/// each phase.
pub async fn calls(rig: &Rig, queue: &str, numbers: &[u64], also: impl Fn(u64) -> String, mut mark: impl FnMut()) {
    let mut client = rig.client().await;
    for &n in numbers {
        client.post("/jobs", &format!(r#"{{"queue":"{queue}",{}"payload":{}}}"#, also(n), payload(n))).await;
    }
    mark();
    let mut reserved = Vec::with_capacity(numbers.len());
    for _ in numbers {
        let job = client.post("/jobs/reserve", &format!(r#"{{"queues":["{queue}"]}}"#)).await;
        reserved.push(field(job, "reservation").to_owned());
    }
    mark();
    for reservation in reserved {
        client.post("/jobs/complete", &format!(r#"{{"reservation":"{reservation}"}}"#)).await;
    }
    mark();
}
