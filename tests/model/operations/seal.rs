//! seal: nothing more is appended to a batch.

use intray::store::Batch;

use super::prelude::*;

#[derive(Debug, Clone)]
pub struct Seal(Nth);

impl Operation for Seal {
    const OFTEN: Often = Often { everything: 4, few_jobs: 0, desk: 0, routing: 1, many: 1 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        nth().prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let id = walk.nth_open(self.0);
        let answer = walk.real.handle.seal(&id).await;
        walk.answered("seal", answer.map(ByDebug), |model| ByDebug(model.seal(&id)))
    }
}

impl Queue {
    fn seal(&mut self, id: &BatchId) -> Option<Batch> {
        if self.batches.get(&id.code)?.state == BatchState::Open {
            self.close(id.code);
            self.end_batches();
        }
        self.batch_shown(id)
    }
}
