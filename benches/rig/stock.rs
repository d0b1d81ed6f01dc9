//! Jobs that are there before it is measured.

use std::{cell::Cell, fmt::Write, time::Duration};

use super::{
    Rig,
    client::{Client, field, fields, payload},
};

/// As many as one call may put, take or settle.
pub const PUT: u64 = 1_000;
pub const TAKE: u64 = 100;

/// Numbers of cycles: none is given twice in a part, and those of the stock are below, so that no two payloads are equal.
pub struct Numbers(Cell<u64>);

impl Numbers {
    pub fn new() -> Self {
        Self(Cell::new(1 << 40))
    }

    pub fn next(&self) -> u64 {
        self.0.replace(self.0.get() + 1)
    }
}

/// Many enqueues in one call each. What a job has beside its queue and payload is said for each number, `"client":"a",`.
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

/// Takes until nothing is given, and at most so many. Answers with how many there were.
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

/// Takes as many as one call may and completes them with another. Answers with how many: after a call whose answer was lost
/// there may be none, until what it took is back.
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

/// So many calls at one time each on one connection: enqueue all, reserve all, complete all. After each the moment is each_done.
pub async fn calls(rig: &Rig, queue: &str, numbers: &[u64], also: impl Fn(u64) -> String, mut each_done: impl FnMut()) {
    let mut client = rig.client().await;
    for &n in numbers {
        client.post("/jobs", &format!(r#"{{"queue":"{queue}",{}"payload":{}}}"#, also(n), payload(n))).await;
    }
    each_done();
    let mut reserved = Vec::with_capacity(numbers.len());
    for _ in numbers {
        let job = client.post("/jobs/reserve", &format!(r#"{{"queues":["{queue}"]}}"#)).await;
        reserved.push(field(job, "reservation").to_owned());
    }
    each_done();
    for reservation in reserved {
        client.post("/jobs/complete", &format!(r#"{{"reservation":"{reservation}"}}"#)).await;
    }
    each_done();
}
