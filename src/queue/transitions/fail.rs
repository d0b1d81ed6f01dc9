//! fail: the holder reports failure.

use crate::{
    job::{Reservation, chance},
    queue::{
        fault::Fault,
        handle::Queues,
        layout::reservation::{Lost, Return, handle},
        redis::args::Args,
        script::{Script, Scripts},
        transition::{Effect, Grouped, Reply, Ride, Transition},
    },
};

/// The holder reports failure.
#[derive(Debug, Clone)]
pub struct Fail {
    pub reservation: Reservation,
    pub error: Option<String>,
}

impl Queues {
    /// Counts an attempt; the job comes back at once, after its backoff, or not at all.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn fail(&self, call: Fail) -> Result<Return, Fault> {
        let queue = call.reservation.job.queue.clone();
        self.go(&queue, call).await
    }
}

impl Transition for Fail {
    type Outcome = Return;

    fn script<'s>(&self, scripts: &'s Scripts) -> &'s Script {
        &scripts.fail
    }

    fn args(&self) -> Args {
        let error = self.error.as_deref().unwrap_or_default();
        let mut args = handle(&self.reservation, 2, error.len() + 3);
        args.push(error).number(chance::jitter());
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Return, Fault> {
        Return::read(reply.words()?)
    }

    fn effect(&self, outcome: &Return) -> Effect {
        match outcome {
            Return::Lost(_) => Effect::Lost,
            Return::Returned { .. } | Return::Stays | Return::NobodySkips => Effect::Moved,
        }
    }
}

impl Grouped for Fail {
    const RIDE: Ride = Ride::OF_A_RESERVATION;

    fn turned_away(&self) -> Result<Return, Fault> {
        Ok(Return::Lost(Lost::UNKNOWN))
    }
}
