//! Day sheets: what each worker did per day, of the queues that are set to keep them. The tally is a reader of the event stream: no call
//! that changes jobs knows of it. Every instance counts; the script that moves the cursor lets one of them win.

mod count;
mod erase;
mod read;
mod recent;
mod tally;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::recent::RecentRead;
pub use self::{
    erase::{ErasedName, ForgetOutcome},
    read::{SheetLine, WorkerDays},
};
use crate::{
    job::{Day, Millis, QueueName, chance::between},
    store::{Fault, Queues, SheetHead, SheetState},
};

/// How often the events of each queue are counted. Reads count before they answer.
const EVERY_MS: u64 = 10_000;
/// Queues at the same time.
const MAX_VISITS: usize = 16;

/// The day sheets of all queues. A cheap handle.
#[derive(Clone)]
pub struct Sheets {
    queues: Queues,
    recent_read: RecentRead,
}

/// The sheets of a queue at a time.
#[derive(Debug)]
pub struct SheetBook {
    pub state: SheetState,
    pub head: SheetHead,
    /// Why not all events until now are counted.
    pub incomplete: Option<Fault>,
}

impl SheetBook {
    /// Events until then are counted.
    pub fn until(&self) -> Millis {
        if self.incomplete.is_none() { self.state.now } else { Millis(self.state.cursor.position.ms) }
    }

    pub fn today(&self) -> Day {
        self.state.zone.day_of(self.state.now)
    }
}

impl Sheets {
    pub fn new(queues: Queues) -> Self {
        Self { queues, recent_read: RecentRead::default() }
    }

    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Counts the events of all queues that keep sheets, and removes old days, until it is stopped. The sweep says which queues these
    /// are.
    pub async fn run(self, stop: CancellationToken) {
        let pause = || Duration::from_millis(between(EVERY_MS - EVERY_MS / 10, EVERY_MS + EVERY_MS / 10));
        while stop.run_until_cancelled(tokio::time::sleep(pause())).await.is_some() {
            if stop.run_until_cancelled(self.round()).await.is_none() {
                return;
            }
        }
    }

    async fn round(&self) {
        for some in self.queues.with_sheets().chunks(MAX_VISITS) {
            futures_util::future::join_all(some.iter().map(|queue| self.visit(queue))).await;
        }
    }

    /// One visit of the background task. What fails is tried again at the next one.
    async fn visit(&self, queue: &QueueName) {
        let counted = async {
            let Some(book) = self.open(queue).await? else { return Ok(()) };
            self.remove_old(queue, &book).await
        };
        if let Err(fault @ Fault::Broken(_)) = counted.await {
            self.log_failure(queue, &fault);
        }
    }

    pub(crate) fn log_failure(&self, queue: &QueueName, fault: &Fault) {
        self.queues.log_failure(sheets_failed, "day sheets", format!("{queue}: {fault}"));
    }
}

fn sheets_failed(_: &'static str, fault: &str, times: u64) {
    tracing::error!(fault, times, "the day sheets of a queue cannot be kept");
}
