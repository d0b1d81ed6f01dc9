//! requeue: an operator gives dead jobs another life, and runs delayed ones at once.

use intray_redis::{Args, Fault};

use crate::{
    job::{JobId, Name, QueueName, State, limits},
    store::{
        handle::Queues,
        layout::{
            cursor::Cursor,
            progress::{JobSelection, MOST, Progress},
        },
        redis::read::broken,
        transition::{Effect, Reply, Transition},
    },
};

/// What an operator gives another life.
#[derive(Debug, Clone)]
pub enum Requeue {
    Job(JobId),
    /// All that is dead in a queue, as far as it is meant; and where the call before has come to.
    Queue(QueueName, JobSelection, Option<Progress>),
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

/// One bounded step.
struct RequeueStep<'s> {
    kind: &'static str,
    by: Option<&'s Name>,
    meant: JobSelection,
    at: Progress,
}

impl Queues {
    /// Gives one dead job, or those of a queue that are dead by now, another life; runs a delayed one at once.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn requeue(&self, what: Requeue, by: Option<&Name>) -> Result<Requeued, Fault> {
        let (queue, mut step) = match what {
            Requeue::Job(id) => (
                id.queue,
                RequeueStep { kind: "job", by, meant: JobSelection::default(), at: Progress::begin(id.code.as_str()) },
            ),
            Requeue::Queue(queue, meant, after) => {
                (queue, RequeueStep { kind: "queue", by, meant, at: after.unwrap_or_else(|| Progress::begin("0")) })
            }
        };
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
            if all >= MOST {
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
        self.meant.push(&mut args);
        let (score, member) = self.at.place();
        args.push(score).push(member).push(self.by.map_or("", Name::as_str));
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
