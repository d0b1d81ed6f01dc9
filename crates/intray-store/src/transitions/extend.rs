//! extend: the holder extends its lease.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Millis, Reservation, limits},
    payload::Json,
    redis::read::broken,
    reservation::{HOLDER_CALLS, Lost, handle, text},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

/// The holder extends its lease.
#[derive(Debug, Clone)]
pub struct Extend {
    pub reservation: Reservation,
    /// The lease from now on; absent: as long as the first lease.
    pub lease_ms: Option<u32>,
    /// The draft to keep; JSON null removes it.
    pub draft: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    Extended {
        deadline: Millis,
        now: Millis,
    },
    /// Its worker has completed the job, and may only take that back.
    Closing {
        final_in_ms: u64,
    },
    Lost(Lost),
}

impl Queues {
    /// Moves the deadline. A lost reservation is never revived.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn extend(&self, call: Extend) -> Result<Extension, Fault> {
        let queue = call.reservation.job.queue.clone();
        self.parts.batcher.call(&queue, call).await
    }
}

impl Transition for Extend {
    type Outcome = Extension;
    const SCRIPT: &'static str = "extend";

    fn args(&self) -> Args {
        let mut args = handle(&self.reservation, 2, text(self.draft.as_ref()).len() + 10);
        args.number(self.lease_ms.unwrap_or(0).into()).push(text(self.draft.as_ref()));
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Extension, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "extended" => Ok(Extension::Extended { deadline: fields.time()?, now: fields.time()? }),
            "closing" => Ok(Extension::Closing { final_in_ms: fields.count()? }),
            "lost" => Lost::read(&mut fields).map(Extension::Lost),
            _ => Err(broken("extended or lost")),
        }
    }

    fn effect(&self, outcome: &Extension) -> Effect {
        match outcome {
            Extension::Extended { .. } => Effect::Moved,
            Extension::Closing { .. } => Effect::None,
            Extension::Lost(_) => Effect::Lost,
        }
    }
}

impl BatchedTransition for Extend {
    const BATCHING: BatchPolicy = HOLDER_CALLS;

    fn needs_memory(&self) -> bool {
        text(self.draft.as_ref()).len() > limits::SMALL_RESULT
    }

    fn rejected(&self) -> Result<Extension, Fault> {
        Ok(Extension::Lost(Lost::UNKNOWN))
    }
}
