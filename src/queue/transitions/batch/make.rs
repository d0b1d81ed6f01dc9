//! How a batch comes into being: closed, filled in bounded steps, and opened when it is whole; or by appending to an open one.

use redis::Value;
use sha2::{Digest, Sha256};

use super::{Batch, handle};
use crate::job::{BatchId, BatchState, Name, Priority};
use crate::queue::{
    Applied, Fault, Queues, chance,
    layout::{record::flags, task::Task},
    redis::read::{Fields, broken, word},
};

/// Jobs and bytes in one step of a creation.
const STEP: usize = 100;
const STEP_BYTES: usize = 1 << 20;

/// A batch as its producer describes it.
#[derive(Debug, Clone)]
pub struct NewBatch {
    pub id: BatchId,
    pub concurrency: Option<u32>,
    /// Of jobs that do not say their own.
    pub priority: Priority,
    pub client: Option<Name>,
    /// Nothing is appended later.
    pub sealed: bool,
    pub jobs: Vec<NewMember>,
    /// With an idempotency key: tells the same call from another under the same key.
    pub fingerprint: Option<[u8; 8]>,
}

#[derive(Debug, Clone)]
pub struct NewMember {
    pub task: Task,
    pub priority: Option<Priority>,
}

#[derive(Debug)]
pub enum BatchCreation {
    Created(Batch),
    /// Another call had the same idempotency key.
    KeyReused,
    QueueFull,
    /// The queue would be new, and there are as many as may be.
    TooManyQueues,
}

#[derive(Debug)]
pub enum Appended {
    Batch(Batch),
    UnknownBatch,
    /// It does not go on from there, or other jobs stand there: the batch has so many.
    Misfit {
        total: u32,
    },
    NotOpen(BatchState),
    QueueFull,
    /// No batch has as many jobs.
    TooLong,
}

impl Queues {
    /// All of it or nothing: nobody is given a job of it before the last one is there.
    ///
    /// # Errors
    /// When Redis is not well. What was begun goes after a minute, or is whole.
    pub async fn create_batch(&self, new: NewBatch) -> Result<BatchCreation, Fault> {
        if !self.seen(&new.id.queue).await? {
            return Ok(BatchCreation::TooManyQueues);
        }
        let mut args = handle(&new.id);
        args.number(new.concurrency.unwrap_or(0).into()).number(new.priority.get().into());
        args.push(new.client.as_ref().map_or("", Name::as_str)).number(new.jobs.len() as u64);
        args.number(new.sealed.into()).push(new.fingerprint.unwrap_or_default());
        // A repeat of the same call finds the jobs that the first one has put there.
        let marks = marks(&new.jobs, &new.fingerprint.unwrap_or_else(chance::random));
        loop {
            let answer = self.run(&self.inner.scripts.create, &new.id.queue, &args).await?;
            match word(&answer) {
                Some("making") => match self.fill(&new, &marks).await {
                    Ok(true) => self.go_on(&new.id, "on").await.map_err(unknown)?,
                    // The same call, sent twice, was given up by the other.
                    Ok(false) => continue,
                    Err(fault) => return Err(self.give_up(&new.id, fault).await),
                },
                Some("made") => {}
                Some("removing") => {
                    self.go_on(&new.id, "on").await?;
                    continue;
                }
                Some("reused") => return Ok(BatchCreation::KeyReused),
                Some("full") => return Ok(BatchCreation::QueueFull),
                _ => return Err(broken("making, made, removing, reused or full")),
            }
            let batch = self.batch(&new.id).await.map_err(unknown)?;
            return batch.map(BatchCreation::Created).ok_or_else(|| broken("the batch that was just made"));
        }
    }

    /// Step by step. False: the batch is gone.
    async fn fill(&self, new: &NewBatch, marks: &[[u8; 8]]) -> Result<bool, Fault> {
        let mut done = 0;
        while done < new.jobs.len() {
            let end = done + step(&new.jobs[done..]);
            let answer = self.put(&new.id, "make", done, &new.jobs[done..end], &marks[done..end]).await;
            match word(&answer.map_err(|fault| if done > 0 { unknown(fault) } else { fault })?) {
                Some("appended") => done = end,
                Some("made") => break,
                Some("unknown") => return Ok(false),
                _ => return Err(broken("appended, made or unknown")),
            }
        }
        Ok(true)
    }

    /// Puts a few jobs behind those that the batch has, all or none. With an offset, the same call again changes nothing.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn append(&self, id: &BatchId, jobs: &[NewMember], offset: Option<u32>) -> Result<Appended, Fault> {
        let salt = offset.map_or_else(chance::random, |_| [0; 8]);
        let marks = marks(jobs, &salt);
        loop {
            let at = match offset {
                Some(offset) => offset,
                None => match self.batch(id).await? {
                    None => return Ok(Appended::UnknownBatch),
                    Some(batch) if batch.state != BatchState::Open => return Ok(Appended::NotOpen(batch.state)),
                    Some(batch) => batch.total as u32,
                },
            };
            let mut answer = Fields::of(self.put(id, "add", at as usize, jobs, &marks).await?)?;
            return match answer.text()?.as_str() {
                "appended" => Batch::parse(id.clone(), &answer.bytes()?).map(Appended::Batch),
                // Somebody else appended meanwhile.
                "misfit" if offset.is_none() => continue,
                "misfit" => Ok(Appended::Misfit { total: answer.count()? as u32 }),
                "sealed" => Ok(Appended::NotOpen(Batch::parse(id.clone(), &answer.bytes()?)?.state)),
                "unknown" => Ok(Appended::UnknownBatch),
                "full" => Ok(Appended::QueueFull),
                "long" => Ok(Appended::TooLong),
                _ => Err(broken("what became of an append")),
            };
        }
    }

    async fn put(
        &self,
        id: &BatchId,
        purpose: &str,
        offset: usize,
        jobs: &[NewMember],
        marks: &[[u8; 8]],
    ) -> Result<Value, Fault> {
        let mut args = handle(id);
        args.number(offset as u64).push(purpose);
        for (job, mark) in jobs.iter().zip(marks) {
            let (has, rest) = job.task.pack();
            args.number((has | flags::MEMBER).into());
            args.push(job.priority.map(|priority| priority.get().to_string()).unwrap_or_default()).push(mark);
            job.task.push_end(rest, &mut args);
        }
        let answer = self.run(&self.inner.scripts.append, &id.queue, &args).await;
        self.inner.stir(&id.queue);
        answer
    }

    /// What cannot be finished goes at once if it can, and else when the sweep finds it stalled.
    async fn give_up(&self, id: &BatchId, fault: Fault) -> Fault {
        match self.go_on(id, "give up").await {
            Ok(()) if matches!(fault, Fault::Full) => fault,
            _ => unknown(fault),
        }
    }
}

/// How many jobs fit into one step; at least one.
fn step(jobs: &[NewMember]) -> usize {
    let mut bytes = 0;
    let fits = |job: &&NewMember| {
        bytes += job.task.payload.len();
        bytes <= STEP_BYTES
    };
    jobs.iter().take(STEP).take_while(fits).count().max(1)
}

/// Of each job: tells the same call from another, whoever traces it.
fn marks(jobs: &[NewMember], salt: &[u8; 8]) -> Vec<[u8; 8]> {
    let mark = |job: &NewMember| {
        let mut hash = Sha256::new();
        hash.update(salt);
        hash.update(job.priority.map_or([255], |priority| [priority.get()]));
        let (has, rest) = Task { traceparent: None, ..job.task.clone() }.pack();
        hash.update(has.to_be_bytes());
        hash.update(format!("{:?}", job.task.delay));
        hash.update(rest);
        hash.update(job.task.payload.as_str());
        let digest = hash.finalize();
        std::array::from_fn(|i| digest[i])
    };
    jobs.iter().map(mark).collect()
}

/// A part of the call was done before.
fn unknown(fault: Fault) -> Fault {
    match fault {
        Fault::Unavailable { why, .. } => Fault::Unavailable { applied: Applied::Unknown, why },
        Fault::Full | Fault::Broken(_) => fault,
    }
}
