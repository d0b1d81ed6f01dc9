//! forget: an operator removes the queue, which has no jobs, with its settings.

use intray::store::{KeptFor, QueueRemoval};

use super::prelude::*;
use crate::reference::DEFAULT;

#[derive(Debug, Clone)]
pub struct Forget;

impl Operation for Forget {
    const OFTEN: Often = Often { everything: 2, few_jobs: 0, desk: 0, routing: 0, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &["forget Done", "forget Kept(Jobs)"];

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        Just(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let answer = walk.real.handle.forget(&walk.real.queue).await;
        let was_there = walk.model.registered.is_some();
        walk.answered("forget", answer, Queue::remove_queue)?;
        if was_there && walk.model.registered.is_none() {
            // The stream went too; another may count the same millisecond again.
            "0-0".clone_into(&mut walk.last_event);
        }
        Ok(())
    }
}

impl Queue {
    fn remove_queue(&mut self) -> QueueRemoval {
        if !self.jobs.is_empty() || !self.stubs.is_empty() {
            return QueueRemoval::Kept(KeptFor::Jobs);
        }
        if !self.batches.is_empty() {
            return QueueRemoval::Kept(KeptFor::Batches);
        }
        self.chosen.clear();
        self.settings = DEFAULT;
        self.totals.clear();
        self.tops.clear();
        self.turns.clear();
        self.is_vacated = false;
        if self.registered.take().is_some() { QueueRemoval::Done } else { QueueRemoval::Unknown }
    }
}
