//! reserve: a worker takes the next jobs, or gets back what it holds.

mod answer;
mod request;
mod several;

pub use self::answer::Snapshot;
use intray_redis::{Args, Fault};

use self::{
    answer::{QueueAnswer, QueueLook, finish},
    request::{Mode, ReserveRequest},
};
use super::undo::Undo;
use crate::{
    job::{BatchId, JobId, LockName, Millis, Name, Priority, QueueName, Reason, Reservation, State, ids::Nonce},
    payload::Json,
    store::{handle::Queues, redis::read::Fields},
};

/// A reserve call. The queues are tried in this order.
#[derive(Debug, Clone)]
pub struct Reserve {
    pub queues: Vec<QueueName>,
    pub worker: Option<Name>,
    pub limit: u32,
    pub lease_ms: Option<u32>,
    pub nonce: Nonce,
    /// Only this job.
    pub id: Option<JobId>,
}

#[derive(Debug)]
pub enum ReserveOutcome {
    Jobs {
        jobs: Vec<Handout>,
        remaining: u64,
        now: Millis,
        undo: Undo,
        /// Queues that could not be asked, because their node is away.
        unavailable: Vec<QueueName>,
    },
    /// `passed_over`: this worker has skipped some of the waiting jobs, which another worker may take.
    Nothing {
        reason: Reason,
        retry_after_ms: u64,
        remaining: u64,
        now: Millis,
        passed_over: bool,
        unavailable: Vec<QueueName>,
    },
    UnknownJob,
    NotWaiting(State),
    QueuePaused,
    WorkerLimit,
}

/// A job with its reservation.
#[derive(Debug)]
pub struct Handout {
    pub reservation: Reservation,
    pub payload: Json,
    /// Counts from 1: hand-outs that ended in fail or expiry since the last requeue, plus this one.
    pub attempt: u32,
    pub deadline: Millis,
    /// Warn the holder this long before the deadline.
    pub warn_ms: u32,
    pub reserved_at: Millis,
    pub priority: Priority,
    pub client: Option<Name>,
    pub locks: Vec<LockName>,
    pub batch: Option<BatchId>,
    pub worker: Option<Name>,
    pub enqueued_at: Millis,
    /// How often the holder has resumed it.
    pub resumes: u32,
    /// The draft of its holder, or of any earlier holder where drafts are shared.
    pub draft: Option<Json>,
    pub traceparent: Option<String>,
}

impl Queues {
    /// Hands out jobs. A repeated call gets the same jobs again, and a worker at its limit gets those it holds.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reserve(&self, call: Reserve) -> Result<ReserveOutcome, Fault> {
        let batcher = &self.parts.batcher;
        if let Some(id) = &call.id {
            let answer = batcher.call(&id.queue, ReserveRequest::new(&call, Mode::Job(id.code), 1)).await?;
            return Ok(finish(vec![answer], Vec::new()));
        }
        if let [queue] = call.queues.as_slice() {
            let answer = batcher.call(queue, ReserveRequest::new(&call, Mode::Next, call.limit)).await?;
            return Ok(finish(vec![answer], Vec::new()));
        }
        // Boxed, to keep the future of the common case small.
        Box::pin(self.reserve_from_several(&call)).await
    }

    /// The state of a queue, as a caller without reservations sees it.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn snapshot(&self, queue: &QueueName) -> Result<Snapshot, Fault> {
        self.look_at(queue, None, Nonce::random()).await.map(|look| look.snapshot)
    }

    async fn look_at(&self, queue: &QueueName, worker: Option<&Name>, nonce: Nonce) -> Result<QueueLook, Fault> {
        let mut args = Args::default();
        args.push(worker.map_or("", Name::as_str)).push(nonce.as_bytes());
        QueueLook::read(Fields::of(&self.run_view("look", queue, &args).await?)?)
    }
}
