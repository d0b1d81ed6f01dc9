//! reserve: a person takes the next job, or gets back what they hold.

mod ask;
mod parts;

pub use self::parts::Snapshot;
use intray_redis::{Applied, Args, Fault};

use self::{
    ask::{Ask, Mode},
    parts::{Look, Part, finish},
};
use super::undo::Undo;
use crate::{
    job::{BatchId, JobId, LockName, Millis, Name, Priority, QueueName, Reason, Reservation, State, ids::Nonce},
    payload::Json,
    store::{handle::Queues, redis::read::Fields},
};
use futures_util::future::BoxFuture;

/// What somebody asks for. The queues are looked at in order.
#[derive(Debug, Clone)]
pub struct Reserve {
    pub queues: Vec<QueueName>,
    pub worker: Option<Name>,
    pub limit: u32,
    pub lease_ms: Option<u32>,
    pub nonce: Nonce,
    /// This very job and no other.
    pub id: Option<JobId>,
}

#[derive(Debug)]
pub enum ReserveOutcome {
    Jobs {
        jobs: Vec<Handout>,
        remaining: u64,
        now: Millis,
        undo: Undo,
        /// Of the queues those that could not be asked: their node is away.
        unavailable: Vec<QueueName>,
    },
    /// `passed_over`: some of what is there this worker has skipped, and somebody else may have it.
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

/// One job in somebody's hands.
#[derive(Debug)]
pub struct Handout {
    pub reservation: Reservation,
    pub payload: Json,
    /// 1 for the first: hand-outs that ended in fail or expiry since the last requeue, and this one.
    pub attempt: u32,
    pub deadline: Millis,
    /// How long before the deadline its holder should be warned.
    pub warn_ms: u32,
    pub reserved_at: Millis,
    pub priority: Priority,
    pub client: Option<Name>,
    pub locks: Vec<LockName>,
    pub batch: Option<BatchId>,
    pub worker: Option<Name>,
    pub enqueued_at: Millis,
    /// How often its holder has come back for it.
    pub resumes: u32,
    /// What its holder, or with shared drafts anybody, has typed so far.
    pub draft: Option<Json>,
    pub traceparent: Option<String>,
}

impl Queues {
    /// Hands out jobs, or gives a worker at the limit the same ones again.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reserve(&self, call: Reserve) -> Result<ReserveOutcome, Fault> {
        if let Some(id) = &call.id {
            let part = self.ask(&call, &id.queue, Mode::This(id.code), 1).await?;
            return Ok(finish(vec![part], Vec::new()));
        }
        if let [queue] = call.queues.as_slice() {
            let part = self.ask(&call, queue, Mode::Next, call.limit).await?;
            return Ok(finish(vec![part], Vec::new()));
        }
        // What is rare lies apart, lest every call is as large.
        let many: BoxFuture<'_, _> = Box::pin(self.reserve_of_many(&call));
        many.await
    }

    /// Looks at all queues at once, then asks one after the other until one gives. Those whose node is away are named.
    async fn reserve_of_many(&self, call: &Reserve) -> Result<ReserveOutcome, Fault> {
        let (looks, away) = self.of_each(call.queues.iter().map(|queue| (queue, self.look_for(queue, call)))).await?;
        let (mut unavailable, mut faults): (Vec<_>, Vec<_>) = away.into_iter().unzip();
        if looks.iter().any(|(_, look)| look.replayed) {
            return self.replay(call, &looks).await.map(|parts| finish(parts, unavailable));
        }
        if looks.iter().any(|(_, look)| look.at_limit) {
            return self.resume(call, &looks).await.map(|parts| finish(parts, unavailable));
        }
        let mut parts = Vec::with_capacity(looks.len());
        for (queue, look) in looks {
            let given = parts.iter().any(|part: &Part| !part.jobs.is_empty());
            if given || !look.can_give {
                parts.push(look.nothing());
                continue;
            }
            match self.ask(call, &queue, Mode::Next, call.limit).await {
                Ok(part) => parts.push(part),
                // It has given nothing, so another may. Of one that may have given something nobody knows.
                Err(fault @ Fault::Unavailable { applied: Applied::No, .. }) if self.is_of_one_node(&fault) => {
                    unavailable.push(queue);
                    faults.push(fault);
                }
                Err(fault) => return Err(fault),
            }
        }
        match faults.pop() {
            Some(fault) if parts.is_empty() => Err(fault),
            _ => Ok(finish(parts, unavailable)),
        }
    }

    /// The same call again: the same jobs.
    async fn replay(&self, call: &Reserve, looks: &[(QueueName, Look)]) -> Result<Vec<Part>, Fault> {
        let asked = looks.iter().map(|(queue, look)| async move {
            match look.replayed {
                true => self.ask(call, queue, Mode::Resume, call.limit).await,
                false => Ok(look.nothing()),
            }
        });
        futures_util::future::try_join_all(asked).await
    }

    /// All that the worker holds in the queues, the oldest first, as many as were asked for.
    async fn resume(&self, call: &Reserve, looks: &[(QueueName, Look)]) -> Result<Vec<Part>, Fault> {
        let held = looks.iter().enumerate().flat_map(|(i, (_, look))| look.since.iter().map(move |&since| (since, i)));
        let mut held: Vec<_> = held.collect();
        held.sort_unstable();
        held.truncate(call.limit as usize);
        let asked = looks.iter().enumerate().map(|(i, (queue, look))| {
            let share = held.iter().filter(|(_, of)| *of == i).count() as u32;
            async move {
                if share > 0 {
                    return self.ask(call, queue, Mode::Resume, share).await;
                }
                Ok(look.nothing())
            }
        });
        futures_util::future::try_join_all(asked).await
    }

    async fn ask(&self, call: &Reserve, queue: &QueueName, mode: Mode, limit: u32) -> Result<Part, Fault> {
        let (worker, nonce) = (call.worker.clone(), call.nonce);
        self.go(queue, Ask { worker, nonce, limit, lease_ms: call.lease_ms, mode }).await
    }

    /// What a queue looks like to somebody who holds nothing of it.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn snapshot(&self, queue: &QueueName) -> Result<Snapshot, Fault> {
        self.look_as(queue, None, Nonce::random()).await.map(|look| look.snapshot)
    }

    async fn look_for(&self, queue: &QueueName, call: &Reserve) -> Result<Look, Fault> {
        self.look_as(queue, call.worker.as_ref(), call.nonce).await
    }

    async fn look_as(&self, queue: &QueueName, worker: Option<&Name>, nonce: Nonce) -> Result<Look, Fault> {
        let mut args = Args::default();
        args.push(worker.map_or("", Name::as_str)).push(nonce.as_bytes());
        Look::read(Fields::of(&self.look("look", queue, &args).await?)?)
    }
}
