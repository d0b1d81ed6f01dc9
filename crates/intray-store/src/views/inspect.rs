//! Reads of jobs and their holders.

use intray_redis::{Args, Fault};
use serde::Serialize;

use crate::{
    handle::Queues,
    layout::cursor::Cursor,
    layout::eligibility::Eligibility,
    layout::ended::{AbandonReason, Completed, Death, completed, death, reasons},
    layout::record::{self, Header, Lease, LiveRecord},
    layout::route::JobRoute,
    redis::read::{Fields, broken},
};
use crate::{
    job::{
        Backoff, BatchId, CancelReason, JobId, LockName, Millis, Name, Priority, QueueName, Reservation, State, limits,
    },
    payload::Json,
};

/// A job.
#[derive(Debug, Serialize)]
pub struct Job {
    #[serde(skip)]
    pub id: JobId,
    pub state: State,
    /// `None` once cancelled.
    pub payload: Option<Json>,
    pub priority: Priority,
    pub client: Option<Name>,
    pub traceparent: Option<String>,
    pub lease_ms: Option<u32>,
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
    pub locks: Vec<LockName>,
    pub batch: Option<BatchId>,
    /// Hand-outs since the last requeue that ended in a fail or expiry.
    pub attempts: u32,
    pub counts: HandoutCounts,
    pub reserved: Option<Held>,
    pub completed: Option<Completed>,
    pub died: Option<Death>,
    pub errors: Vec<JobError>,
    /// Why it was given back, newest first.
    pub reasons: Vec<AbandonReason>,
    pub result: Option<Json>,
    pub late_results: Vec<LateResult>,
    pub enqueued_at: Millis,
    pub due_at: Option<Millis>,
    pub ended_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    pub sla_at: Option<Millis>,
    pub breached: bool,
    pub cancelled: Option<Cancelled>,
    #[serde(flatten)]
    pub eligibility: Eligibility,
}

impl Job {
    /// As it is shown to a worker who does not hold it: without what others said of it.
    #[must_use]
    pub(super) fn without_others(self) -> Self {
        Self { errors: Vec::new(), reasons: Vec::new(), late_results: Vec::new(), ..self }
    }
}

/// Why a job was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cancelled {
    pub reason: CancelReason,
}

/// How the hand-outs of a job ended, since it was enqueued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct HandoutCounts {
    pub handed_out: u32,
    pub expired: u32,
    pub failed: u32,
    pub abandoned: u32,
    pub released: u32,
}

#[derive(Debug, Clone, Serialize)]
pub struct JobError {
    pub at: Millis,
    pub worker: Option<Name>,
    pub error: String,
}

/// A result that came after the reservation was lost.
#[derive(Debug, Serialize)]
pub struct LateResult {
    pub at: Millis,
    pub worker: Option<Name>,
    pub result: Option<Json>,
}

/// A reserved job with its holder.
#[derive(Debug, Clone, Serialize)]
pub struct Held {
    #[serde(skip)]
    pub id: JobId,
    /// Only its own worker may see this.
    #[serde(skip)]
    pub reservation: Reservation,
    pub worker: Option<Name>,
    pub reserved_at: Millis,
    #[serde(rename = "expires_at")]
    pub deadline: Millis,
    pub resumes: u32,
    /// When the job is completed, unless its worker takes that back; `None` for a job that is worked on.
    pub final_at: Option<Millis>,
}

#[derive(Debug)]
pub struct HeldPage {
    /// By worker.
    pub held: Vec<Held>,
    pub next: Option<Cursor>,
    pub now: Millis,
}

impl Queues {
    /// `None`: there is no such job.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn job(&self, id: JobId) -> Result<Option<Job>, Fault> {
        let mut args = Args::default();
        args.push(id.code.as_str());
        let answer = self.run_view("job", &id.queue, &args).await?;
        if crate::redis::read::word(&answer) == Some("unknown") {
            return Ok(None);
        }
        read_job(&id.queue, Fields::of(&answer)?, None).map(|(job, _)| Some(job))
    }

    /// The jobs of a worker in some queues, overdue or not, the oldest first.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reservations(
        &self,
        queues: &[QueueName],
        worker: &Name,
    ) -> Result<(Vec<Held>, Millis, Vec<QueueName>), Fault> {
        let asked = queues.iter().map(|queue| (queue, self.holders(queue, Some(worker), None, limits::HELD)));
        let (pages, mut away) = self.ask_each(asked).await?;
        if pages.is_empty()
            && let Some((_, fault)) = away.pop()
        {
            return Err(fault);
        }
        let now = pages.iter().map(|(_, page)| page.now).max().unwrap_or(Millis(0));
        let mut held: Vec<_> = pages.into_iter().flat_map(|(_, page)| page.held).collect();
        held.sort_by_key(|held| held.reserved_at);
        Ok((held, now, away.into_iter().map(|(queue, _)| queue).collect()))
    }

    /// A page of the reserved jobs of a queue, by worker.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn workers(&self, queue: &QueueName, after: Option<Cursor>, limit: u32) -> Result<HeldPage, Fault> {
        self.holders(queue, None, after, limit).await
    }

    async fn holders(
        &self,
        queue: &QueueName,
        worker: Option<&Name>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<HeldPage, Fault> {
        let mut args = Args::default();
        args.push(worker.map_or("", Name::as_str)).push(after.map_or(Vec::new(), Cursor::into_bytes));
        args.number(limit.into());
        let answered = self.run_view("holders", queue, &args).await?;
        let mut answer = Fields::of(&answered)?;
        let (now, last) = (answer.time()?, answer.bytes()?);
        let held = answer.lists().map(|held| read_held(queue, &mut held?)).collect::<Result<_, _>>()?;
        Ok(HeldPage { held, next: Cursor::of_bytes(last), now })
    }
}

/// A job, and the cursor after it in a list; none for a job in line, whose place is more than its id. `ended`: the number of
/// jobs that had ended up to this one.
pub(super) fn read_job(
    queue: &QueueName,
    mut fields: Fields<'_>,
    ended: Option<u64>,
) -> Result<(Job, Option<Cursor>), Fault> {
    let id = JobId { queue: queue.clone(), code: fields.code()? };
    let header = Header::parse(&fields.bytes()?)?;
    let (apart, raw, result, score) = (fields.bytes()?, fields.bytes()?, fields.bytes()?, fields.text()?);
    let route = JobRoute::parse(&fields.bytes()?)?;
    let live = if raw.is_empty() { None } else { Some(LiveRecord::parse(&raw)?) };
    let late_results = late_results(fields)?;
    let batch = header.is_member.then(|| id.batch());
    let place = match ended {
        Some(ended) => Cursor::after_ended(&score, id.code.as_bytes(), ended),
        None => Cursor::after(&score, id.code.as_bytes()),
    };
    let score = if score.is_empty() { None } else { Some(score.parse::<f64>().map_err(|_| broken("a score"))? as u64) };
    let state = live.as_ref().map_or(State::Waiting, |live| live.state);
    let at = |states: &[State]| if states.contains(&state) { score.map(Millis) } else { None };
    let is_over = matches!(state, State::Completed | State::Cancelled | State::Dead);
    let deadline = at(&[State::Reserved]);
    let reserved = live.as_ref().and_then(|live| live.lease.as_ref()).map(|lease| held_by(&id, lease, deadline));
    let (completed, reasons) = live.as_ref().map(|live| (completed(live), reasons(live))).unwrap_or_default();
    let [handed_out, expired, failed, abandoned, released] = live.as_ref().map_or([0; 5], |live| live.counters);
    let job = Job {
        id,
        state,
        payload: if apart.is_empty() { header.payload } else { Some(record::json(apart)?) },
        priority: priority(state, score, live.as_ref(), header.priority)?,
        client: header.client,
        traceparent: header.traceparent,
        lease_ms: header.lease_ms,
        max_attempts: header.max_attempts,
        backoff: header.backoff,
        locks: header.locks,
        batch,
        attempts: live.as_ref().map_or(0, |live| live.attempts),
        counts: HandoutCounts { handed_out, expired, failed, abandoned, released },
        reserved,
        completed,
        died: live.as_ref().and_then(death),
        reasons,
        errors: live.map(errors).unwrap_or_default(),
        result: record::json_if_any(result)?,
        late_results,
        enqueued_at: header.enqueued_at,
        due_at: at(&[State::Delayed]),
        ended_at: score.filter(|_| is_over).map(record::at_stamp),
        expires_at: route.expires_at,
        sla_at: route.sla_at,
        breached: route.breached,
        cancelled: (state == State::Cancelled).then(|| Cancelled { reason: route.cancel_reason() }),
        eligibility: route.into(),
    };
    Ok((job, place.filter(|_| !matches!(state, State::Waiting | State::Blocked))))
}

fn late_results(mut fields: Fields<'_>) -> Result<Vec<LateResult>, Fault> {
    let mut results = Vec::new();
    while !fields.is_done() {
        let (at, worker, result) = record::late_result(&fields.bytes()?)?;
        results.push(LateResult { at, worker, result });
    }
    Ok(results)
}

fn errors(live: LiveRecord) -> Vec<JobError> {
    live.errors.into_iter().map(|(at, worker, error)| JobError { at, worker, error }).collect()
}

/// The priority of the job's place in line. A job that has ended has no place, and its record keeps the last priority.
fn priority(state: State, score: Option<u64>, live: Option<&LiveRecord>, recorded: u8) -> Result<Priority, Fault> {
    let place = match state {
        State::Waiting => score,
        State::Completed | State::Cancelled => None,
        State::Blocked | State::Delayed | State::Reserved | State::Dead => live.and_then(|live| live.score),
    };
    record::priority(place, live.map_or(recorded, |live| live.priority).into())
}

fn held_by(id: &JobId, lease: &Lease, deadline: Option<Millis>) -> Held {
    let deadline = deadline.unwrap_or(lease.reserved_at);
    Held {
        id: id.clone(),
        reservation: Reservation { job: id.clone(), secret: lease.secret },
        worker: lease.worker.clone(),
        reserved_at: lease.reserved_at,
        deadline,
        resumes: lease.resumes,
        final_at: lease.is_closing.then_some(deadline),
    }
}

pub(crate) fn read_held(queue: &QueueName, fields: &mut Fields<'_>) -> Result<Held, Fault> {
    let id = JobId { queue: queue.clone(), code: fields.code()? };
    let lease = LiveRecord::parse(&fields.bytes()?)?.lease.ok_or_else(|| broken("a reservation"))?;
    Ok(held_by(&id, &lease, Some(fields.time()?)))
}
