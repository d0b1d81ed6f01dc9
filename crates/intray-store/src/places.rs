//! Where the last look of a caller ended that passed too many jobs over. The next one goes on there, so that jobs which a caller may not
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

/// How long a place counts: what lies before it, but for the first jobs, is not looked at for so long.
const KEPT: Duration = Duration::from_secs(60);
/// Above this many all are forgotten, which costs each caller one more look.
const MAX_PLACES: usize = 10_000;
/// Of more gates than this not all are kept: a waiter looks again after some seconds anyway.
const MAX_GATES: usize = 1_000;

#[derive(Default)]
pub(crate) struct Places(Mutex<HashMap<Seeker, PassedPlace>>);

/// Whose place it is in a queue: callers without a name may have the same jobs if their skills are the same.
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

struct PassedPlace {
    score: u64,
    /// The arrival and the id of a job.
    member: Vec<u8>,
    /// What held jobs up before it.
    gates: BTreeSet<GateMark>,
    since: Instant,
}

impl Places {
    /// The place of a caller, if it is behind this one, and the gates that held it up before.
    pub(crate) fn further(
        &self,
        of: &Seeker,
        score: &[u8],
        member: &[u8],
    ) -> Option<(String, Vec<u8>, BTreeSet<GateMark>)> {
        let places = self.0.lock();
        let place = places.get(of).filter(|place| place.since.elapsed() < KEPT)?;
        let is_behind = (place.score, place.member.as_slice()) > (number(score)?, member);
        is_behind.then(|| (place.score.to_string(), place.member.clone(), place.gates.clone()))
    }

    /// The look of a caller ended here. What it passes over from the front on is looked at again a minute after the first of its looks.
    pub(crate) fn remember(&self, of: &Seeker, score: &[u8], member: &[u8], gates: &BTreeSet<GateMark>) {
        let Some(score) = number(score) else { return };
        let mut places = self.0.lock();
        if places.len() >= MAX_PLACES && !places.contains_key(of) {
            places.clear();
        }
        let since = places.get(of).map(|place| place.since).filter(|since| since.elapsed() < KEPT);
        let gates = gates.iter().take(MAX_GATES).copied().collect();
        let place = PassedPlace { score, member: member.to_vec(), gates, since: since.unwrap_or_else(Instant::now) };
        places.insert(of.clone(), place);
    }

    /// The caller has looked at all jobs, or begins again.
    pub(crate) fn forget(&self, of: &Seeker) {
        let mut places = self.0.lock();
        if !places.is_empty() {
            places.remove(of);
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
    fn callers_without_a_name_and_with_equal_skills_share_a_place() {
        let places = Places::default();
        places.remember(&seeker("", &["de", "fr"]), b"20", b"b", &BTreeSet::new());
        let found = |worker, skills: &[&str]| places.further(&seeker(worker, skills), b"1", b"a").is_some();
        assert!(found("", &["de", "fr"]) && found("", &["fr", "de"]));
        assert!(!found("", &["de"]) && !found("", &[]) && !found("ann", &["de", "fr"]));
        places.remember(&seeker("ann", &["de"]), b"20", b"b", &BTreeSet::new());
        assert!(found("ann", &[]) && found("ann", &["fr"]));
    }

    #[test]
    fn look_goes_on_behind_the_place_of_its_worker() {
        let (places, ann) = (Places::default(), seeker("ann", &[]));
        assert_eq!(places.further(&ann, b"1", b"a"), None);
        let gates: BTreeSet<_> = GateMark::parse("0000000a").into_iter().collect();
        places.remember(&ann, b"20", b"b", &gates);
        for (score, member, is_before) in
            [(&b"3"[..], &b"c"[..], true), (b"20", b"a", true), (b"20", b"b", false), (b"100", b"a", false)]
        {
            let further = places.further(&ann, score, member);
            assert_eq!(
                further,
                is_before.then(|| ("20".to_owned(), b"b".to_vec(), gates.clone())),
                "{score:?} {member:?}"
            );
        }
        assert_eq!(places.further(&seeker("bob", &[]), b"1", b"a"), None);
        places.forget(&ann);
        assert_eq!(places.further(&ann, b"1", b"a"), None);
    }
}
