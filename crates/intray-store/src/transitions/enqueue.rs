//! enqueue: a producer adds a job to a queue.

use std::collections::BTreeMap;

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{BatchId, Code, JobId, Name, Priority, QueueName, State, Tally},
    layout::{
        route::TimeError,
        task::{Lookup, Task},
    },
    payload::Json,
    redis::read::{broken, word},
    sha256::Sha256,
    transition::{BatchPolicy, BatchedTransition, Effect, QueueCheck, Reply, Transition},
};

/// A job as its producer describes it.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub id: JobId,
    pub task: Task,
    pub priority: Priority,
    pub client: Option<Name>,
    pub dedupe: Dedupe,
    /// With an idempotency key: distinguishes a repeated call from another one with the same key.
    pub fingerprint: Option<[u8; 8]>,
}

/// How a duplicate of a client's job is recognized.
#[derive(Debug, Clone)]
pub enum Dedupe {
    /// The payload and who may have the job, unless the queue's setting is off.
    QueueSetting,
    Payload,
    Key(String),
    Off,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enqueued {
    Stored {
        id: JobId,
        state: State,
        /// Not stored before, by an earlier call with the same idempotency key.
        is_new: bool,
    },
    /// The job duplicates one that has not ended, which stays unchanged and is another in these fields.
    Twin {
        id: JobId,
        state: State,
        differs: Vec<&'static str>,
    },
    /// Another call has used the idempotency key.
    KeyReused,
    QueueFull,
    /// The queue would be new, and the limit of queues is reached.
    TooManyQueues,
    /// Times of the job break a rule by Redis's clock.
    Untimely(Vec<TimeError>),
}

impl NewJob {
    /// A job with a payload and nothing else.
    pub fn plain(id: JobId, payload: Json) -> Self {
        let (priority, client, fingerprint) = Default::default();
        Self { id, task: Task::plain(payload), priority, client, dedupe: Dedupe::QueueSetting, fingerprint }
    }

    fn digest(&self) -> Option<[u8; 16]> {
        let mut hash = Sha256::default();
        hash.update(self.client.as_ref().map_or("", Name::as_str));
        match &self.dedupe {
            Dedupe::Off => return None,
            Dedupe::Key(key) => {
                hash.update(b"\0k\0");
                hash.update(key);
            }
            Dedupe::QueueSetting | Dedupe::Payload => {
                hash.update(b"\0p\0");
                self.task.payload.canonical(&mut hash);
                self.task.routing.iter().for_each(|routing| routing.hash(&mut hash));
            }
        }
        let digest = hash.finalize();
        Some(std::array::from_fn(|i| digest[i]))
    }
}

/// Ids checked by one script, and scripts of one call that run at once.
const IDS_PER_CHECK: usize = 100;
const MAX_CHECKS: usize = 32;

/// The items to which an idempotency key gives ids, and the ids.
#[derive(Debug, Clone, Copy)]
pub enum DerivedIds<'i> {
    Jobs(&'i [JobId]),
    Batches(&'i [BatchId]),
}

impl Queues {
    /// Whether another call, with a different fingerprint, has used the idempotency key of these ids.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn is_reused(&self, ids: DerivedIds<'_>, fingerprint: [u8; 8]) -> Result<bool, Fault> {
        let (kind, ids): (_, Vec<_>) = match ids {
            DerivedIds::Jobs(ids) => ("jobs", ids.iter().map(|id| (&id.queue, &id.code)).collect()),
            DerivedIds::Batches(ids) => ("batches", ids.iter().map(|id| (&id.queue, &id.code)).collect()),
        };
        let mut by_queue: BTreeMap<&QueueName, Vec<&Code>> = BTreeMap::new();
        for (queue, code) in ids {
            by_queue.entry(queue).or_default().push(code);
        }
        let mut looks = Vec::new();
        for (queue, codes) in &by_queue {
            looks.extend(codes.chunks(IDS_PER_CHECK).map(|some| (*queue, some)));
        }
        for some in looks.chunks(MAX_CHECKS) {
            let looks = some.iter().map(|(queue, codes)| self.is_used_by_another_call(queue, kind, codes, fingerprint));
            if futures_util::future::try_join_all(looks).await?.contains(&true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn is_used_by_another_call(
        &self,
        queue: &QueueName,
        kind: &str,
        codes: &[&Code],
        fingerprint: [u8; 8],
    ) -> Result<bool, Fault> {
        let mut args = Args::default();
        args.push(fingerprint).push(kind);
        for code in codes {
            args.push(code.as_str());
        }
        match word(&self.run_view("repeats", queue, &args).await?) {
            Some("own") => Ok(false),
            Some("reused") => Ok(true),
            _ => Err(broken("own or reused")),
        }
    }

    /// Adds a job to its queue.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn enqueue(&self, job: NewJob) -> Result<Enqueued, Fault> {
        let queue = job.id.queue.clone();
        self.parts.batcher.call(&queue, job).await
    }
}

impl Transition for NewJob {
    type Outcome = Enqueued;
    const SCRIPT: &'static str = "enqueue";

    fn args(&self) -> Args {
        let (client, digest) = (self.client.as_ref().map_or("", Name::as_str), self.digest());
        let lookup = match self.dedupe {
            Dedupe::QueueSetting | Dedupe::Off => Lookup::QueueSetting,
            Dedupe::Payload => Lookup::Always,
            Dedupe::Key(_) => Lookup::ByKey,
        };
        let mut args = Args::with_room(2, 100 + client.len() + self.task.size());
        args.put(|id| {
            id.extend(self.id.code.as_bytes());
            self.task.write_rare(lookup, id);
        });
        let fingerprint = self.fingerprint.as_ref();
        args.put(|tail| self.task.write_tail(0, self.priority.get(), client, digest.as_ref(), fingerprint, tail));
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Enqueued, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "stored" | "again" => {
                Ok(Enqueued::Stored { id: self.id.clone(), state: fields.state()?, is_new: word == "stored" })
            }
            "twin" => {
                let id = JobId { queue: self.id.queue.clone(), code: fields.code()? };
                let (state, bits) = (fields.state()?, fields.count()?);
                Ok(Enqueued::Twin { id, state, differs: self.task.named(bits) })
            }
            "reused" => Ok(Enqueued::KeyReused),
            "full" | "overdue" => Ok(Enqueued::QueueFull),
            "untimely" => Ok(Enqueued::Untimely(self.task.untimely_at(fields.time()?))),
            _ => Err(broken("stored, again, twin, reused, full, overdue or untimely")),
        }
    }

    fn effect(&self, outcome: &Enqueued) -> Effect {
        match outcome {
            Enqueued::Stored { .. } => Effect::Moved,
            Enqueued::Twin { .. } => Effect::Counted(Tally::Deduplicated, 1),
            Enqueued::KeyReused | Enqueued::QueueFull | Enqueued::TooManyQueues | Enqueued::Untimely(_) => Effect::None,
        }
    }
}

impl BatchedTransition for NewJob {
    const BATCHING: BatchPolicy = BatchPolicy::plain(QueueCheck::Registers);

    fn rejected(&self) -> Result<Enqueued, Fault> {
        Ok(Enqueued::TooManyQueues)
    }
}
