//! set: an operator changes the settings of a queue.

use intray_redis::{Applied, Args, Fault};

use crate::{
    handle::Queues,
    job::{QueueName, settings::SettingsPatch},
    layout::{
        action::Actor,
        settings::{Changed, write_patch},
    },
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

impl Queues {
    /// Changes settings. A queue that is not there is made only if `makes`.
    ///
    /// # Errors
    /// When Redis is not well.
    pub(crate) async fn change_settings(
        &self,
        queue: &QueueName,
        patch: &SettingsPatch,
        makes: bool,
        actor: &Actor,
    ) -> Result<Changed, Fault> {
        let registry = &self.parts.registry;
        // So that a mistyped name is not registered.
        if !makes && !registry.has_keys(queue).await? {
            return Ok(Changed::Unknown);
        }
        let registration = registry.register(queue).await?;
        if registration.is_refused() {
            return Ok(Changed::TooManyQueues);
        }
        let changed = self.run_alone(queue, &Set { patch, makes, actor }).await;
        // Without an answer it may be set all the same.
        if patch.result_schema.is_some() {
            self.parts.forms.forget(queue);
        }
        let changed = changed?;
        if changed == Changed::Unknown {
            if registration.is_new() {
                registry.remove(queue, registry.last_seen(queue).await?).await?;
            }
            return Ok(changed);
        }
        if changed == Changed::Made && !registration.is_new() {
            // Another instance has made it forgotten since this one has registered it.
            registry.reregister(std::slice::from_ref(queue)).await.map_err(|fault| fault.with(Applied::Unknown))?;
        }
        if patch.sheets == Some(Some(true)) {
            self.note_sheets(queue, true);
        }
        Ok(changed)
    }
}

struct Set<'s> {
    patch: &'s SettingsPatch,
    makes: bool,
    actor: &'s Actor,
}

impl Transition for Set<'_> {
    type Outcome = Changed;
    const SCRIPT: &'static str = "set";

    fn args(&self) -> Args {
        let mut args = Args::default();
        self.actor.push(&mut args);
        args.number(self.makes.into());
        let form = self.patch.result_schema.as_ref().and_then(Option::as_deref);
        args.push(form.unwrap_or_default());
        write_patch(self.patch, &mut args);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Changed, Fault> {
        match reply.words()?.0 {
            "set" => Ok(Changed::Set),
            "made" => Ok(Changed::Made),
            "unknown" => Ok(Changed::Unknown),
            _ => Err(broken("set, made or unknown")),
        }
    }

    fn effect(&self, _: &Changed) -> Effect {
        Effect::None
    }
}
