//! create: a producer creates a batch. It is filled in bounded steps and opened when it is complete.

use intray_redis::{Applied, Args, Fault};

use super::append::{Append, Appended, Purpose, untimely};
use crate::{
    handle::Queues,
    job::{BatchId, Millis, Name, Priority, chance},
    layout::{
        batch::Batch,
        member::{NewMember, marks},
        route::{TimeError, ValidTimes},
    },
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// Maximum jobs and bytes of one step.
const STEP_JOBS: usize = 100;
const STEP_BYTES: usize = 1 << 20;

/// A batch as its producer describes it.
#[derive(Debug, Clone)]
pub struct NewBatch {
    pub id: BatchId,
    pub concurrency: Option<u32>,
    /// The priority of jobs without one of their own.
    pub priority: Priority,
    pub client: Option<Name>,
    /// No jobs can be appended later.
    pub sealed: bool,
    pub jobs: Vec<NewMember>,
    /// With an idempotency key: distinguishes a repeated call from another one with the same key.
    pub fingerprint: Option<[u8; 8]>,
}

#[derive(Debug)]
pub enum BatchCreation {
    Created {
        batch: Batch,
        /// An earlier call with the same idempotency key has created it.
        is_known: bool,
    },
    /// Another call has used the idempotency key.
    KeyReused,
    QueueFull,
    /// The queue would be new, and the limit of queues is reached.
    TooManyQueues,
    /// Times of the jobs, by their index, break a rule by Redis's clock.
    Untimely(Vec<(usize, TimeError)>),
}

struct Create<'b>(&'b NewBatch);

/// A reply of the script.
enum CreateReply {
    /// The batch is to be filled.
    Making,
    Made,
    /// A batch with this id is being removed.
    Removing,
    KeyReused,
    QueueFull,
    Untimely(Millis),
}

impl Queues {
    /// Creates all jobs or none: no job is handed out before the last one is stored.
    ///
    /// # Errors
    /// When Redis is not well. An incomplete batch is removed after a minute.
    pub async fn create_batch(&self, new: NewBatch) -> Result<BatchCreation, Fault> {
        if self.parts.registry.register(&new.id.queue).await?.is_refused() {
            return Ok(BatchCreation::TooManyQueues);
        }
        // A repeated call recognizes the jobs of the first one.
        let marks = marks(&new.jobs, &new.fingerprint.unwrap_or_else(chance::random));
        let unknown = |fault: Fault| fault.with(Applied::Unknown);
        loop {
            let is_known = match self.run_alone(&new.id.queue, &Create(&new)).await? {
                CreateReply::Making => match self.fill(&new, &marks).await {
                    Ok(true) => {
                        self.continue_stage(&new.id).await.map_err(unknown)?;
                        false
                    }
                    // A repeat of this call has removed the batch meanwhile.
                    Ok(false) => continue,
                    Err(fault) => return Err(self.undo_create(&new.id, fault).await),
                },
                CreateReply::Made => true,
                CreateReply::Removing => {
                    self.continue_stage(&new.id).await?;
                    continue;
                }
                CreateReply::KeyReused => return Ok(BatchCreation::KeyReused),
                CreateReply::QueueFull => return Ok(BatchCreation::QueueFull),
                CreateReply::Untimely(now) => return Ok(BatchCreation::Untimely(untimely(&new.jobs, now))),
            };
            let batch = self.batch(&new.id).await.map_err(unknown)?;
            let batch = batch.ok_or_else(|| broken("the batch that was just made"))?;
            return Ok(BatchCreation::Created { batch, is_known });
        }
    }

    /// Appends the jobs in steps. False: the batch is gone.
    async fn fill(&self, new: &NewBatch, marks: &[[u8; 8]]) -> Result<bool, Fault> {
        let mut done = 0;
        while done < new.jobs.len() {
            let end = done + step(&new.jobs[done..]);
            let (jobs, marks) = (&new.jobs[done..end], &marks[done..end]);
            let append = Append { id: &new.id, purpose: Purpose::Make, offset: done, jobs, marks };
            let placed = self.run_alone(&new.id.queue, &append).await;
            match placed.map_err(|fault| if done > 0 { fault.with(Applied::Unknown) } else { fault })? {
                Some(Appended::Batch(_)) => done = end,
                None => break,
                Some(Appended::UnknownBatch) => return Ok(false),
                Some(_) => return Err(broken("appended, made or unknown")),
            }
        }
        Ok(true)
    }

    /// Removes an incomplete batch. If that fails too, the sweep removes it later.
    async fn undo_create(&self, id: &BatchId, fault: Fault) -> Fault {
        match self.give_up(id).await {
            Ok(()) if matches!(fault, Fault::Full(_)) => fault,
            _ => fault.with(Applied::Unknown),
        }
    }
}

impl Transition for Create<'_> {
    type Outcome = CreateReply;
    const SCRIPT: &'static str = "create";

    fn args(&self) -> Args {
        let new = self.0;
        let mut args = Args::default();
        args.push(new.id.code.as_str()).number(new.concurrency.unwrap_or(0).into()).number(new.priority.get().into());
        args.push(new.client.as_ref().map_or("", Name::as_str)).number(new.jobs.len() as u64);
        args.number(new.sealed.into()).push(new.fingerprint.unwrap_or_default());
        let limited = new.jobs.iter().map(|job| &job.task).filter(|task| !task.limits.is_empty());
        if let Some(valid) = ValidTimes::of_all(limited.map(|task| task.limits.valid_times(task.delay))) {
            args.number(valid.from).number(valid.before);
        }
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<CreateReply, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "making" => Ok(CreateReply::Making),
            "made" => Ok(CreateReply::Made),
            "removing" => Ok(CreateReply::Removing),
            "reused" => Ok(CreateReply::KeyReused),
            "full" | "overdue" => Ok(CreateReply::QueueFull),
            "untimely" => Ok(CreateReply::Untimely(fields.time()?)),
            _ => Err(broken("making, made, removing, reused, full, overdue or untimely")),
        }
    }

    /// An incomplete batch has a deadline for the sweep.
    fn effect(&self, outcome: &CreateReply) -> Effect {
        Effect::moved_if(matches!(outcome, CreateReply::Making | CreateReply::Removing))
    }
}

/// How many jobs fit into one step, at least one.
fn step(jobs: &[NewMember]) -> usize {
    let mut bytes = 0;
    let fits = |job: &&NewMember| {
        bytes += job.task.payload.len();
        bytes <= STEP_BYTES
    };
    jobs.iter().take(STEP_JOBS).take_while(fits).count().max(1)
}
