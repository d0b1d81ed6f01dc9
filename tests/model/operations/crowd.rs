//! More workers than a batch with an overlap remembers come for one job of it, one after the other, and none of them completes it.

use proptest::collection::vec;

use super::{Abandon, Pass, Reserve, prelude::*};
use crate::fixtures::GUESTS;

const LEASE_MS: u32 = 1;

/// A job of such a batch, and of each worker whether they skip it; else their lease expires.
#[derive(Debug, Clone)]
pub struct Crowd {
    job: Nth,
    skips: Vec<bool>,
}

impl Operation for Crowd {
    const OFTEN: Often = Often { everything: 1, few_jobs: 4, desk: 3, routing: 1, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &["a crowd that is forgotten in part"];

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        let skips = vec(any::<bool>(), GUESTS.len() - 4..=GUESTS.len());
        (nth(), skips).prop_map(|(job, skips)| Self { job, skips }).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let mut shared = walk.model.in_state(State::Waiting);
        shared.retain(|id| walk.model.jobs[id].routing.overlap > 0);
        let Some(&job) = self.job.of(&shared) else { return Ok(()) };
        for (guest, skips) in GUESTS.into_iter().zip(&self.skips) {
            let before = walk.given.len();
            Reserve::of_one(guest, job, LEASE_MS).run(walk).await?;
            if *skips && walk.given.len() > before {
                Abandon::skip_last().run(walk).await?;
            } else {
                Pass::Ms(LEASE_MS).run(walk).await?;
            }
        }
        let parts = walk.model.jobs.get(&job).and_then(|job| job.batch).map(|batch| &walk.model.batches[&batch].parts);
        if parts.is_some_and(|parts| parts.iter().all(|part| part.worker != GUESTS[0])) {
            walk.met("a crowd that is forgotten in part");
        }
        Ok(())
    }
}
