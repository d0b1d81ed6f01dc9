//! cancel, release, requeue, reprioritize, purge: what producers and operators do to jobs.

use super::{
    Fault, Queues,
    connection::Args,
    read::{Fields, broken},
};
use crate::job::{JobId, Name, Priority, QueueName, State};

/// What an operator takes from its holder.
#[derive(Debug, Clone)]
pub enum Release {
    Job(JobId),
    /// All that a worker holds in a queue.
    Worker(QueueName, Name),
}

/// What an operator gives another life.
#[derive(Debug, Clone)]
pub enum Requeue {
    Job(JobId),
    /// All that is dead in a queue.
    Queue(QueueName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancellation {
    Cancelled,
    UnknownJob,
    /// Completed, or reserved without force.
    WrongState(State),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeued {
    Count(u64),
    UnknownJob,
    /// Completed or cancelled.
    WrongState(State),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reprioritized {
    Changed(State),
    UnknownJob,
    /// The job has ended.
    WrongState(State),
}

/// Which jobs of a queue are to go.
#[derive(Debug, Clone)]
pub struct Purge {
    pub queue: QueueName,
    /// `None`: all of them.
    pub state: Option<State>,
    /// The reserved too.
    pub force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    pub removed: u64,
    /// There are more; call again.
    pub more: bool,
}

/// A purge removes about so many jobs a call, in steps of 200.
const PURGE_MOST: u64 = 10_000;

impl Queues {
    /// # Errors
    /// When Redis is not well.
    pub async fn cancel(&self, id: JobId, force: bool) -> Result<Cancellation, Fault> {
        let mut args = job(&id);
        args.number(force.into());
        let mut answer = Fields::of(self.run(&self.inner.scripts.cancel, &id.queue, &args).await?)?;
        self.inner.stir(&id.queue);
        match answer.text()?.as_str() {
            "cancelled" => Ok(Cancellation::Cancelled),
            "unknown" => Ok(Cancellation::UnknownJob),
            "state" => Ok(Cancellation::WrongState(answer.state()?)),
            _ => Err(broken("cancelled, unknown or state")),
        }
    }

    /// Takes jobs from their holder. `None`: there is no such job.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn release(&self, what: Release) -> Result<Option<u64>, Fault> {
        let (queue, kind, what) = match what {
            Release::Job(id) => (id.queue, "job", id.code.as_str().to_owned()),
            Release::Worker(queue, worker) => (queue, "worker", worker.as_str().to_owned()),
        };
        let mut args = Args::default();
        args.push(kind).push(what);
        let mut released = 0;
        loop {
            let mut answer = Fields::of(self.run(&self.inner.scripts.release, &queue, &args).await?)?;
            self.inner.stir(&queue);
            match answer.text()?.as_str() {
                "released" => released += answer.count()?,
                "unknown" => return Ok(None),
                _ => return Err(broken("released or unknown")),
            }
            if !answer.flag()? {
                return Ok(Some(released));
            }
        }
    }

    /// Gives one dead job, or all of a queue that are dead by now, another life; runs a delayed one at once.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn requeue(&self, what: Requeue) -> Result<Requeued, Fault> {
        let (queue, kind, what) = match what {
            Requeue::Job(id) => (id.queue, "job", id.code.as_str().to_owned()),
            Requeue::Queue(queue) => (queue, "queue", "0".to_owned()),
        };
        let (mut requeued, mut what, mut passed) = (0, what, 0);
        loop {
            let mut args = Args::default();
            args.push(kind).push(&what).number(passed);
            let mut answer = Fields::of(self.run(&self.inner.scripts.requeue, &queue, &args).await?)?;
            self.inner.stir(&queue);
            match answer.text()?.as_str() {
                "requeued" => requeued += answer.count()?,
                "unknown" => return Ok(Requeued::UnknownJob),
                "state" => return Ok(Requeued::WrongState(answer.state()?)),
                _ => return Err(broken("requeued, unknown or state")),
            }
            if !answer.flag()? {
                return Ok(Requeued::Count(requeued));
            }
            what = answer.count()?.to_string();
            passed = answer.count()?;
        }
    }

    /// Moves a waiting job at once, a reserved one on its return.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reprioritize(&self, id: JobId, priority: Priority) -> Result<Reprioritized, Fault> {
        let mut args = job(&id);
        args.number(priority.get().into());
        let mut answer = Fields::of(self.run(&self.inner.scripts.reprioritize, &id.queue, &args).await?)?;
        match answer.text()?.as_str() {
            "changed" => Ok(Reprioritized::Changed(answer.state()?)),
            "unknown" => Ok(Reprioritized::UnknownJob),
            "state" => Ok(Reprioritized::WrongState(answer.state()?)),
            _ => Err(broken("changed, unknown or state")),
        }
    }

    /// Removes jobs, a bounded number a call.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn purge(&self, purge: Purge) -> Result<Purged, Fault> {
        // The reserved only by force; and with everything go the stubs of enqueues that met a twin.
        let kinds = match purge.state {
            Some(state) => vec![state.word()],
            None if purge.force => {
                vec!["blocked", "waiting", "delayed", "dead", "completed", "cancelled", "stub", "reserved"]
            }
            None => vec!["blocked", "waiting", "delayed", "dead", "completed", "cancelled", "stub"],
        };
        let mut removed = 0;
        for kind in kinds {
            let mut passed = 0;
            loop {
                if removed >= PURGE_MOST {
                    return Ok(Purged { removed, more: true });
                }
                let mut args = Args::default();
                args.push(kind).number(passed);
                let mut answer = Fields::of(self.run(&self.inner.scripts.purge, &purge.queue, &args).await?)?;
                removed += answer.count()?;
                passed = answer.count()?;
                if !answer.flag()? {
                    break;
                }
            }
        }
        Ok(Purged { removed, more: false })
    }
}

fn job(id: &JobId) -> Args {
    let mut args = Args::default();
    args.push(id.code.as_str());
    args
}
