//! release: an operator releases jobs from their holder.

use intray_redis::{Args, Fault};
use serde::Serialize;

use crate::{
    handle::Queues,
    job::{JobId, Name, QueueName, limits},
    layout::action::Actor,
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// Which jobs to release.
#[derive(Debug, Clone)]
pub enum Release {
    Job(JobId),
    /// All jobs of a worker in a queue.
    Worker(QueueName, Name),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Released {
    pub released: u64,
    /// There may be more to release.
    pub more: bool,
}

impl Queues {
    /// Releases a bounded number of jobs. `None`: there is no such job.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn release(&self, what: &Release, actor: &Actor) -> Result<Option<Released>, Fault> {
        let queue = match what {
            Release::Job(id) => id.queue.clone(),
            Release::Worker(queue, _) => queue.clone(),
        };
        let mut all = Released { released: 0, more: false };
        for _ in 0..limits::STEPS {
            let Some(step) = self.run_alone(&queue, &ReleaseStep { what, actor }).await? else { return Ok(None) };
            all = Released { released: all.released + step.released, more: step.more };
            if !all.more {
                break;
            }
        }
        Ok(Some(all))
    }
}

/// One bounded step.
struct ReleaseStep<'s> {
    what: &'s Release,
    actor: &'s Actor,
}

impl Transition for ReleaseStep<'_> {
    type Outcome = Option<Released>;
    const SCRIPT: &'static str = "release";

    fn args(&self) -> Args {
        let (kind, what) = match self.what {
            Release::Job(id) => ("job", id.code.as_str()),
            Release::Worker(_, worker) => ("worker", worker.as_str()),
        };
        let mut args = Args::default();
        args.push(kind).push(what);
        self.actor.push(&mut args);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Option<Released>, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "released" => Ok(Some(Released { released: fields.count()?, more: fields.flag()? })),
            "unknown" => Ok(None),
            _ => Err(broken("released or unknown")),
        }
    }

    fn effect(&self, outcome: &Option<Released>) -> Effect {
        Effect::moved_if(outcome.is_some())
    }
}
