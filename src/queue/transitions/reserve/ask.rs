//! One queue is asked for jobs.

use redis::Value;

use super::{
    Handout, ReserveOutcome,
    parts::{Part, Snapshot},
};
use crate::{
    job::{
        Code, JobId, Name, Priority, QueueName, Reservation,
        ids::{self, Nonce},
        limits,
    },
    queue::{
        fault::Fault,
        layout::record::{self, Header, Live},
        redis::{
            args::Args,
            read::{Fields, broken, word},
        },
        script::{Script, Scripts},
        transition::{Effect, Entry, Grouped, Reply, Retry, Ride, Transition},
        transitions::undo::Undo,
    },
};

pub(super) struct Ask {
    pub(super) worker: Option<Name>,
    pub(super) nonce: Nonce,
    pub(super) limit: u32,
    pub(super) lease_ms: Option<u32>,
    pub(super) mode: Mode,
}

/// How the script is to look for jobs.
pub(super) enum Mode {
    Next,
    /// What the worker holds, and nothing else.
    Resume,
    This(Code),
}

/// Bytes of a digest, as the script cuts them.
const DIGEST: usize = 8;

impl Transition for Ask {
    type Outcome = Part;

    fn script<'s>(&self, scripts: &'s Scripts) -> &'s Script {
        &scripts.reserve
    }

    fn args(&self) -> Args {
        let (limit, worker) = (self.limit as usize, self.worker.as_ref().map_or("", Name::as_str));
        let mut args = Args::with_room(10, worker.len() + limit * (Code::LEN + DIGEST) + 128);
        args.push(worker).push(self.nonce.as_bytes());
        args.number(self.limit.into()).number(self.lease_ms.unwrap_or(0).into());
        let (how, id) = match &self.mode {
            // Nobody has been given anything by a call that nobody can have made before.
            Mode::Next if self.worker.is_none() && self.nonce.is_fresh() => ("fresh", ""),
            Mode::Next => ("next", ""),
            Mode::Resume => ("resume", ""),
            Mode::This(code) => ("this", code.as_str()),
        };
        args.push(how).push(id);
        let (mut secrets, mut digests) = (String::with_capacity(limit * Code::LEN), Vec::with_capacity(limit * DIGEST));
        for _ in 0..limit {
            let secret = ids::random_code();
            secrets.push_str(secret.as_str());
            digests.extend(ids::secret_digest(&secret));
        }
        args.push(secrets).push(digests).push("").push("");
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Part, Fault> {
        let (runner, queue) = (reply.runner, reply.queue);
        let (warn_ms, mut snapshot) = read_shared(reply.shared)?;
        let (word, mut item) = reply.words()?;
        let (mut jobs, mut undo, mut refusal) = (Vec::new(), Undo::default(), None);
        match word {
            "new" | "held" => {
                jobs = item.lists().map(|job| read_handout(queue, warn_ms, job?)).collect::<Result<_, _>>()?;
                if word == "new" && !jobs.is_empty() {
                    let taken = |job: &Handout| (job.reservation.job.code, job.reservation.secret);
                    undo = Undo::of(runner, queue, jobs.iter().map(taken).collect());
                }
            }
            "overdue" | "later" => snapshot.cut_short = true,
            "more" => {
                snapshot.cut_short = true;
                snapshot.skipped = !item.slice()?.is_empty();
            }
            "skipped" => snapshot.skipped = true,
            "unknown" => refusal = Some(ReserveOutcome::UnknownJob),
            "state" => refusal = Some(ReserveOutcome::NotWaiting(item.state()?)),
            "paused" => refusal = Some(ReserveOutcome::QueuePaused),
            "limit" => refusal = Some(ReserveOutcome::WorkerLimit),
            _ => return Err(broken("jobs or a refusal")),
        }
        Ok(Part { jobs, undo, refusal, snapshot })
    }

    /// Whoever asks for nothing in a queue that is none makes no work for anybody.
    fn effect(&self, part: &Part) -> Effect {
        Effect::moved_if(!part.jobs.is_empty() || part.snapshot.cut_short)
    }
}

impl Grouped for Ask {
    /// A script looks at what each worker holds, too, so that fewer calls of this kind share one.
    const RIDE: Ride = Ride { most_calls: 64, is_for_somebody: true, entry: Entry::Open, has_shared: true };

    fn jobs(&self) -> u32 {
        self.limit
    }

    fn retry<'r>(&self, reply: &'r Value) -> Retry<'r> {
        match (word(reply), reply) {
            (Some("later"), _) => Retry::Again,
            (Some("overdue"), _) => Retry::AfterSweep,
            (Some("more"), Value::Array(parts)) => match parts.as_slice() {
                [_, Value::BulkString(place), Value::BulkString(member)] => Retry::Behind(place, member),
                _ => Retry::Done,
            },
            _ => Retry::Done,
        }
    }
}

/// How long before a deadline to warn, and what the queue looks like to somebody who finds nothing.
fn read_shared(shared: &[Value]) -> Result<(u32, Snapshot), Fault> {
    let [times, counts] = shared else { return Err(broken("what is said for all calls")) };
    let mut times = Fields::of(times)?;
    let (now, warn_ms) = (times.time()?, times.count()? as u32);
    Ok((warn_ms, Snapshot::of(now, Fields::of(counts)?)?))
}

fn read_handout(queue: &QueueName, warn_ms: u32, mut answer: Fields<'_>) -> Result<Handout, Fault> {
    let job = JobId { queue: queue.clone(), code: answer.code()? };
    let header = Header::parse(answer.slice()?)?;
    let apart = answer.slice()?;
    let live = Live::parse(answer.slice()?)?;
    let deadline = answer.time()?;
    let draft = answer.slice()?;
    let hold = live.hold.ok_or_else(|| broken("a reservation"))?;
    let payload = if apart.is_empty() { header.payload } else { Some(record::json(apart.to_vec())?) };
    let priority = live.score.map_or(header.priority.into(), |score| score >> limits::SPAN_BITS);
    Ok(Handout {
        batch: header.is_member.then(|| job.batch()),
        reservation: Reservation { job, secret: hold.secret },
        payload: payload.ok_or_else(|| broken("a payload"))?,
        attempt: live.attempts + 1,
        deadline,
        warn_ms,
        reserved_at: hold.reserved_at,
        priority: Priority::new(priority).map_err(|_| broken("a priority"))?,
        client: header.client,
        locks: header.locks,
        worker: hold.worker,
        enqueued_at: header.enqueued_at,
        resumes: hold.resumes,
        draft: if draft.is_empty() { None } else { Some(record::json(draft.to_vec())?) },
        traceparent: header.traceparent,
    })
}
