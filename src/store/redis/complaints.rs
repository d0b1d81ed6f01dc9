//! What goes wrong again and again is said once a second, with how often it went wrong since: a log must not grow with a
//! trouble, least of all on the disk whose lack of room is the trouble.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

const PACE: Duration = Duration::from_secs(1);

/// Writes a line: about what, why, and how often it happened.
pub(crate) type Say = fn(&'static str, &str, u64);

/// What was said, by what it was about and why.
#[derive(Default)]
pub(crate) struct Complaints(Mutex<HashMap<(&'static str, String), Said>>);

struct Said {
    say: Say,
    at: Instant,
    /// How often it has happened since.
    unsaid: u64,
}

impl Complaints {
    fn said(&self) -> MutexGuard<'_, HashMap<(&'static str, String), Said>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says it now, unless that was said a moment ago.
    pub(crate) fn about(&self, say: Say, what: &'static str, why: String) {
        let line = self.note(say, what, why, Instant::now());
        if let Some((why, times)) = line {
            say(what, &why, times);
        }
    }

    fn note(&self, say: Say, what: &'static str, why: String, now: Instant) -> Option<(String, u64)> {
        let mut all = self.said();
        let line = (what, why);
        let Some(said) = all.get_mut(&line) else {
            all.insert(line.clone(), Said { say, at: now, unsaid: 0 });
            return Some((line.1, 1));
        };
        said.unsaid += 1;
        (now.duration_since(said.at) >= PACE).then(|| {
            said.at = now;
            (line.1, mem::take(&mut said.unsaid))
        })
    }

    /// Says what was kept back, once the trouble is over, until `stop`.
    pub(crate) async fn follow_up(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(PACE)).await.is_some() {
            for (what, why, said) in self.left_over(Instant::now()) {
                (said.say)(what, &why, said.unsaid);
            }
        }
    }

    /// Forgets what has not been said for a while; answers what is left to say of it.
    fn left_over(&self, now: Instant) -> Vec<(&'static str, String, Said)> {
        let old = |said: &Said| now.duration_since(said.at) >= PACE;
        let gone = self.said().extract_if(|_, said| old(said)).collect::<Vec<_>>();
        gone.into_iter().filter(|(_, said)| said.unsaid > 0).map(|((what, why), said)| (what, why, said)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_counted_and_few_are_said() {
        let (complaints, begin) = (Complaints::default(), Instant::now());
        let mut said = Vec::new();
        let at = |ms| begin + Duration::from_millis(ms);
        for ms in (0..2_500).step_by(10) {
            said.extend(complaints.note(|_, _, _| {}, "a script", "READONLY".to_owned(), at(ms)));
        }
        assert_eq!(said.iter().map(|(_, times)| *times).collect::<Vec<_>>(), [1, 100, 100]);
        assert_eq!(complaints.note(|_, _, _| {}, "another", "READONLY".to_owned(), at(0)).expect("news").1, 1);
        assert!(complaints.note(|_, _, _| {}, "a script", "BUSY".to_owned(), at(0)).is_some());
        let left = complaints.left_over(at(3_000));
        assert_eq!(left.iter().map(|(what, _, said)| (*what, said.unsaid)).collect::<Vec<_>>(), [("a script", 49)]);
        assert!(complaints.said().is_empty(), "and nothing is kept for ever");
    }
}
