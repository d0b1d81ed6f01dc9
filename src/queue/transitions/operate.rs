//! cancel, release, requeue, reprioritize, purge: what producers and operators do to jobs.

mod progress;

pub use self::progress::Progress;
use crate::job::{BatchId, JobId, Name, Priority, QueueName, State, limits};
use crate::queue::{
    Cursor, Fault, Queues,
    redis::link::Args,
    redis::read::{Fields, broken},
};

/// What an operator takes from its holder.
#[derive(Debug, Clone)]
pub enum Release {
    Job(JobId),
    /// All that a worker holds in a queue.
    Worker(QueueName, Name),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released {
    pub released: u64,
    /// There may be more.
    pub more: bool,
}

/// What an operator gives another life.
#[derive(Debug, Clone)]
pub enum Requeue {
    Job(JobId),
    /// All that is dead in a queue, as far as it is meant; and where the call before has come to.
    Queue(QueueName, Meant, Option<Progress>),
}

/// Which of the jobs of one state an operator means.
#[derive(Debug, Clone, Default)]
pub struct Meant {
    pub client: Option<Name>,
    pub batch: Option<BatchId>,
    /// One of the errors that are kept with the job contains it.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancellation {
    Cancelled,
    UnknownJob,
    /// Completed, or reserved without force.
    WrongState(State),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requeued {
    /// `next`: there may be more; where to go on.
    Count {
        requeued: u64,
        next: Option<Progress>,
    },
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
    pub meant: Meant,
    /// Where the call before has come to.
    pub after: Option<Progress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    pub removed: u64,
    /// There may be more; where to go on.
    pub next: Option<Progress>,
}

/// A purge or a requeue moves about so many jobs a call, in small steps.
const MOST: u64 = 10_000;

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

    /// Takes jobs from their holder, a bounded number a call. `None`: there is no such job.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn release(&self, what: Release) -> Result<Option<Released>, Fault> {
        let (queue, kind, what) = match what {
            Release::Job(id) => (id.queue, "job", id.code.as_str().to_owned()),
            Release::Worker(queue, worker) => (queue, "worker", worker.as_str().to_owned()),
        };
        let mut args = Args::default();
        args.push(kind).push(what);
        let mut all = Released { released: 0, more: false };
        for _ in 0..limits::STEPS {
            let mut answer = Fields::of(self.run(&self.inner.scripts.release, &queue, &args).await?)?;
            self.inner.stir(&queue);
            match answer.text()?.as_str() {
                "released" => all.released += answer.count()?,
                "unknown" => return Ok(None),
                _ => return Err(broken("released or unknown")),
            }
            all.more = answer.flag()?;
            if !all.more {
                break;
            }
        }
        Ok(Some(all))
    }

    /// Gives one dead job, or those of a queue that are dead by now, another life; runs a delayed one at once.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn requeue(&self, what: Requeue) -> Result<Requeued, Fault> {
        let (queue, kind, what, meant, after) = match what {
            Requeue::Job(id) => (id.queue, "job", id.code.as_str().to_owned(), Meant::default(), None),
            Requeue::Queue(queue, meant, after) => (queue, "queue", "0".to_owned(), meant, after),
        };
        let mut at = after.unwrap_or_else(|| Progress::begin(&what));
        let mut requeued = 0;
        for _ in 0..limits::STEPS {
            let mut args = Args::default();
            args.push(kind).push(&at.stage);
            meant.push(&mut args);
            let (score, member) = at.place();
            args.push(score).push(member);
            let mut answer = Fields::of(self.run(&self.inner.scripts.requeue, &queue, &args).await?)?;
            self.inner.stir(&queue);
            let moved = match answer.text()?.as_str() {
                "requeued" => answer.count()?,
                "unknown" => return Ok(Requeued::UnknownJob),
                "state" => return Ok(Requeued::WrongState(answer.state()?)),
                _ => return Err(broken("requeued, unknown or state")),
            };
            requeued += moved;
            if !answer.flag()? {
                return Ok(Requeued::Count { requeued, next: None });
            }
            let stage = answer.count()?.to_string();
            at = Progress { stage, after: Cursor::after(&answer.text()?, &answer.bytes()?) };
            if requeued >= MOST {
                break;
            }
        }
        Ok(Requeued::Count { requeued, next: Some(at) })
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
        // The reserved only by force. All that has ended goes together, with the stubs of enqueues that met a twin: nothing
        // of it stays to be passed again by the next call.
        let kinds = match purge.state {
            Some(state) => vec![state.word()],
            None if purge.force => vec!["blocked", "waiting", "delayed", "dead", "ended", "reserved"],
            None => vec!["blocked", "waiting", "delayed", "dead", "ended"],
        };
        let from = purge.after.as_ref().and_then(|at| kinds.iter().position(|kind| *kind == at.stage)).unwrap_or(0);
        let (mut removed, mut steps) = (0, 0);
        for (n, kind) in kinds.iter().enumerate().skip(from) {
            let before = purge.after.clone().filter(|_| n == from);
            let mut at = before.unwrap_or_else(|| Progress::begin(kind));
            loop {
                if removed >= MOST || steps >= limits::STEPS {
                    return Ok(Purged { removed, next: Some(at) });
                }
                steps += 1;
                let mut args = Args::default();
                args.push(*kind);
                purge.meant.push(&mut args);
                let (score, member) = at.place();
                args.push(score).push(member);
                let mut answer = Fields::of(self.run(&self.inner.scripts.purge, &purge.queue, &args).await?)?;
                removed += answer.count()?;
                let more = answer.flag()?;
                at.after = Cursor::after(&answer.text()?, &answer.bytes()?);
                if !more {
                    break;
                }
            }
        }
        Ok(Purged { removed, next: None })
    }
}

impl Meant {
    fn push(&self, args: &mut Args) {
        args.push(self.client.as_ref().map_or("", Name::as_str));
        args.push(self.batch.as_ref().map_or("", |batch| batch.code.as_str()));
        args.push(self.error.as_deref().unwrap_or_default());
    }
}

fn job(id: &JobId) -> Args {
    let mut args = Args::default();
    args.push(id.code.as_str());
    args
}
