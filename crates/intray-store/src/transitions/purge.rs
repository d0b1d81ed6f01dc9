//! purge: an operator removes jobs.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{QueueName, State, limits},
    layout::{
        action::Actor,
        cursor::Cursor,
        progress::{JobSelection, MAX_JOBS_PER_CALL, Progress},
    },
    transition::{Effect, Reply, Transition},
};

/// Which jobs of a queue to remove.
#[derive(Debug, Clone)]
pub struct Purge {
    pub queue: QueueName,
    /// `None`: all of them.
    pub state: Option<State>,
    /// Remove reserved jobs too.
    pub force: bool,
    pub selection: JobSelection,
    /// The progress of the call before.
    pub after: Option<Progress>,
    pub actor: Actor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    pub removed: u64,
    /// Where the next call continues, if there may be more.
    pub next: Option<Progress>,
}

/// One bounded step through the jobs of one state.
struct PurgeStep<'p> {
    selection: &'p JobSelection,
    at: &'p Progress,
    actor: &'p Actor,
}

impl Queues {
    /// Removes a bounded number of jobs.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn purge(&self, purge: Purge) -> Result<Purged, Fault> {
        let kinds = purge.kinds();
        let from = purge.after.as_ref().and_then(|at| kinds.iter().position(|kind| *kind == at.stage)).unwrap_or(0);
        let (mut removed, mut steps) = (0, 0);
        self.catch_up(&purge.queue).await?;
        for (n, kind) in kinds.iter().enumerate().skip(from) {
            let before = purge.after.clone().filter(|_| n == from);
            let mut at = before.unwrap_or_else(|| Progress::begin(kind));
            loop {
                if removed >= MAX_JOBS_PER_CALL || steps >= limits::STEPS {
                    return Ok(Purged { removed, next: Some(at) });
                }
                steps += 1;
                let step = self
                    .run_alone(&purge.queue, &PurgeStep { selection: &purge.selection, at: &at, actor: &purge.actor })
                    .await?;
                removed += step.removed;
                let Some(next) = step.next else { break };
                at = next;
            }
        }
        if purge.state.is_none() {
            self.parts.registry.vacate(&purge.queue).await?;
        }
        Ok(Purged { removed, next: None })
    }
}

impl Purge {
    /// The states to purge. Ended jobs of all states are removed together, with the stubs of duplicates, so that no call has
    /// to pass them again.
    fn kinds(&self) -> Vec<&'static str> {
        match self.state {
            Some(state) => vec![state.word()],
            None if self.force => vec!["blocked", "waiting", "delayed", "dead", "ended", "reserved"],
            None => vec!["blocked", "waiting", "delayed", "dead", "ended"],
        }
    }
}

impl Transition for PurgeStep<'_> {
    type Outcome = Purged;
    const SCRIPT: &'static str = "purge";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(&self.at.stage);
        self.selection.push(&mut args);
        let (score, member) = self.at.place();
        args.push(score).push(member);
        self.actor.push(&mut args);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Purged, Fault> {
        let mut fields = reply.fields()?;
        let (removed, more) = (fields.count()?, fields.flag()?);
        let after = Cursor::after(&fields.text()?, &fields.bytes()?);
        let next = more.then(|| Progress { stage: self.at.stage.clone(), after });
        Ok(Purged { removed, next })
    }

    /// Removed jobs have no deadline.
    fn effect(&self, _: &Purged) -> Effect {
        Effect::None
    }
}
