//! retire: the background task lets go of queues that nobody uses.

use super::prelude::*;

const DAY_MS: u64 = 86_400_000;

#[derive(Debug, Clone)]
pub struct Retire;

impl Operation for Retire {
    const OFTEN: Often = Often { everything: 1, few_jobs: 0, desk: 0, routing: 0, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &["retired"];

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        Just(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        walk.real.handle.retire_unseen().await.map_err(broken)?;
        if walk.model.retire() {
            walk.met("retired");
            // The stream went too; another may count the same millisecond again.
            "0-0".clone_into(&mut walk.last_event);
        }
        Ok(())
    }
}

impl Queue {
    /// A queue without jobs and settings that nobody has used for a day is let go. Answers whether it was.
    fn retire(&mut self) -> bool {
        let is_unseen = self.registered.is_some_and(|at| at + DAY_MS <= self.now);
        let is_empty = self.jobs.is_empty() && self.stubs.is_empty() && self.batches.is_empty();
        let goes = is_unseen && is_empty && self.chosen.is_empty();
        if goes {
            self.registered = None;
            self.totals.clear();
            self.tops.clear();
            self.turns.clear();
        }
        goes
    }
}
