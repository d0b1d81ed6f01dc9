//! reserve: a worker takes the next jobs, or gets back what it holds.

mod passed;
pub(crate) mod request;
mod several;
mod snapshot;

use intray_redis::{Args, Fault};

pub use self::{passed::PassedLines, snapshot::Snapshot};
use self::{
    request::{Mode, ReserveRequest},
    snapshot::QueueLook,
};
use super::undo::Undo;
use crate::{
    handle::Queues,
    job::{
        BatchId, EligibilityRule, JobId, Line, LockName, Millis, Name, Priority, QueueName, Reason, Reservation, Skill,
        State, WorkerAccess, ids::Nonce,
    },
    layout::routing,
    payload::Json,
    redis::read::Fields,
    scan_cursors::Seeker,
};

/// A reserve call. The queues are tried in this order.
#[derive(Debug, Clone)]
pub struct Reserve {
    pub queues: Vec<QueueName>,
    pub worker: Option<Name>,
    /// The credential of the worker.
    pub access: WorkerAccess,
    /// What the worker can do, in any order, each once.
    pub skills: Vec<Skill>,
    pub limit: u32,
    pub lease_ms: Option<u32>,
    pub nonce: Nonce,
    /// Only this job.
    pub id: Option<JobId>,
}

impl Reserve {
    /// One job of this queue, for a caller without skills.
    pub fn plain(queue: QueueName, worker: Option<Name>) -> Self {
        let (access, skills, lease_ms, id) = Default::default();
        Self { queues: vec![queue], worker, access, skills, limit: 1, lease_ms, nonce: Nonce::random(), id }
    }

    fn seeker(&self, queue: &QueueName) -> Seeker {
        Seeker::new(queue, self.worker.as_ref(), &self.skills)
    }
}

#[derive(Debug)]
pub enum ReserveOutcome {
    Jobs {
        jobs: Vec<Handout>,
        remaining: u64,
        now: Millis,
        undo: Undo,
        /// Queues that could not be asked, because their node is away.
        unavailable: Vec<QueueName>,
    },
    Nothing {
        reason: Reason,
        retry_after_ms: u64,
        remaining: u64,
        now: Millis,
        passed: PassedLines,
        unavailable: Vec<QueueName>,
    },
    UnknownJob,
    /// This job, and the rule that keeps the worker from it.
    NotEligible(EligibilityRule),
    NotWaiting(State),
    QueuePaused,
    WorkerLimit,
}

/// The note of a worker who hands a job over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverNote {
    pub text: String,
    /// `None` for an unnamed worker.
    pub from: Option<Name>,
    pub at: Millis,
}

/// A job with its reservation.
#[derive(Debug)]
pub struct Handout {
    pub reservation: Reservation,
    pub payload: Json,
    /// Counts from 1: hand-outs that ended in fail or expiry since the last requeue, plus this one.
    pub attempt: u32,
    pub deadline: Millis,
    /// Warn the holder this long before the deadline.
    pub warn_ms: u32,
    pub reserved_at: Millis,
    pub priority: Priority,
    pub client: Option<Name>,
    pub locks: Vec<LockName>,
    pub batch: Option<BatchId>,
    pub worker: Option<Name>,
    pub enqueued_at: Millis,
    /// How often the holder has resumed it.
    pub resumes: u32,
    /// The draft of its holder, or of any earlier holder where drafts are shared.
    pub draft: Option<Json>,
    pub traceparent: Option<String>,
    /// From the worker who handed it over.
    pub note: Option<HandoverNote>,
}

impl Queues {
    /// Hands out jobs. A repeated call gets the same jobs again, and a worker at its limit gets those it holds.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reserve(&self, call: Reserve) -> Result<ReserveOutcome, Fault> {
        let batcher = &self.parts.batcher;
        if let Some(id) = &call.id {
            let answer = batcher.call(&id.queue, self.request(&call, Mode::Job(id.code), 1, &id.queue)).await?;
            return Ok(finish(vec![answer], Vec::new()));
        }
        if let [queue] = call.queues.as_slice() {
            let answer = batcher.call(queue, self.request(&call, Mode::Next, call.limit, queue)).await?;
            return Ok(finish(vec![answer], Vec::new()));
        }
        // Boxed, to keep the future of the common case small.
        Box::pin(self.reserve_from_several(&call)).await
    }

    /// The next scan of this caller, and of those like it, begins at the front: a gate got room, perhaps for a job that was passed over.
    pub fn look_from_front(&self, call: &Reserve) {
        call.queues.iter().for_each(|queue| self.parts.scan_cursors.forget(&call.seeker(queue)));
    }

    fn request(&self, call: &Reserve, mode: Mode, limit: u32, queue: &QueueName) -> ReserveRequest {
        ReserveRequest::new(call, mode, limit, queue, &self.parts.scan_cursors)
    }

    /// The state of a queue, as an unnamed caller without reservations sees it, and how many jobs wait in each of these lines.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn snapshot(&self, queue: &QueueName, lines: &[Line]) -> Result<(Snapshot, Vec<u64>), Fault> {
        let look = self.look_at(queue, None, lines).await?;
        Ok((look.snapshot, look.in_lines))
    }

    async fn look_at(&self, queue: &QueueName, call: Option<&Reserve>, lines: &[Line]) -> Result<QueueLook, Fault> {
        let mut args = Args::default();
        let worker = call.and_then(|call| call.worker.as_ref());
        args.push(worker.map_or("", Name::as_str));
        args.push(call.map_or_else(Nonce::random, |call| call.nonce).as_bytes());
        args.put(|out| routing::pack_skills(call.map_or(&[], |call| &call.skills), false, out));
        lines.iter().for_each(|line| _ = args.push(line.to_string()));
        QueueLook::read(Fields::of(&self.run_view("look", queue, &args).await?)?)
    }
}

/// The reply of one queue.
pub(super) struct QueueAnswer {
    /// Each job, and how long it waited in line if this is its first hand-out.
    pub(super) jobs: Vec<(Handout, Option<u64>)>,
    pub(super) undo: Undo,
    pub(super) refusal: Option<ReserveOutcome>,
    pub(super) snapshot: Snapshot,
    pub(super) passed: PassedLines,
}

/// Joins the replies of the queues.
pub(super) fn finish(answers: Vec<QueueAnswer>, unavailable: Vec<QueueName>) -> ReserveOutcome {
    let (mut jobs, mut resumed) = (Vec::new(), Vec::new());
    let (mut undo, mut snapshots, mut passed) = (Undo::default(), Vec::new(), PassedLines::default());
    for answer in answers {
        if let Some(refusal) = answer.refusal {
            return refusal;
        }
        // A queue gives either new jobs or those that the caller had.
        let is_resumed = answer.jobs.iter().any(|(job, _)| job.resumes > 0);
        let those = if is_resumed { &mut resumed } else { &mut jobs };
        those.extend(answer.jobs.into_iter().map(|(job, _)| job));
        undo.join(answer.undo);
        snapshots.push(answer.snapshot);
        passed.join(answer.passed);
    }
    // Those come after new jobs of other queues, oldest first.
    resumed.sort_by_key(|job| job.reserved_at);
    jobs.append(&mut resumed);
    if jobs.is_empty() {
        return Snapshot::nothing(&snapshots, passed, unavailable);
    }
    let now = snapshots.iter().map(|snapshot| snapshot.now).max().unwrap_or(Millis(0));
    let remaining = snapshots.iter().map(|snapshot| snapshot.waiting + snapshot.own_waiting).sum();
    ReserveOutcome::Jobs { jobs, remaining, now, undo, unavailable }
}
