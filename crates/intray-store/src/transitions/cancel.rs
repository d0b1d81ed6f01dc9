//! cancel: the producer cancels a job.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{JobId, State},
    layout::action::Actor,
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// A reserved job is cancelled only by force.
struct Cancel<'c> {
    id: JobId,
    force: bool,
    actor: &'c Actor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancellation {
    Cancelled,
    UnknownJob,
    /// Completed, or reserved without force.
    WrongState(State),
}

impl Queues {
    /// An operator's call is listed.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn cancel(&self, id: JobId, force: bool, actor: &Actor) -> Result<Cancellation, Fault> {
        let queue = id.queue.clone();
        self.run_alone(&queue, &Cancel { id, force, actor }).await
    }
}

impl Transition for Cancel<'_> {
    type Outcome = Cancellation;
    const SCRIPT: &'static str = "cancel";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.id.code.as_str()).number(self.force.into());
        self.actor.push(&mut args);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Cancellation, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "cancelled" => Ok(Cancellation::Cancelled),
            "unknown" => Ok(Cancellation::UnknownJob),
            "state" => Ok(Cancellation::WrongState(fields.state()?)),
            _ => Err(broken("cancelled, unknown or state")),
        }
    }

    fn effect(&self, outcome: &Cancellation) -> Effect {
        Effect::moved_if(*outcome == Cancellation::Cancelled)
    }
}
