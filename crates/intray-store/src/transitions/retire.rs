//! retire: the background task removes an unused queue, with its totals, history and events.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    transition::{Effect, Reply, Transition},
};

struct Retire;

impl Queues {
    /// Removes queues that have no jobs and no settings and were not used for a day.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn retire_unseen(&self) -> Result<(), Fault> {
        let mut kept = 0;
        loop {
            let unseen = self.parts.registry.unseen(kept).await?;
            if unseen.is_empty() {
                return Ok(());
            }
            for queue in unseen {
                if self.run_alone(&queue, &Retire).await? {
                    self.parts.registry.forget(&queue).await?;
                } else {
                    kept += 1;
                }
            }
        }
    }
}

impl Transition for Retire {
    /// Whether the queue was removed.
    type Outcome = bool;
    const SCRIPT: &'static str = "retire";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        Args::default()
    }

    fn read(&self, reply: Reply<'_>) -> Result<bool, Fault> {
        Ok(reply.words()?.0 == "retired")
    }

    fn effect(&self, _: &bool) -> Effect {
        Effect::None
    }
}
