//! reassign: an operator gives the waiting jobs of a worker to others.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Name, QueueName},
    layout::{action::Actor, cursor::Cursor, progress::Progress, routing::pack_names},
    transition::{Effect, Reply, Transition},
};

/// The jobs that wait for a worker go to others.
#[derive(Debug, Clone)]
pub struct Reassign {
    pub queue: QueueName,
    pub from: Name,
    /// They take the place of `from` among the assignees; `None`: only `from` is taken away.
    pub to: Option<Vec<Name>>,
    /// The progress of the call before.
    pub after: Option<Progress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reassigned {
    pub changed: u64,
    /// Jobs that stay: every new worker is excluded, there would be too many, or too few for the overlap of the batch.
    pub refused: u64,
    /// Where the next call continues, if there may be more.
    pub next: Option<Progress>,
}

/// One bounded step through the line of a worker.
struct ReassignStep<'r> {
    call: &'r Reassign,
    at: &'r Progress,
    actor: &'r Actor,
}

impl Queues {
    /// Gives a bounded number of the jobs that wait for a worker to others.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reassign(&self, call: Reassign, actor: &Actor) -> Result<Reassigned, Fault> {
        let at = call.after.clone().unwrap_or_else(|| Progress::begin_reassign(&call.queue, &call.from));
        self.catch_up(&call.queue).await?;
        self.run_alone(&call.queue, &ReassignStep { call: &call, at: &at, actor }).await
    }
}

impl Transition for ReassignStep<'_> {
    type Outcome = Reassigned;
    const SCRIPT: &'static str = "reassign";

    fn args(&self) -> Args {
        let mut args = Args::default();
        let (score, member) = self.at.place();
        args.push(self.call.from.as_str()).push(pack_names(self.call.to.iter().flatten()));
        args.push(score).push(member);
        self.actor.push(&mut args);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Reassigned, Fault> {
        let mut fields = reply.fields()?;
        let (changed, refused, more) = (fields.count()?, fields.count()?, fields.flag()?);
        let after = Cursor::after(&fields.text()?, &fields.bytes()?);
        Ok(Reassigned { changed, refused, next: more.then(|| Progress { stage: self.at.stage.clone(), after }) })
    }

    /// A hand-over may end with it, and then another time is next.
    fn effect(&self, reassigned: &Reassigned) -> Effect {
        Effect::moved_if(reassigned.changed > 0)
    }
}
