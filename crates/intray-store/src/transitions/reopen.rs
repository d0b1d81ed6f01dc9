//! reopen: the worker takes a completion back in time, and holds the job again.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Millis, Reservation},
    layout::record,
    payload::Json,
    redis::read::broken,
    reservation::{HOLDER_CALLS, Lost, handle},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

/// The worker takes a completion back.
#[derive(Debug, Clone)]
pub struct Reopen {
    pub reservation: Reservation,
}

#[derive(Debug)]
pub enum Reopened {
    /// `duplicate`: it was held before, and this call changed nothing.
    Held {
        deadline: Millis,
        now: Millis,
        resumes: u32,
        /// The result that was handed in, or the draft of its worker.
        draft: Option<Json>,
        duplicate: bool,
    },
    Lost(Lost),
}

impl Queues {
    /// Takes back a completion that is not final; its worker holds the job again.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reopen(&self, call: Reopen) -> Result<Reopened, Fault> {
        let queue = call.reservation.job.queue.clone();
        self.parts.batcher.call(&queue, call).await
    }
}

impl Transition for Reopen {
    type Outcome = Reopened;
    const SCRIPT: &'static str = "reopen";

    fn args(&self) -> Args {
        handle(&self.reservation, 0, 0)
    }

    fn read(&self, reply: Reply<'_>) -> Result<Reopened, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "held" => {
                let (deadline, now) = (fields.time()?, fields.time()?);
                let (resumes, duplicate) = (fields.count()? as u32, fields.flag()?);
                let draft = record::json_if_any(fields.bytes()?)?;
                Ok(Reopened::Held { deadline, now, resumes, draft, duplicate })
            }
            "lost" => Lost::read(&mut fields).map(Reopened::Lost),
            _ => Err(broken("held or lost")),
        }
    }

    fn effect(&self, outcome: &Reopened) -> Effect {
        match outcome {
            Reopened::Held { .. } => Effect::Moved,
            Reopened::Lost(_) => Effect::Lost,
        }
    }
}

impl BatchedTransition for Reopen {
    const BATCHING: BatchPolicy = HOLDER_CALLS;

    fn rejected(&self) -> Result<Reopened, Fault> {
        Ok(Reopened::Lost(Lost::UNKNOWN))
    }
}
