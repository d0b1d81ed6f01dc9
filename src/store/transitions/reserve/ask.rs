//! One queue is asked for jobs.

use intray_redis::{Args, Fault};
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
    store::{
        layout::record::{self, Header, Live},
        redis::read::{Fields, broken, word},
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

impl Mode {
    /// As jobs/ask knows it.
    fn number(&self, is_fresh: bool) -> u8 {
        match self {
            Self::Next if is_fresh => 2,
            Self::Next => 1,
            Self::Resume => 3,
            Self::This(_) => 4,
        }
    }
}

/// Beside the mode: whether a call waits until nothing is overdue.
const WAITS: u8 = 0;
const REGARDLESS: u8 = 128;

impl Ask {
    fn packed_with(&self, flag: u8) -> Args {
        match &self.mode {
            Mode::This(code) => self.packed(flag, &[code.as_bytes()]),
            Mode::Next | Mode::Resume => self.packed(flag, &[]),
        }
    }

    /// One argument: `flag` goes with the mode, `behind` is what stands behind the claims.
    fn packed(&self, flag: u8, behind: &[&[u8]]) -> Args {
        let limit = u16::try_from(self.limit).unwrap_or(u16::MAX);
        let worker = self.worker.as_ref().map_or("", Name::as_str);
        // Nobody has been given anything by a call that nobody can have made before.
        let is_fresh = self.worker.is_none() && self.nonce.is_fresh();
        let size = usize::from(limit) * (Code::LEN + ids::DIGEST_LEN) + worker.len();
        let mut args = Args::with_room(1, 64 + size + behind.iter().map(|part| part.len()).sum::<usize>());
        args.put(|out| {
            out.push(self.mode.number(is_fresh) | flag);
            out.extend(limit.to_be_bytes());
            out.extend(self.lease_ms.unwrap_or(0).to_be_bytes());
            out.extend(self.nonce.as_bytes());
            out.push(worker.len() as u8);
            out.extend(worker.as_bytes());
            for _ in 0..limit {
                let secret = ids::random_code();
                out.extend(secret.as_bytes());
                out.extend(ids::secret_digest(&secret));
            }
            behind.iter().for_each(|part| out.extend(*part));
        });
        args
    }
}

impl Transition for Ask {
    type Outcome = Part;
    const SCRIPT: &'static str = "reserve";

    fn args(&self) -> Args {
        self.packed_with(WAITS)
    }

    fn read(&self, reply: Reply<'_>) -> Result<Part, Fault> {
        let (runner, queue) = (reply.runner, reply.queue);
        let (warn_ms, mut snapshot) = read_shared(reply.shared)?;
        let (word, mut item) = reply.words()?;
        let (mut jobs, mut undo, mut refusal) = (Vec::new(), Undo::default(), None);
        match word {
            "new" | "held" => {
                while !item.is_done() {
                    let (job, wait_ms) = read_handout(queue, warn_ms, &mut item)?;
                    jobs.push(job);
                    if let Some(ms) = wait_ms.filter(|_| word == "new") {
                        runner.meter.queues.record_wait(queue.as_str(), ms as f64 / 1e3);
                    }
                }
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

    /// From the front when the place is none.
    fn args_behind(&self, place: &[u8], member: &[u8]) -> Args {
        if place.is_empty() { self.args() } else { self.packed(WAITS, &[place, b" ", member]) }
    }

    fn args_regardless(&self) -> Args {
        self.packed_with(REGARDLESS)
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
    let [said] = shared else { return Err(broken("what is said for all calls")) };
    let mut said = Fields::of(said)?;
    let (now, warn_ms) = (said.time()?, said.count()? as u32);
    Ok((warn_ms, Snapshot::of(now, said)?))
}

/// A job, and how long it stood in line if nobody had it before.
fn read_handout(queue: &QueueName, warn_ms: u32, answer: &mut Fields<'_>) -> Result<(Handout, Option<u64>), Fault> {
    let mut about = answer.list()?;
    let job = JobId { queue: queue.clone(), code: about.code()? };
    let deadline = about.time()?;
    let header = Header::parse(answer.slice()?)?;
    let live = Live::parse(answer.slice()?)?;
    let (apart, draft) = if about.is_done() { Default::default() } else { (answer.slice()?, answer.slice()?) };
    let hold = live.hold.ok_or_else(|| broken("a reservation"))?;
    let payload = if apart.is_empty() { header.payload } else { Some(record::json(apart.to_vec())?) };
    let priority = live.score.map_or(header.priority.into(), |score| score >> limits::SPAN_BITS);
    let waited_ms = (live.counters[0] == 1).then(|| hold.reserved_at.since(live.arrived_at));
    let handout = Handout {
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
    };
    Ok((handout, waited_ms))
}
