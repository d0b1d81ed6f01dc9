//! What the model says that Redis holds.

use std::collections::BTreeMap;

use intray::{
    job::{Code, State},
    store::StateCounts,
};

use super::{Batch, Gate, Hold, Job, Part, Queue, Stub};
use crate::{
    fixtures::{TRACE, count, secret_digest, set_of},
    real::{
        batch::BatchRow,
        record::{self, CLOSING, GRACE, Header, Live, REPLAYED, RESUMED, Row, SKIPS, UNDONE},
        route::PartRow,
    },
};

/// A larger payload lives apart.
const INLINE: usize = 1_024;
pub const LATE_RESULTS: usize = 5;

impl Queue {
    pub fn rows(&self) -> BTreeMap<String, Row> {
        let jobs = self.jobs.iter().map(|(id, job)| (id.as_str().to_owned(), job.row()));
        jobs.chain(self.stubs.iter().map(|(id, stub)| (id.as_str().to_owned(), stub.row()))).collect()
    }

    pub fn held_rows(&self) -> Vec<String> {
        let member = |(id, hold): (&str, &Hold)| format!("{}\0{}\0{id}", hold.worker, hold.nonce);
        let holds = self.jobs.iter().filter_map(|(id, job)| Some((id.as_str(), job.hold.as_ref()?)));
        let holds = holds.filter(|(_, hold)| hold.closing.is_none());
        let mut held: Vec<_> = holds.map(member).collect();
        held.sort();
        held
    }

    /// Recounted, not kept.
    pub fn counts_of(&self, batch: &Batch) -> StateCounts {
        count(batch.members.iter().map(|id| self.jobs[id].state))
    }

    pub fn batch_rows(&self) -> BTreeMap<String, BatchRow> {
        let row = |(code, batch): (&Code, &Batch)| {
            let row = BatchRow {
                state: batch.state,
                called_off: batch.called_off,
                priority: batch.priority,
                client: batch.client.to_owned(),
                created_at: batch.created_at,
                sealed_at: batch.sealed_at.unwrap_or(0),
                ended_at: batch.ended_at.unwrap_or(0),
                total: batch.members.len() as u32,
                concurrency: batch.concurrency.unwrap_or(0),
                counts: self.counts_of(batch),
                fingerprint: batch.fingerprint.unwrap_or_default(),
                timer: Some(batch.timer.unwrap_or(u64::MAX)),
                parts: batch.parts.iter().map(Part::row).collect(),
            };
            (code.as_str().to_owned(), row)
        };
        self.batches.iter().map(row).collect()
    }

    /// A lock's holder; use and capacity of a batch with a limit.
    pub fn gate_rows(&self) -> BTreeMap<String, Vec<u8>> {
        let holds = self.jobs.iter().filter(|(_, job)| job.hold.is_some());
        let locks = holds.flat_map(|(id, job)| job.options.locks.iter().map(move |lock| (Gate::Lock(lock), id)));
        let mut rows: BTreeMap<_, _> = locks.map(|(gate, id)| (gate.key(), id.as_str().as_bytes().to_vec())).collect();
        for code in self.batches.keys().copied() {
            if let Some(capacity) = self.capacity(Gate::Batch(code)) {
                let used = self.used(Gate::Batch(code)).to_be_bytes();
                rows.insert(Gate::Batch(code).key(), [used, capacity.to_be_bytes()].concat());
            }
        }
        rows
    }
}

impl Job {
    fn row(&self) -> Row {
        let set = if self.is_restricted() { "restricted" } else { set_of(self.state) };
        let payload = self.options.payload;
        let is_large = payload.len() > INLINE;
        let header = Header {
            is_stub: false,
            is_apart: is_large,
            stamp: self.stamp,
            priority: self.wanted_priority,
            client: self.client.to_owned(),
            digest: self.key.map(|key| key.to_vec()),
            fingerprint: self.fingerprint.map(|fingerprint| fingerprint.to_vec()),
            lease_ms: self.options.lease_ms,
            max_attempts: self.options.max_attempts,
            backoff: self.options.backoff,
            locks: self.options.locks.iter().map(|lock| (*lock).to_owned()).collect(),
            is_member: self.batch.is_some(),
            is_routed: self.is_routed,
            trace: if self.options.traced { TRACE.to_owned() } else { String::new() },
            rest: if is_large { String::new() } else { payload.to_owned() },
        };
        let apart = is_large.then(|| payload.to_owned());
        // Only the record of a batch's job says that it has ended.
        let is_kept = self.batch.is_some() && set == "ended";
        let sets = if is_kept { Vec::new() } else { vec![(set, self.score())] };
        let draft = self.draft.as_ref().map(|draft| (draft.owner.clone(), draft.text.to_owned()));
        let (route, overlap, alarm) = (self.route(), self.routing.overlap, self.alarm());
        let uncut = self.hold.as_ref().map(|hold| hold.uncut);
        let uncut = uncut.filter(|uncut| self.expires.is_some_and(|expires| expires < *uncut));
        Row { sets, header, apart, live: self.live(), results: self.results(), draft, route, overlap, uncut, alarm }
    }

    fn live(&self) -> Live {
        let note = |note: &super::Note| (note.at, note.worker.to_owned(), note.text.clone());
        let ended =
            |e: &super::Ended| (e.digest.to_vec(), e.how.number, e.at, e.reserved_at, e.worker.to_owned(), e.note());
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
        if let Some(closing) = self.closing() {
            let mut value = closing.at.to_be_bytes()[2..].to_vec();
            value.extend(&closing.uncut.to_be_bytes()[2..]);
            value.extend(closing.result.bytes());
            results.insert("\0c".to_owned(), value);
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
        let marks = [
            (self.grace.is_some(), GRACE),
            (self.replayed, REPLAYED),
            (skips, SKIPS),
            (self.closing.is_some(), CLOSING),
            (self.undone.is_some(), UNDONE),
        ];
        record::Hold {
            secret: self.secret.map_or(String::new(), |secret| secret.as_str().to_owned()),
            digest: self.secret.map_or(Vec::new(), |secret| secret_digest(&secret).to_vec()),
            nonce: self.nonce.clone().into_bytes(),
            reserved_at: self.reserved_at,
            lease_ms: self.lease_ms,
            resumes: self.resumes,
            marks: marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark).sum::<u8>()
                + self.resumed_since() as u8 * RESUMED,
            worker: self.worker.to_owned(),
        }
    }
}

impl Part {
    fn row(&self) -> PartRow {
        (self.how as u8, self.job.as_str().to_owned(), self.worker.to_owned())
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
        let (route, overlap, uncut, alarm) = Default::default();
        Row {
            sets: vec![("ended", self.at)],
            header,
            apart: None,
            live,
            results: Vec::new(),
            draft: None,
            route,
            overlap,
            uncut,
            alarm,
        }
    }
}
