//! Where the last scan of a caller ended that passed too many jobs over. The next one continues there, so that jobs which a caller may not
//! have never hide one that it may.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{
    job::{Name, QueueName, Skill},
    redis::gate_mark::GateMark,
};

/// How long a cursor counts: what lies before it, except for the first jobs, is not scanned again before.
const CURSOR_TTL: Duration = Duration::from_secs(60);
/// Above this many all are forgotten, which costs each caller one more scan.
const MAX_CURSORS: usize = 10_000;
/// More gates than this are not kept: a waiter scans again after some seconds anyway.
const MAX_GATES: usize = 1_000;

#[derive(Default)]
pub(crate) struct ScanCursors(Mutex<HashMap<Seeker, ScanCursor>>);

/// Whose cursor it is in a queue: callers without a name may have the same jobs if their skills are the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Seeker {
    queue: QueueName,
    worker: Option<Name>,
    /// In order; none if there is a name.
    skills: Vec<Skill>,
}

impl Seeker {
    pub(crate) fn new(queue: &QueueName, worker: Option<&Name>, skills: &[Skill]) -> Self {
        let mut skills = if worker.is_none() { skills.to_vec() } else { Vec::new() };
        skills.sort_unstable();
        Self { queue: queue.clone(), worker: worker.cloned(), skills }
    }
}

struct ScanCursor {
    score: u64,
    /// The arrival and the id of a job.
    member: Vec<u8>,
    /// What held jobs up before it.
    gates: BTreeSet<GateMark>,
    since: Instant,
}

impl ScanCursors {
    /// The cursor of a caller, if it is after this place, and the gates that held it up before.
    pub(crate) fn further(
        &self,
        of: &Seeker,
        score: &[u8],
        member: &[u8],
    ) -> Option<(String, Vec<u8>, BTreeSet<GateMark>)> {
        let cursors = self.0.lock();
        let cursor = cursors.get(of).filter(|cursor| cursor.since.elapsed() < CURSOR_TTL)?;
        let is_after = (cursor.score, cursor.member.as_slice()) > (number(score)?, member);
        is_after.then(|| (cursor.score.to_string(), cursor.member.clone(), cursor.gates.clone()))
    }

    /// The scan of a caller ended here. What it passes over from the front on is scanned again a minute after the first of its scans.
    pub(crate) fn remember(&self, of: &Seeker, score: &[u8], member: &[u8], gates: &BTreeSet<GateMark>) {
        let Some(score) = number(score) else { return };
        let mut cursors = self.0.lock();
        if cursors.len() >= MAX_CURSORS && !cursors.contains_key(of) {
            cursors.clear();
        }
        let since = cursors.get(of).map(|cursor| cursor.since).filter(|since| since.elapsed() < CURSOR_TTL);
        let gates = gates.iter().take(MAX_GATES).copied().collect();
        let cursor = ScanCursor { score, member: member.to_vec(), gates, since: since.unwrap_or_else(Instant::now) };
        cursors.insert(of.clone(), cursor);
    }

    /// The caller has scanned all jobs, or begins again.
    pub(crate) fn forget(&self, of: &Seeker) {
        let mut cursors = self.0.lock();
        if !cursors.is_empty() {
            cursors.remove(of);
        }
    }
}

fn number(score: &[u8]) -> Option<u64> {
    std::str::from_utf8(score).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeker(worker: &str, skills: &[&str]) -> Seeker {
        let worker = (!worker.is_empty()).then(|| Name::parse(worker).expect("a name"));
        let skills: Vec<_> = skills.iter().map(|skill| Skill::parse(skill).expect("a skill")).collect();
        Seeker::new(&QueueName::default(), worker.as_ref(), &skills)
    }

    #[test]
    fn callers_without_a_name_and_with_equal_skills_share_a_cursor() {
        let cursors = ScanCursors::default();
        cursors.remember(&seeker("", &["de", "fr"]), b"20", b"b", &BTreeSet::new());
        let found = |worker, skills: &[&str]| cursors.further(&seeker(worker, skills), b"1", b"a").is_some();
        assert!(found("", &["de", "fr"]) && found("", &["fr", "de"]));
        assert!(!found("", &["de"]) && !found("", &[]) && !found("ann", &["de", "fr"]));
        cursors.remember(&seeker("ann", &["de"]), b"20", b"b", &BTreeSet::new());
        assert!(found("ann", &[]) && found("ann", &["fr"]));
    }

    #[test]
    fn scan_continues_after_the_cursor_of_its_worker() {
        let (cursors, ann) = (ScanCursors::default(), seeker("ann", &[]));
        assert_eq!(cursors.further(&ann, b"1", b"a"), None);
        let gates: BTreeSet<_> = GateMark::parse("0000000a").into_iter().collect();
        cursors.remember(&ann, b"20", b"b", &gates);
        for (score, member, is_before) in
            [(&b"3"[..], &b"c"[..], true), (b"20", b"a", true), (b"20", b"b", false), (b"100", b"a", false)]
        {
            let further = cursors.further(&ann, score, member);
            assert_eq!(
                further,
                is_before.then(|| ("20".to_owned(), b"b".to_vec(), gates.clone())),
                "{score:?} {member:?}"
            );
        }
        assert_eq!(cursors.further(&seeker("bob", &[]), b"1", b"a"), None);
        cursors.forget(&ann);
        assert_eq!(cursors.further(&ann, b"1", b"a"), None);
    }
}
