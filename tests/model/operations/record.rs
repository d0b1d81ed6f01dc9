//! record: what was counted is entered into the history, each once, whenever that is asked for.

use intray::{job::Total, store::HistoryStep};

use super::prelude::*;

/// Nothing of a walk is forgotten before.
const NINETY_DAYS_MS: u64 = 90 * 86_400_000;

#[derive(Debug, Clone)]
pub struct Record;

impl Operation for Record {
    const OFTEN: Often = Often { everything: 4, few_jobs: 3, desk: 3, routing: 1, many: 1 };
    const MUST_BE_MET: &'static [&'static str] = &["a minute was entered", "a minute waits for its end"];

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        Just(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let (handle, queue) = (walk.real.handle.clone(), walk.real.queue.clone());
        let entered = handle.record(&queue).await.map_err(broken)?;
        walk.met(if entered.waits { "a minute waits for its end" } else { "a minute was entered" });
        let hours = handle.queue_history(&queue, HistoryStep::Hour, Millis(0)).await.map_err(broken)?.spans;
        if walk.model.now - walk.model.began >= NINETY_DAYS_MS {
            return Ok(());
        }
        for total in Total::ALL {
            let sum: u64 = hours.iter().map(|hour| hour.gained.get(total)).sum();
            let counted = walk.model.totals.get(total.word()).copied().unwrap_or(0);
            same(&format!("what was {} by the hour", total.word()), &sum, &u64::try_from(counted).unwrap_or(0))?;
        }
        Ok(())
    }
}
