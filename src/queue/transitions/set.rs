//! set: an operator changes the settings of a queue.

use crate::{
    job::{QueueName, settings::SettingsPatch},
    queue::{
        fault::Fault,
        handle::Queues,
        redis::args::Args,
        transition::{Effect, Reply, Transition},
    },
};

impl Queues {
    /// Changes settings, which brings the queue into being. False: there are as many queues as may be.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn change_settings(&self, queue: &QueueName, patch: &SettingsPatch) -> Result<bool, Fault> {
        let is_registered = self.parts.registry.register(queue).await?;
        if is_registered {
            self.go_alone(queue, patch).await?;
        }
        Ok(is_registered)
    }
}

impl Transition for SettingsPatch {
    type Outcome = ();
    const SCRIPT: &'static str = "set";

    fn args(&self) -> Args {
        self.write()
    }

    fn read(&self, _: Reply<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn effect(&self, (): &()) -> Effect {
        Effect::None
    }
}
