//! A reserve call to one queue: its packed argument, and its reply.

use std::{collections::BTreeSet, sync::Arc};

use intray_redis::{Args, Fault};
use redis::Value;

use super::{Handout, HandoverNote, PassedLines, QueueAnswer, Reserve, ReserveOutcome, Snapshot, passed::read_place};
use crate::{
    figures::QueueMetrics,
    job::{
        Code, JobId, Millis, Name, QueueName, Reservation, Skill, WorkerAccess,
        ids::{self, Nonce},
    },
    layout::{
        record::{self, Bytes, Header, LiveRecord},
        routing::{self, pack_skills},
    },
    record_fields::{
        LEASE_MS, LONG, SHORT, TIME,
        reserve_fields::{LIMIT, SKIP_OVERDUE, modes},
    },
    redis::{
        gate_mark::GateMark,
        read::{Fields, broken, word},
    },
    scan_cursors::{ScanCursors, Seeker},
    transition::{BatchPolicy, BatchedTransition, Effect, FollowUp, QueueCheck, Reply, Transition},
    transitions::undo::Undo,
};

pub(super) struct ReserveRequest {
    worker: Option<Name>,
    access: WorkerAccess,
    skills: Vec<Skill>,
    /// Where the last scan of this caller, or of one like it, ended.
    cursors: Arc<ScanCursors>,
    seeker: Seeker,
    /// The gates that held jobs up in the parts of the scan before this one.
    gates: BTreeSet<GateMark>,
    is_far: bool,
    nonce: Nonce,
    limit: u32,
    lease_ms: Option<u32>,
    mode: Mode,
}

/// Which jobs a call may get.
pub(super) enum Mode {
    /// The next in line; what the worker holds already, if the call is repeated or the worker is at its limit.
    Next,
    /// Only what the worker holds.
    Resume,
    /// Only this job.
    Job(Code),
}

impl Mode {
    /// The number of the mode in the packed argument; `lua/jobs/ask.lua` reads it.
    fn number(&self, is_fresh: bool) -> u8 {
        match self {
            Self::Next if is_fresh => modes::FRESH,
            Self::Next => modes::NEXT,
            Self::Resume => modes::RESUME,
            Self::Job(_) => modes::THIS,
        }
    }
}

/// Added to the mode: the call waits until no job is overdue.
const WAIT_FOR_OVERDUE: u8 = 0;

impl ReserveRequest {
    pub(super) fn new(call: &Reserve, mode: Mode, limit: u32, queue: &QueueName, cursors: &Arc<ScanCursors>) -> Self {
        let (worker, skills) = (call.worker.clone(), call.skills.clone());
        let seeker = call.seeker(queue);
        Self {
            worker,
            access: call.access.clone(),
            skills,
            cursors: cursors.clone(),
            seeker,
            gates: BTreeSet::new(),
            is_far: false,
            nonce: call.nonce,
            limit,
            lease_ms: call.lease_ms,
            mode,
        }
    }

    /// What the whole scan has passed over; `passed` is from its last part.
    fn whole(&self, passed: PassedLines, marks: &[u8]) -> Result<PassedLines, Fault> {
        let marks = GateMark::parse_all(marks).ok_or_else(|| broken("marks of gates"))?;
        let gates = self.gates.iter().copied().chain(marks).collect();
        Ok(PassedLines { gates, is_far: self.is_far, ..passed })
    }

    /// The scan ended before it had seen all: the next one continues from there.
    fn read_part(&self, snapshot: &mut Snapshot, item: &mut Fields<'_>) -> Result<PassedLines, Fault> {
        snapshot.cut_short = true;
        let (place, member) = (item.slice()?, item.slice()?);
        let (bits, place, marks) = read_place(place).ok_or_else(|| broken("a place"))?;
        snapshot.passed = u64::from(bits[0].saturating_sub(b'0'));
        let passed = self.whole(PassedLines { has_more: true, ..PassedLines::partial(snapshot.passed) }, marks)?;
        self.cursors.remember(&self.seeker, place, member, &passed.gates);
        Ok(passed)
    }

    fn packed_with(&self, flag: u8) -> Args {
        match &self.mode {
            Mode::Job(code) => self.packed(flag, &[code.as_bytes()]),
            Mode::Next | Mode::Resume => self.packed(flag, &[]),
        }
    }

    /// The one argument. `flag` is added to the mode, `tail` follows the claims.
    fn packed(&self, flag: u8, tail: &[&[u8]]) -> Args {
        let limit = u16::try_from(self.limit).unwrap_or(u16::MAX);
        let worker = self.worker.as_ref().map_or("", Name::as_str);
        // A fresh nonce was never used, so the script need not look for jobs of an earlier call.
        let is_fresh = self.worker.is_none() && self.nonce.is_fresh();
        let access = self.access.to_string();
        let size = usize::from(limit) * (Code::LEN + ids::DIGEST_LEN) + worker.len() + access.len();
        let more = tail.iter().map(|part| part.len()).sum::<usize>();
        let skills = self.skills.iter().map(|skill| 1 + skill.as_str().len()).sum::<usize>();
        let mut args = Args::with_room(1, 64 + size + skills + more);
        args.put(|out| {
            out.push(self.mode.number(is_fresh) + flag);
            LIMIT.put(limit.into(), out);
            LEASE_MS.put(self.lease_ms.unwrap_or(0).into(), out);
            out.extend(self.nonce.as_bytes());
            SHORT.put(worker.len() as u64, out);
            out.extend(worker.as_bytes());
            LONG.put(access.len() as u64, out);
            out.extend(access.as_bytes());
            for _ in 0..limit {
                let secret = ids::random_code();
                out.extend(secret.as_bytes());
                out.extend(ids::secret_digest(&secret));
            }
            pack_skills(&self.skills, more > 0, out);
            tail.iter().for_each(|part| out.extend(*part));
        });
        args
    }
}

impl Transition for ReserveRequest {
    type Outcome = QueueAnswer;
    const SCRIPT: &'static str = "reserve";

    fn args(&self) -> Args {
        self.packed_with(WAIT_FOR_OVERDUE)
    }

    fn read(&self, reply: Reply<'_>) -> Result<QueueAnswer, Fault> {
        let (runner, queue) = (reply.runner, reply.queue);
        // How long before a deadline to warn, and the state of the queue.
        let [shared] = reply.shared else { return Err(broken("the shared part of a reserve")) };
        let mut shared = Fields::of(shared)?;
        let (now, warn_ms) = (shared.time()?, shared.count()? as u32);
        let mut snapshot = Snapshot::of(now, shared)?;
        let (word, mut item) = reply.words()?;
        let (word, own) = word.split_once(' ').unwrap_or((word, "0"));
        snapshot.own_waiting = own.parse().map_err(|_| broken("a number"))?;
        let mut passed = PassedLines::default();
        let (mut jobs, mut undo, mut refusal) = (Vec::new(), Undo::default(), None);
        match word {
            "new" | "held" => {
                let is_new = word == "new";
                if is_new && item.is_done() {
                    self.cursors.forget(&self.seeker);
                }
                while !item.is_done() {
                    let (job, waited_ms) = read_handout(queue, warn_ms, &mut item)?;
                    jobs.push((job, waited_ms.filter(|_| is_new)));
                }
                if is_new && !jobs.is_empty() {
                    let taken = |(job, _): &(Handout, _)| (job.reservation.job.code, job.reservation.secret);
                    undo = Undo::of(runner, queue, jobs.iter().map(taken).collect());
                }
            }
            "overdue" | "later" => snapshot.cut_short = true,
            "more" => passed = self.read_part(&mut snapshot, &mut item)?,
            "passed" => {
                let mut why = item.list()?;
                (snapshot.passed, snapshot.own_waiting) = (why.count()?, why.count()?);
                let marks = item.slice()?;
                passed = self.whole(PassedLines::read(snapshot.passed, &mut item)?, marks)?;
                self.cursors.forget(&self.seeker);
            }
            "ineligible" => refusal = Some(ReserveOutcome::NotEligible(item.rule()?)),
            "unknown" => refusal = Some(ReserveOutcome::UnknownJob),
            "state" => refusal = Some(ReserveOutcome::NotWaiting(item.state()?)),
            "paused" => refusal = Some(ReserveOutcome::QueuePaused),
            "limit" => refusal = Some(ReserveOutcome::WorkerLimit),
            _ => return Err(broken("jobs or a refusal")),
        }
        Ok(QueueAnswer { jobs, undo, refusal, snapshot, passed })
    }

    /// A reserve on an unknown queue must not schedule a sweep.
    fn effect(&self, answer: &QueueAnswer) -> Effect {
        Effect::moved_if(!answer.jobs.is_empty() || answer.snapshot.cut_short)
    }

    fn measure(&self, answer: &QueueAnswer, queue: &QueueName, metrics: &QueueMetrics) {
        for ms in answer.jobs.iter().filter_map(|(_, waited_ms)| *waited_ms) {
            metrics.record_wait(queue.as_str(), ms as f64 / 1e3);
        }
    }
}

impl BatchedTransition for ReserveRequest {
    /// The script also reads the reservations of each worker, so fewer calls share one.
    const BATCHING: BatchPolicy =
        BatchPolicy { max_calls: 64, skips_abandoned: true, has_shared: true, ..BatchPolicy::plain(QueueCheck::Open) };

    fn jobs(&self) -> u32 {
        self.limit
    }

    /// Without a member from the front of the line. A caller continues where its last scan ended, if that is further.
    fn args_after(&mut self, place: &[u8], member: &[u8]) -> Args {
        let Some((bits, score, marks)) = read_place(place).filter(|_| !member.is_empty()) else { return self.args() };
        self.gates.extend(GateMark::parse_all(marks).unwrap_or_default());
        self.is_far = true;
        match self.cursors.further(&self.seeker, score, member) {
            Some((further, member, gates)) => {
                self.gates.extend(gates);
                self.packed(WAIT_FOR_OVERDUE, &[bits, further.as_bytes(), b" ", &member])
            }
            None => self.packed(WAIT_FOR_OVERDUE, &[bits, score, b" ", member]),
        }
    }

    fn args_without_waiting(&self) -> Args {
        self.packed_with(SKIP_OVERDUE)
    }

    fn follow_up<'r>(&self, reply: &'r Value) -> FollowUp<'r> {
        match (word(reply), reply) {
            (Some("more"), Value::Array(parts)) => match parts.as_slice() {
                [_, Value::BulkString(place), Value::BulkString(member)] => FollowUp::After(place, member),
                _ => FollowUp::Done,
            },
            (word, _) => FollowUp::of(word),
        }
    }
}

/// When a job was handed over, who did it, and what it says; no note if it says nothing.
fn read_note(raw: &[u8]) -> Result<Option<HandoverNote>, Fault> {
    if raw.is_empty() {
        return Ok(None);
    }
    let mut bytes = Bytes(raw);
    let at = Millis(bytes.uint(TIME.width)?);
    let from = routing::short(&mut bytes)?;
    let text = String::from_utf8(bytes.0.to_vec()).map_err(|_| broken("UTF-8 in a note"))?;
    let from = if from.is_empty() { None } else { Some(Name::parse(&from).map_err(|_| broken("a name"))?) };
    Ok((!text.is_empty()).then_some(HandoverNote { text, from, at }))
}

/// A job, and how long it waited in line if this is its first hand-out.
fn read_handout(queue: &QueueName, warn_ms: u32, answer: &mut Fields<'_>) -> Result<(Handout, Option<u64>), Fault> {
    let mut head = answer.list()?;
    let job = JobId { queue: queue.clone(), code: head.code()? };
    let deadline = head.time()?;
    let header = Header::parse(answer.slice()?)?;
    let live = LiveRecord::parse(answer.slice()?)?;
    let (apart, draft, note) =
        if head.is_done() { Default::default() } else { (answer.slice()?, answer.slice()?, answer.slice()?) };
    let lease = live.lease.ok_or_else(|| broken("a reservation"))?;
    let payload = if apart.is_empty() { header.payload } else { Some(record::json(apart.to_vec())?) };
    let waited_ms = (live.counters[0] == 1).then(|| lease.reserved_at.since(live.arrived_at));
    let handout = Handout {
        batch: header.is_member.then(|| job.batch()),
        reservation: Reservation { job, secret: lease.secret },
        payload: payload.ok_or_else(|| broken("a payload"))?,
        attempt: live.attempts + 1,
        deadline,
        warn_ms,
        reserved_at: lease.reserved_at,
        priority: record::priority(live.score, header.priority.into())?,
        client: header.client,
        locks: header.locks,
        worker: lease.worker,
        enqueued_at: header.enqueued_at,
        resumes: lease.resumes,
        draft: record::json_if_any(draft.to_vec())?,
        traceparent: header.traceparent,
        note: read_note(note)?,
    };
    Ok((handout, waited_ms))
}
