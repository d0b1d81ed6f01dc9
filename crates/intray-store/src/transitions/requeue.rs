//! requeue: an operator retries dead jobs, and makes a delayed job due at once.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{JobId, QueueName, State, limits},
    layout::{
        action::Actor,
        cursor::Cursor,
        progress::{JobSelection, MAX_JOBS_PER_CALL, Progress},
    },
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// Which jobs to requeue.
#[derive(Debug, Clone)]
pub enum Requeue {
    Job(JobId),
    /// The selected dead jobs of a queue, and the progress of the call before.
    Queue(QueueName, JobSelection, Option<Progress>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requeued {
    /// `next`: where the next call continues, if there may be more.
    Count {
        requeued: u64,
        next: Option<Progress>,
    },
    UnknownJob,
    /// Completed or cancelled.
    WrongState(State),
}

/// One bounded step.
struct RequeueStep<'s> {
    kind: &'static str,
    actor: &'s Actor,
    selection: JobSelection,
    at: Progress,
}

impl Queues {
    /// Requeues one dead job, or a bounded number of the dead jobs of a queue. A single delayed job becomes due at once.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn requeue(&self, what: Requeue, actor: &Actor) -> Result<Requeued, Fault> {
        let (queue, mut step) = match what {
            Requeue::Job(id) => (
                id.queue,
                RequeueStep {
                    kind: "job",
                    actor,
                    selection: JobSelection::default(),
                    at: Progress::begin(id.code.as_str()),
                },
            ),
            Requeue::Queue(queue, selection, after) => (
                queue,
                RequeueStep { kind: "queue", actor, selection, at: after.unwrap_or_else(|| Progress::begin("0")) },
            ),
        };
        if step.kind == "queue" {
            self.catch_up(&queue).await?;
        }
        let mut all = 0;
        for _ in 0..limits::STEPS {
            match self.run_alone(&queue, &step).await? {
                Requeued::Count { requeued, next } => {
                    all += requeued;
                    let Some(next) = next else { return Ok(Requeued::Count { requeued: all, next: None }) };
                    step.at = next;
                }
                refusal @ (Requeued::UnknownJob | Requeued::WrongState(_)) => return Ok(refusal),
            }
            if all >= MAX_JOBS_PER_CALL {
                break;
            }
        }
        Ok(Requeued::Count { requeued: all, next: Some(step.at) })
    }
}

impl Transition for RequeueStep<'_> {
    type Outcome = Requeued;
    const SCRIPT: &'static str = "requeue";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.kind).push(&self.at.stage);
        self.selection.push(&mut args);
        let (score, member) = self.at.place();
        args.push(score).push(member);
        self.actor.push(&mut args);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Requeued, Fault> {
        let (word, mut fields) = reply.words()?;
        let requeued = match word {
            "requeued" => fields.count()?,
            "unknown" => return Ok(Requeued::UnknownJob),
            "state" => return Ok(Requeued::WrongState(fields.state()?)),
            _ => return Err(broken("requeued, unknown or state")),
        };
        if !fields.flag()? {
            return Ok(Requeued::Count { requeued, next: None });
        }
        let stage = fields.count()?.to_string();
        let after = Cursor::after(&fields.text()?, &fields.bytes()?);
        Ok(Requeued::Count { requeued, next: Some(Progress { stage, after }) })
    }

    fn effect(&self, outcome: &Requeued) -> Effect {
        Effect::moved_if(matches!(outcome, Requeued::Count { .. }))
    }
}
