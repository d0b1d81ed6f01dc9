//! cancel of a batch: what nobody holds is cancelled, and what is held does not come back.

use intray::store::BatchCancellation;

use super::prelude::*;

#[derive(Debug, Clone)]
pub struct CancelBatch(Nth);

impl Operation for CancelBatch {
    const OFTEN: Often = Often { everything: 3, few_jobs: 0, desk: 3, routing: 1, many: 1 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        nth().prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let id = walk.nth_batch(self.0);
        let answer = walk.real.handle.cancel_batch(&id, &store::Actor::default()).await;
        walk.answered("cancel of a batch", answer.map(ByDebug), |model| ByDebug(model.cancel_batch(&id)))
    }
}

impl Queue {
    fn cancel_batch(&mut self, id: &BatchId) -> BatchCancellation {
        self.catch_up();
        let Some(batch) = self.batches.get(&id.code) else { return BatchCancellation::UnknownBatch };
        match batch.state {
            BatchState::Completed | BatchState::Failed => return BatchCancellation::Over(batch.state),
            BatchState::Cancelled => {}
            BatchState::Open => {
                self.close(id.code);
                self.call_off(id.code);
            }
            BatchState::Sealed => self.call_off(id.code),
        }
        BatchCancellation::Cancelled(self.batch_shown(id).expect("it is there"))
    }

    fn call_off(&mut self, code: Code) {
        self.batch(code).called_off = true;
        for id in self.batches[&code].members.clone() {
            if matches!(self.jobs[&id].state, State::Waiting | State::Blocked | State::Delayed) {
                self.cancel_now(id, "");
            }
        }
        self.end_batches();
    }
}
