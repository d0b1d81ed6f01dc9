//! enqueue: producers put jobs into the line.

use std::collections::BTreeMap;

use intray_redis::{Args, Fault};

use crate::{
    job::{JobId, Name, Priority, QueueName, State, Tally},
    payload::Json,
    sha256::Sha256,
    store::{
        handle::Queues,
        layout::task::Task,
        redis::read::{broken, word},
        transition::{BatchPolicy, BatchedTransition, Effect, QueueCheck, Reply, Transition},
    },
};

/// A job as its producer describes it.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub id: JobId,
    pub task: Task,
    pub priority: Priority,
    pub client: Option<Name>,
    pub dedupe: Dedupe,
    /// With an idempotency key: tells the same call from another under the same key.
    pub fingerprint: Option<[u8; 8]>,
}

/// What makes two jobs of a client the same job.
#[derive(Debug, Clone)]
pub enum Dedupe {
    /// The payload, unless the queue's setting is off.
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
    },
    /// A live job is the same; nothing about it changed.
    Twin {
        id: JobId,
        state: State,
    },
    /// Another call had the same idempotency key.
    KeyReused,
    QueueFull,
    /// The queue would be new, and there are as many as may be.
    TooManyQueues,
}

impl NewJob {
    /// A job of which nothing is said but what it is.
    pub fn plain(id: JobId, payload: Json) -> Self {
        let (priority, client, fingerprint) = Default::default();
        Self { id, task: Task::plain(payload), priority, client, dedupe: Dedupe::QueueSetting, fingerprint }
    }

    fn digest(&self) -> Option<[u8; 16]> {
        let mut hash = Sha256::new();
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
            }
        }
        let digest = hash.finalize();
        Some(std::array::from_fn(|i| digest[i]))
    }
}

/// How many ids one script looks at, and how many scripts are under way for one call.
const LOOKED_AT: usize = 100;
const LOOKS: usize = 32;

impl Queues {
    /// Whether a call with another fingerprint has used the idempotency key from which these ids are derived.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn is_reused(&self, ids: &[JobId], fingerprint: [u8; 8]) -> Result<bool, Fault> {
        let mut by_queue: BTreeMap<&QueueName, Vec<&JobId>> = BTreeMap::new();
        for id in ids {
            by_queue.entry(&id.queue).or_default().push(id);
        }
        let looks: Vec<_> = by_queue.values().flat_map(|ids| ids.chunks(LOOKED_AT)).collect();
        for some in looks.chunks(LOOKS) {
            let looks = some.iter().map(|ids| self.look_for_another_call(ids, fingerprint));
            if futures_util::future::try_join_all(looks).await?.contains(&true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn look_for_another_call(&self, ids: &[&JobId], fingerprint: [u8; 8]) -> Result<bool, Fault> {
        let Some(JobId { queue, .. }) = ids.first() else { return Ok(false) };
        let mut args = Args::default();
        args.push(fingerprint);
        for id in ids {
            args.push(id.code.as_str());
        }
        match word(&self.run_view("repeats", queue, &args).await?) {
            Some("own") => Ok(false),
            Some("reused") => Ok(true),
            _ => Err(broken("own or reused")),
        }
    }

    /// Puts a job into its queue.
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
        let always = matches!(self.dedupe, Dedupe::Payload | Dedupe::Key(_));
        let mut args = Args::with_room(2, 100 + client.len() + self.task.size());
        args.put(|id| {
            id.extend(self.id.code.as_bytes());
            self.task.write_rare(always, id);
        });
        let fingerprint = self.fingerprint.as_ref();
        args.put(|tail| self.task.write_tail(self.priority, client, digest.as_ref(), fingerprint, tail));
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Enqueued, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "stored" => Ok(Enqueued::Stored { id: self.id.clone(), state: fields.state()? }),
            "twin" => {
                let id = JobId { queue: self.id.queue.clone(), code: fields.code()? };
                Ok(Enqueued::Twin { id, state: fields.state()? })
            }
            "reused" => Ok(Enqueued::KeyReused),
            "full" => Ok(Enqueued::QueueFull),
            _ => Err(broken("stored, twin, reused or full")),
        }
    }

    fn effect(&self, outcome: &Enqueued) -> Effect {
        match outcome {
            Enqueued::Stored { .. } => Effect::Moved,
            Enqueued::Twin { .. } => Effect::Counted(Tally::Deduplicated, 1),
            Enqueued::KeyReused | Enqueued::QueueFull | Enqueued::TooManyQueues => Effect::None,
        }
    }
}

impl BatchedTransition for NewJob {
    const BATCHING: BatchPolicy =
        BatchPolicy { max_calls: usize::MAX, skips_abandoned: false, entry: QueueCheck::Registers, has_shared: false };

    fn rejected(&self) -> Result<Enqueued, Fault> {
        Ok(Enqueued::TooManyQueues)
    }
}
