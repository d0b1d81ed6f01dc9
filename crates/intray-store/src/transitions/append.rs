//! append: a producer adds jobs to a batch, all or none.   - -> waiting | blocked | delayed, once the batch is open

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{BatchId, BatchState, Millis, Priority, chance},
    layout::{
        batch::Batch,
        member::{NewMember, marks},
        record::flags,
        route::TimeError,
        task::Lookup,
    },
    record_fields::INHERITED,
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

#[derive(Debug)]
pub enum Appended {
    Batch(Batch),
    UnknownBatch,
    /// The offset is not the end of the batch, or other jobs are there; the batch has `total` jobs.
    Misfit {
        total: u32,
    },
    NotOpen(BatchState),
    QueueFull,
    /// The batch would exceed the limit of jobs.
    TooLong,
    /// Times of the jobs, by their index, break a rule by Redis's clock.
    Untimely(Vec<(usize, TimeError)>),
}

/// One call of the script.
pub(crate) struct Append<'a> {
    pub(crate) id: &'a BatchId,
    pub(crate) purpose: Purpose,
    pub(crate) offset: usize,
    pub(crate) jobs: &'a [NewMember],
    pub(crate) marks: &'a [[u8; 8]],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Fills a batch that is being created.
    Make,
    /// Adds to an open batch.
    Add,
}

impl Queues {
    /// Adds jobs to the end of a batch, all or none. With an offset, a repeated call changes nothing.
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
            let append = Append { id, purpose: Purpose::Add, offset: at as usize, jobs, marks: &marks };
            return match self.run_alone(&id.queue, &append).await? {
                // Another call has appended meanwhile.
                Some(Appended::Misfit { .. }) if offset.is_none() => continue,
                outcome => outcome.ok_or_else(|| broken("what became of an append")),
            };
        }
    }
}

impl Transition for Append<'_> {
    /// `None`: the batch was complete before.
    type Outcome = Option<Appended>;
    const SCRIPT: &'static str = "append";

    fn args(&self) -> Args {
        let mut args = Args::default();
        let purpose = match self.purpose {
            Purpose::Make => "make",
            Purpose::Add => "add",
        };
        args.push(self.id.code.as_str()).number(self.offset as u64).push(purpose);
        for (job, mark) in self.jobs.iter().zip(self.marks) {
            let priority = job.priority.map_or(INHERITED, Priority::get);
            args.put(|tail| job.task.write_tail(flags::MEMBER, priority, "", None, Some(mark), tail));
            args.put(|rare| job.task.write_rare(Lookup::QueueSetting, rare));
        }
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Option<Appended>, Fault> {
        let (word, mut fields) = reply.words()?;
        Ok(Some(match word {
            "appended" => Appended::Batch(Batch::parse(self.id.clone(), &fields.bytes()?)?),
            "made" => return Ok(None),
            "misfit" => Appended::Misfit { total: fields.count()? as u32 },
            "sealed" => Appended::NotOpen(Batch::parse(self.id.clone(), &fields.bytes()?)?.state),
            "unknown" => Appended::UnknownBatch,
            "full" | "overdue" => Appended::QueueFull,
            "long" => Appended::TooLong,
            "untimely" => Appended::Untimely(untimely(self.jobs, fields.time()?)),
            _ => return Err(broken("what became of an append")),
        }))
    }

    fn effect(&self, outcome: &Option<Appended>) -> Effect {
        Effect::moved_if(matches!(outcome, Some(Appended::Batch(_))))
    }
}

/// The rules that times of these jobs break, with the index of the job.
pub(super) fn untimely(jobs: &[NewMember], now: Millis) -> Vec<(usize, TimeError)> {
    let jobs = jobs.iter().enumerate();
    jobs.flat_map(|(index, job)| job.task.untimely_at(now).into_iter().map(move |error| (index, error))).collect()
}
