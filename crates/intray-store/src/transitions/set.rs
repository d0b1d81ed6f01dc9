//! set: an operator changes the settings of a queue.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{QueueName, settings::SettingsPatch},
    layout::{action::Actor, settings::write_patch},
    transition::{Effect, Reply, Transition},
};

impl Queues {
    /// Changes settings, and creates the queue if it is new; returns whether this call has registered it. `None`: the limit of queues is
    /// reached.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn change_settings(
        &self,
        queue: &QueueName,
        patch: &SettingsPatch,
        actor: &Actor,
    ) -> Result<Option<bool>, Fault> {
        let registration = self.parts.registry.register(queue).await?;
        if registration.is_refused() {
            return Ok(None);
        }
        let set = self.run_alone(queue, &Set { patch, actor }).await;
        // Without an answer it may be set all the same.
        if patch.result_schema.is_some() {
            self.parts.forms.forget(queue);
        }
        set?;
        if patch.sheets == Some(Some(true)) {
            self.note_sheets(queue, true);
        }
        Ok(Some(registration.is_new()))
    }
}

struct Set<'s> {
    patch: &'s SettingsPatch,
    actor: &'s Actor,
}

impl Transition for Set<'_> {
    type Outcome = ();
    const SCRIPT: &'static str = "set";

    fn args(&self) -> Args {
        let mut args = Args::default();
        self.actor.push(&mut args);
        let form = self.patch.result_schema.as_ref().and_then(Option::as_deref);
        args.push(form.unwrap_or_default());
        write_patch(self.patch, &mut args);
        args
    }

    fn read(&self, _: Reply<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn effect(&self, (): &()) -> Effect {
        Effect::None
    }
}
