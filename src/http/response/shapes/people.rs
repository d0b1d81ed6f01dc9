//! Who is at work, and who waits for some.

use serde::Serialize;

use super::{HeldJob, Text, Time, name, named};
use crate::{job::Millis, store, waiting::WaitInfo};

#[derive(Serialize)]
pub struct People<'a> {
    held: Vec<Held<'a>>,
    next: Option<Text<&'a store::Cursor>>,
    waiting: Vec<Waiter<'a>>,
    waiting_total: usize,
    /// `null` where there is no queue to ask.
    server_time: Option<Time>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<&'a str>,
}

#[derive(Serialize)]
struct Held<'a> {
    worker: Option<&'a str>,
    queue: &'a str,
    #[serde(flatten)]
    job: HeldJob<'a>,
}

#[derive(Serialize)]
struct Waiter<'a> {
    worker: Option<&'a str>,
    queues: Vec<&'a str>,
    waited_ms: u64,
}

impl<'a> People<'a> {
    pub fn new(page: &'a store::DeadlinePage, waiters: &'a [WaitInfo], waiting_total: usize) -> Self {
        let waiter = |waits: &'a WaitInfo| Waiter {
            worker: name(waits.worker.as_ref()),
            queues: named(&waits.queues),
            waited_ms: u64::try_from(waits.waited.as_millis()).unwrap_or(u64::MAX),
        };
        let now = page.now.unwrap_or(Millis(0));
        let held = |held: &'a store::Held| Held {
            worker: name(held.worker.as_ref()),
            queue: held.id.queue.as_str(),
            job: HeldJob::new(held, now),
        };
        Self {
            held: page.held.iter().map(held).collect(),
            next: page.next.as_ref().map(Text),
            waiting: waiters.iter().map(waiter).collect(),
            waiting_total,
            server_time: page.now.map(Time::from),
            unavailable: named(&page.unavailable),
        }
    }
}
