//! complete: the holder reports success.

use intray_redis::{Args, Fault};

use crate::{
    figures::QueueMetrics,
    job::{QueueName, Reservation, ids, limits},
    payload::Json,
    store::{
        handle::Queues,
        redis::read::broken,
        reservation::{HOLDER_CALLS, Lost, text},
        transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
    },
};

/// The holder reports success.
#[derive(Debug, Clone)]
pub struct Complete {
    pub reservation: Reservation,
    pub result: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// `late`: after the deadline, before another worker got the job. `duplicate`: a repeated call, counted once.
    Done { late: bool, duplicate: bool },
    /// The reservation is not the job's any more. If it ever was, the result is kept among the job's late results.
    Lost(Lost),
}

/// A reply of the script.
pub(crate) struct CompleteReply {
    completion: Completion,
    /// From the hand-out to the completion; `None` for a repeated call.
    held_ms: Option<u64>,
}

impl From<Completion> for CompleteReply {
    fn from(completion: Completion) -> Self {
        Self { completion, held_ms: None }
    }
}

impl Queues {
    /// Reports success, and keeps the result.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn complete(&self, call: Complete) -> Result<Completion, Fault> {
        let queue = call.reservation.job.queue.clone();
        self.parts.batcher.call(&queue, call).await.map(|reply| reply.completion)
    }
}

impl Transition for Complete {
    type Outcome = CompleteReply;
    const SCRIPT: &'static str = "complete";

    fn args(&self) -> Args {
        let (id, secret) = (self.reservation.job.code.as_str(), self.reservation.secret.as_str());
        let mut args = Args::with_room(2, id.len() + secret.len() + ids::DIGEST_LEN + text(self.result.as_ref()).len());
        args.push(id).put(|claim| {
            claim.extend(secret.as_bytes());
            claim.extend(ids::secret_digest(&self.reservation.secret));
            claim.extend(text(self.result.as_ref()).as_bytes());
        });
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<CompleteReply, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "done" => {
                let (late, held_ms) = (fields.flag()?, fields.count()?);
                let completion = Completion::Done { late, duplicate: false };
                Ok(CompleteReply { completion, held_ms: Some(held_ms) })
            }
            "again" => Ok(Completion::Done { late: fields.flag()?, duplicate: true }.into()),
            "lost" => Ok(Completion::Lost(Lost::read(&mut fields)?).into()),
            _ => Err(broken("done, again or lost")),
        }
    }

    fn effect(&self, reply: &CompleteReply) -> Effect {
        match reply.completion {
            Completion::Done { .. } => Effect::Moved,
            Completion::Lost(_) => Effect::Lost,
        }
    }

    fn measure(&self, reply: &CompleteReply, queue: &QueueName, metrics: &QueueMetrics) {
        if let Some(ms) = reply.held_ms {
            metrics.record_held(queue.as_str(), ms as f64 / 1e3);
        }
    }
}

impl BatchedTransition for Complete {
    const BATCHING: BatchPolicy = HOLDER_CALLS;

    fn needs_memory(&self) -> bool {
        text(self.result.as_ref()).len() > limits::SMALL_RESULT
    }

    fn rejected(&self) -> Result<CompleteReply, Fault> {
        Ok(Completion::Lost(Lost::UNKNOWN).into())
    }
}
