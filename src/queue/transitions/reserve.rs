//! reserve: a person takes the next job, or gets back what they hold.

use crate::queue::{
    Fault, Queues,
    ids::{self, Nonce},
    lanes::{self, Item, Op},
    redis::link::Args,
    redis::read::{Fields, broken},
    transitions::answer::{Look, Part, Sight, finish, read_part},
    transitions::undo::Undo,
};
use crate::{
    job::{BatchId, JobId, LockName, Millis, Name, Priority, QueueName, Reason, Reservation, State},
    payload::Json,
};

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
    },
    /// `passed_over`: some of what is there this worker has skipped, and somebody else may have it.
    Nothing {
        reason: Reason,
        retry_after_ms: u64,
        remaining: u64,
        now: Millis,
        passed_over: bool,
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

/// How the script is to look for jobs.
enum Mode<'m> {
    Next,
    /// What the worker holds, and nothing else.
    Resume,
    This(&'m JobId),
}

/// The arguments of a call end with the place and id of the job behind which it goes on.
pub(crate) fn go_on_behind(args: &mut Args, (place, id): (&[u8], &[u8])) {
    args.without_last(2).push(place).push(id);
}

impl Queues {
    /// Hands out jobs, or gives a worker at the limit the same ones again.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reserve(&self, call: Reserve) -> Result<ReserveOutcome, Fault> {
        if let Some(id) = &call.id {
            let part = self.ask(&call, &id.queue, Mode::This(id), 1).await?;
            return Ok(finish(vec![part]));
        }
        if let [queue] = call.queues.as_slice() {
            let part = self.ask(&call, queue, Mode::Next, call.limit).await?;
            return Ok(finish(vec![part]));
        }
        self.reserve_of_many(&call).await
    }

    /// Looks at all queues at once, then asks one after the other until one gives.
    async fn reserve_of_many(&self, call: &Reserve) -> Result<ReserveOutcome, Fault> {
        let looks = call.queues.iter().map(|queue| self.look(queue, call));
        let looks = futures_util::future::try_join_all(looks).await?;
        if looks.iter().any(|look| look.replayed) {
            return self.replay(call, &looks).await;
        }
        if looks.iter().any(|look| look.at_limit) {
            return self.resume(call, &looks).await;
        }
        let mut parts = Vec::with_capacity(looks.len());
        for (queue, look) in call.queues.iter().zip(looks) {
            let given = parts.iter().any(|part: &Part| !part.jobs.is_empty());
            parts.push(if given || !look.can_give {
                look.nothing()
            } else {
                self.ask(call, queue, Mode::Next, call.limit).await?
            });
        }
        Ok(finish(parts))
    }

    /// The same call again: the same jobs.
    async fn replay(&self, call: &Reserve, looks: &[Look]) -> Result<ReserveOutcome, Fault> {
        let asked = call.queues.iter().zip(looks).map(|(queue, look)| async move {
            match look.replayed {
                true => self.ask(call, queue, Mode::Resume, call.limit).await,
                false => Ok(look.nothing()),
            }
        });
        Ok(finish(futures_util::future::try_join_all(asked).await?))
    }

    /// All that the worker holds in the queues, the oldest first, as many as were asked for.
    async fn resume(&self, call: &Reserve, looks: &[Look]) -> Result<ReserveOutcome, Fault> {
        let held = looks.iter().enumerate().flat_map(|(i, look)| look.since.iter().map(move |&since| (since, i)));
        let mut held: Vec<_> = held.collect();
        held.sort_unstable();
        held.truncate(call.limit as usize);
        let asked = call.queues.iter().zip(looks).enumerate().map(|(i, (queue, look))| {
            let share = held.iter().filter(|(_, of)| *of == i).count() as u32;
            async move {
                if share > 0 {
                    return self.ask(call, queue, Mode::Resume, share).await;
                }
                Ok(look.nothing())
            }
        });
        Ok(finish(futures_util::future::try_join_all(asked).await?))
    }

    async fn ask(&self, call: &Reserve, queue: &QueueName, mode: Mode<'_>, limit: u32) -> Result<Part, Fault> {
        let mut args = Args::default();
        args.push(call.worker.as_ref().map_or("", Name::as_str)).push(call.nonce.as_bytes());
        args.number(limit.into()).number(call.lease_ms.unwrap_or(0).into());
        let (word, id) = match mode {
            Mode::Next => ("next", ""),
            Mode::Resume => ("resume", ""),
            Mode::This(id) => ("this", id.code.as_str()),
        };
        args.push(word).push(id);
        let (mut secrets, mut digests) = (Vec::new(), Vec::new());
        for _ in 0..limit {
            let secret = ids::random_code();
            secrets.extend(secret.as_str().as_bytes());
            digests.extend(ids::secret_digest(&secret));
        }
        args.push(secrets).push(digests).push("").push("");
        let item = Item { args, jobs: limit, needs_memory: false };
        let answer = lanes::call(&self.inner, queue, Op::Reserve, vec![item]).await.pop();
        read_part(queue, answer.ok_or_else(|| broken("an answer"))??)
    }

    /// What a queue looks like to somebody who holds nothing of it.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn glance(&self, queue: &QueueName) -> Result<Sight, Fault> {
        self.look_as(queue, None, Nonce::random()).await.map(|look| look.sight)
    }

    async fn look(&self, queue: &QueueName, call: &Reserve) -> Result<Look, Fault> {
        self.look_as(queue, call.worker.as_ref(), call.nonce).await
    }

    async fn look_as(&self, queue: &QueueName, worker: Option<&Name>, nonce: Nonce) -> Result<Look, Fault> {
        let mut args = Args::default();
        args.push(worker.map_or("", Name::as_str)).push(nonce.as_bytes());
        Look::read(Fields::of(self.run(&self.inner.scripts.look, queue, &args).await?)?)
    }
}
