//! What the model says that Redis holds and that lookers see.

use std::collections::BTreeMap;

use intray::{
    job::{Millis, State},
    queue::{QueueInfo, StateCounts, Totals},
};

use super::{Gate, How, Job, Queue, Stub, job::Hold};
use crate::{
    real::record::{self, GRACE, Header, Live, REPLAYED, Row, SKIPS},
    words::{SPAN, STAMPS, TRACE, secret_digest},
};

/// A larger payload lives apart.
const INLINE: usize = 1_024;
const LATE_RESULTS: usize = 5;

impl Queue {
    pub fn rows(&self) -> BTreeMap<String, Row> {
        let jobs = self.jobs.iter().map(|(id, job)| (id.as_str().to_owned(), job.row()));
        jobs.chain(self.stubs.iter().map(|(id, stub)| (id.as_str().to_owned(), stub.row()))).collect()
    }

    pub fn held(&self) -> Vec<String> {
        let member = |(id, hold): (&str, &Hold)| format!("{}\0{}\0{id}", hold.worker, hold.nonce);
        let holds = self.jobs.iter().filter_map(|(id, job)| Some((id.as_str(), job.hold.as_ref()?)));
        let mut held: Vec<_> = holds.map(member).collect();
        held.sort();
        held
    }

    pub fn counts(&self) -> StateCounts {
        let number = |state| self.number(&[state]);
        StateCounts {
            waiting: number(State::Waiting),
            blocked: number(State::Blocked),
            delayed: number(State::Delayed),
            reserved: number(State::Reserved),
            completed: number(State::Completed),
            dead: number(State::Dead),
            cancelled: number(State::Cancelled),
        }
    }

    /// Field by field, as an operator sees it.
    pub fn info(&self, queue: &QueueInfo) -> QueueInfo {
        let total = |name: &str| self.totals.get(name).copied().unwrap_or(0).cast_unsigned();
        let reserved = self.in_state(State::Reserved);
        let overdue = reserved.iter().filter(|id| self.jobs[id].is_overdue(self.now)).count() as u64;
        let soonest = reserved.first().map(|id| Millis(self.jobs[id].score()));
        let mut firsts = BTreeMap::new();
        for id in self.in_state(State::Waiting) {
            firsts.entry(self.jobs[&id].score() / SPAN).or_insert(self.jobs[&id].stamp / STAMPS);
        }
        QueueInfo {
            name: queue.name.clone(),
            counts: self.counts(),
            oldest_waiting_ms: firsts.values().min().map(|at| self.now.saturating_sub(*at)),
            live: reserved.len() as u64 - overdue,
            overdue,
            soonest_expires_in_ms: soonest.map(|at| at.since(Millis(self.now))),
            settings: self.settings.clone(),
            totals: Totals::of(|one| total(one.word())),
        }
    }
}

impl Job {
    fn row(&self) -> Row {
        let set = match self.state {
            State::Waiting => "inbound",
            State::Blocked => "parked",
            State::Delayed => "delayed",
            State::Reserved => "reserved",
            State::Dead => "dead",
            State::Completed | State::Cancelled => "ended",
        };
        let payload = self.has_payload.then_some(self.said.payload);
        let is_large = |payload: &&str| payload.len() > INLINE;
        let header = Header {
            is_stub: false,
            stamp: self.stamp,
            priority: self.wanted_priority,
            client: self.client.to_owned(),
            digest: self.key.map(|key| key.to_vec()),
            fingerprint: self.fingerprint.map(|fingerprint| fingerprint.to_vec()),
            lease_ms: self.said.lease_ms,
            max_attempts: self.said.max_attempts,
            backoff: self.said.backoff,
            locks: self.said.locks.iter().map(|lock| (*lock).to_owned()).collect(),
            is_member: self.batch.is_some(),
            trace: if self.said.traced { TRACE.to_owned() } else { String::new() },
            rest: payload.filter(|payload| !is_large(payload)).unwrap_or_default().to_owned(),
        };
        let apart = payload.filter(is_large).map(str::to_owned);
        // Of a batch's job that has ended the record alone says so.
        let is_kept = self.batch.is_some() && set == "ended";
        let sets = if is_kept { Vec::new() } else { vec![(set, self.score())] };
        let draft = self.draft.map(|draft| (draft.worker.to_owned(), draft.text.to_owned()));
        Row { sets, header, apart, live: self.live(), results: self.results(), draft }
    }

    fn live(&self) -> Live {
        let note = |note: &super::Note| (note.at, note.worker.to_owned(), note.text.clone());
        let ended = |e: &super::Ended| {
            (e.digest.to_vec(), number(e.how), e.at, e.reserved_at, e.worker.to_owned(), e.reason.to_owned())
        };
        let is_kept = self.batch.is_some() && matches!(self.state, State::Completed | State::Cancelled);
        Live {
            state: self.state,
            place: if is_kept { Some(self.at) } else { self.place },
            arrival: self.arrival,
            is_unserved: self.is_unserved,
            priority: self.priority,
            counts: self.counts,
            attempts: self.attempts,
            late: self.late.len() as u16,
            hold: self.hold.as_ref().map(Hold::row),
            ring: self.ring.iter().map(ended).collect(),
            errors: self.errors.iter().map(note).collect(),
            gate: self.parked_at.map_or(String::new(), Gate::key),
            skips: self.skips.iter().map(|worker| (*worker).to_owned()).collect(),
        }
    }

    fn results(&self) -> Vec<(String, Vec<u8>)> {
        let mut results = BTreeMap::new();
        if let Some(result) = self.result {
            results.insert(String::new(), result.as_bytes().to_vec());
        }
        for (n, late) in self.late.iter().enumerate() {
            let mut value = late.digest.to_vec();
            value.extend(&late.at.to_be_bytes()[2..]);
            value.push(late.worker.len() as u8);
            value.extend(late.worker.bytes().chain(late.result.bytes()));
            results.insert(format!("\0{}", n % LATE_RESULTS), value);
        }
        results.into_iter().collect()
    }
}

impl Hold {
    fn row(&self) -> record::Hold {
        let skips = self.grace.is_some_and(|grace| grace.skips);
        let marks = [(self.grace.is_some(), GRACE), (self.replayed, REPLAYED), (skips, SKIPS)];
        record::Hold {
            secret: self.secret.map_or(String::new(), |secret| secret.as_str().to_owned()),
            digest: self.secret.map_or(Vec::new(), |secret| secret_digest(&secret).to_vec()),
            nonce: self.nonce.clone(),
            reserved_at: self.reserved_at,
            lease_ms: self.lease_ms,
            resumes: self.resumes,
            marks: marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark).sum(),
            worker: self.worker.to_owned(),
        }
    }
}

impl Gate {
    /// As it is written: no lock's name holds a NUL.
    pub fn key(self) -> String {
        match self {
            Self::Lock(name) => name.to_owned(),
            Self::Batch(code) => format!("\0{}", code.as_str()),
        }
    }
}

impl Stub {
    fn row(&self) -> Row {
        let header = Header {
            is_stub: true,
            stamp: self.at,
            fingerprint: Some(self.fingerprint.to_vec()),
            rest: format!("{} {}", self.twin.as_str(), self.state.word()),
            ..Header::default()
        };
        let live = Live::untouched(None, 0, self.at);
        Row { sets: vec![("ended", self.at)], header, apart: None, live, results: Vec::new(), draft: None }
    }
}

/// How an ending is written.
fn number(how: How) -> u8 {
    match how {
        How::Expired => 1,
        How::Abandoned => 2,
        How::Failed => 3,
        How::Released => 4,
        How::Cancelled => 5,
        How::Done => 6,
        How::DoneLate => 7,
        How::GraceOver => 8,
    }
}
