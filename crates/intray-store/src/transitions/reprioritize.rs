//! reprioritize: an operator changes the priority of one job or many, and when one expires or its SLA is over.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{JobId, Priority, QueueName, State, limits},
    layout::{
        action::Actor,
        cursor::Cursor,
        progress::{JobSelection, MAX_JOBS_PER_CALL, Progress},
        route::{JobRoute, TimeError, TimeLimitsPatch},
        routing::RoutingPatch,
    },
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// What to change of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobPatch {
    pub priority: Option<Priority>,
    pub limits: TimeLimitsPatch,
    pub routing: RoutingPatch,
}

struct Reprioritize<'r> {
    id: JobId,
    patch: JobPatch,
    actor: &'r Actor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reprioritized {
    Changed {
        state: State,
        priority: Priority,
        route: JobRoute,
    },
    UnknownJob,
    /// The job has ended.
    WrongState(State),
    /// Times break a rule by Redis's clock, or the job would expire before its delay ends.
    Untimely(Vec<TimeError>),
    /// Each of its assignees would be excluded.
    NoAssigneeLeft,
    /// The jobs of its batch could not all be completed by different workers.
    TooFewWorkers,
}

/// Which jobs of a queue get another priority.
#[derive(Debug, Clone)]
pub struct ReprioritizeAll {
    pub queue: QueueName,
    /// Waiting, blocked, delayed or reserved.
    pub state: State,
    pub priority: Priority,
    pub selection: JobSelection,
    /// The progress of the call before.
    pub after: Option<Progress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReprioritizedAll {
    pub changed: u64,
    /// Where the next call continues, if there may be more.
    pub next: Option<Progress>,
}

/// One bounded step through the jobs of a state.
struct ReprioritizeStep<'s> {
    priority: Priority,
    selection: &'s JobSelection,
    at: Progress,
    actor: &'s Actor,
}

impl Queues {
    /// With another priority, a waiting job moves at once, a reserved one when it comes back. A reservation ends no later than its
    /// job. Only the times of a dead job can be changed.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reprioritize(&self, id: JobId, patch: JobPatch, actor: &Actor) -> Result<Reprioritized, Fault> {
        let queue = id.queue.clone();
        self.run_alone(&queue, &Reprioritize { id, patch, actor }).await
    }

    /// Changes the priority of a bounded number of jobs.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reprioritize_all(&self, what: ReprioritizeAll, actor: &Actor) -> Result<ReprioritizedAll, Fault> {
        let ReprioritizeAll { queue, state, priority, selection, after } = what;
        let at = after.filter(|at| at.stage == state.word()).unwrap_or_else(|| Progress::begin(state.word()));
        let (mut step, mut changed) = (ReprioritizeStep { priority, selection: &selection, at, actor }, 0);
        for _ in 0..limits::STEPS {
            let part = self.run_alone(&queue, &step).await?;
            changed += part.changed;
            let Some(next) = part.next else { return Ok(ReprioritizedAll { changed, next: None }) };
            step.at = next;
            if changed >= MAX_JOBS_PER_CALL {
                break;
            }
        }
        Ok(ReprioritizedAll { changed, next: Some(step.at) })
    }
}

impl Transition for Reprioritize<'_> {
    type Outcome = Reprioritized;
    const SCRIPT: &'static str = "reprioritize";

    fn args(&self) -> Args {
        let mut args = Args::default();
        let JobPatch { priority, limits, routing } = &self.patch;
        let mut changes = limits.pack();
        routing.pack(&mut changes);
        let (priority, valid) = (priority.map_or_else(String::new, |p| p.get().to_string()), limits.valid_times());
        args.push("job").push(self.id.code.as_str()).push(priority).push(changes);
        args.number(valid.from).number(valid.before);
        self.actor.push(&mut args);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Reprioritized, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "changed" => {
                let (state, priority) = (fields.state()?, fields.count()?);
                let priority = Priority::new(priority).map_err(|_| broken("a priority"))?;
                Ok(Reprioritized::Changed { state, priority, route: JobRoute::parse(&fields.bytes()?)? })
            }
            "unknown" => Ok(Reprioritized::UnknownJob),
            "state" => Ok(Reprioritized::WrongState(fields.state()?)),
            "untimely" => Ok(Reprioritized::Untimely(self.patch.limits.broken_at(fields.time()?))),
            "delayed" => Ok(Reprioritized::Untimely(self.patch.limits.within_delay())),
            "excluded" => Ok(Reprioritized::NoAssigneeLeft),
            "overlap" => Ok(Reprioritized::TooFewWorkers),
            _ => Err(broken("changed, unknown, state, untimely, delayed, excluded or overlap")),
        }
    }

    /// A priority changes no deadline.
    fn effect(&self, _: &Reprioritized) -> Effect {
        let JobPatch { limits, routing, .. } = &self.patch;
        Effect::moved_if(!limits.is_empty() || !routing.is_empty())
    }
}

impl Transition for ReprioritizeStep<'_> {
    type Outcome = ReprioritizedAll;
    const SCRIPT: &'static str = "reprioritize";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push("queue").push(&self.at.stage).number(self.priority.get().into());
        self.selection.push(&mut args);
        let (score, member) = self.at.place();
        args.push(score).push(member);
        self.actor.push(&mut args);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<ReprioritizedAll, Fault> {
        let ("all", mut fields) = reply.words()? else { return Err(broken("all")) };
        let (changed, more) = (fields.count()?, fields.flag()?);
        let after = Cursor::after(&fields.text()?, &fields.bytes()?);
        Ok(ReprioritizedAll { changed, next: more.then(|| Progress { stage: self.at.stage.clone(), after }) })
    }

    /// A priority changes no deadline.
    fn effect(&self, _: &ReprioritizedAll) -> Effect {
        Effect::None
    }
}
