//! Who is at work, and who waits for some.

use serde::Serialize;

use super::{Displayed, HeldJobBody, Rfc3339, name, queue_names};
use crate::{job::Millis, store, waiting::WaitInfo};

#[derive(Serialize)]
pub struct WorkersBody<'a> {
    held: Vec<HeldBody<'a>>,
    next: Option<Displayed<&'a store::Cursor>>,
    waiting: Vec<WaiterBody<'a>>,
    waiting_total: usize,
    /// `null` where there is no queue to ask.
    server_time: Option<Rfc3339>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<&'a str>,
}

#[derive(Serialize)]
struct HeldBody<'a> {
    worker: Option<&'a str>,
    queue: &'a str,
    #[serde(flatten)]
    job: HeldJobBody<'a>,
}

#[derive(Serialize)]
struct WaiterBody<'a> {
    worker: Option<&'a str>,
    queues: Vec<&'a str>,
    waited_ms: u64,
}

impl<'a> WorkersBody<'a> {
    pub fn new(page: &'a store::DeadlinePage, waiters: &'a [WaitInfo], waiting_total: usize) -> Self {
        let waiter = |waits: &'a WaitInfo| WaiterBody {
            worker: name(waits.worker.as_ref()),
            queues: queue_names(&waits.queues),
            waited_ms: u64::try_from(waits.waited.as_millis()).unwrap_or(u64::MAX),
        };
        let now = page.now.unwrap_or(Millis(0));
        let held = |held: &'a store::Held| HeldBody {
            worker: name(held.worker.as_ref()),
            queue: held.id.queue.as_str(),
            job: HeldJobBody::new(held, now),
        };
        Self {
            held: page.held.iter().map(held).collect(),
            next: page.next.as_ref().map(Displayed),
            waiting: waiters.iter().map(waiter).collect(),
            waiting_total,
            server_time: page.now.map(Rfc3339::from),
            unavailable: queue_names(&page.unavailable),
        }
    }
}
