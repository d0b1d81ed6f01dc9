//! The webhooks that instances serve, as all instances know them.

use intray_redis::{Args, Fault};

use super::{
    handle::Queues,
    redis::read::{Fields, broken},
};
use crate::job::{Millis, Name};

/// A webhook that an instance has named within a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownWebhook {
    pub name: Name,
    /// Events from then on are for it.
    pub since: Millis,
    /// When its receiver answered that it is gone; `None` if it did not, or if the webhook was started again.
    pub stopped_at: Option<Millis>,
    /// What became of the last attempt, as an instance has written it; may be empty.
    pub last: String,
    /// The patterns of queues that instances have named for it within a day.
    pub patterns: Vec<String>,
}

impl Queues {
    /// Names the webhooks that this instance serves, with the patterns of their queues. Returns all that an instance has named within a day.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn name_webhooks<'n>(
        &self,
        webhooks: impl Iterator<Item = (&'n Name, &'n str)>,
    ) -> Result<Vec<KnownWebhook>, Fault> {
        self.ask_webhooks("", webhooks).await
    }

    /// The same, and forgets the others.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn forget_webhooks<'n>(
        &self,
        webhooks: impl Iterator<Item = (&'n Name, &'n str)>,
    ) -> Result<Vec<KnownWebhook>, Fault> {
        self.ask_webhooks("forget", webhooks).await
    }

    async fn ask_webhooks<'n>(
        &self,
        word: &str,
        webhooks: impl Iterator<Item = (&'n Name, &'n str)>,
    ) -> Result<Vec<KnownWebhook>, Fault> {
        let runner = &self.parts.runner;
        let (mut key, mut args) = (Args::default(), Args::default());
        key.push(runner.keys.webhooks());
        args.push(word);
        webhooks.for_each(|(name, pattern)| _ = args.push(name.as_str()).push(pattern));
        let answered = runner.run_timed(runner.scripts.named("webhooks", false), &key, &[&args]).await?;
        Fields::of(&answered)?.lists().map(|webhook| read(webhook?)).collect()
    }

    /// Records what became of the last attempt.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn note_attempt(&self, webhook: &Name, last: &str) -> Result<(), Fault> {
        self.change(redis::cmd("HSET").arg(self.webhooks_key()).arg(format!("{} last", webhook.as_str())).arg(last))
            .await
    }

    /// No instance sends to the webhook until [`Self::start_webhook`].
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn stop_webhook(&self, webhook: &Name, at: Millis) -> Result<(), Fault> {
        self.change(redis::cmd("HSET").arg(self.webhooks_key()).arg(format!("{} gone", webhook.as_str())).arg(at.0))
            .await
    }

    /// # Errors
    /// When Redis is not well.
    pub async fn start_webhook(&self, webhook: &Name) -> Result<(), Fault> {
        self.change(redis::cmd("HDEL").arg(self.webhooks_key()).arg(format!("{} gone", webhook.as_str()))).await
    }

    fn webhooks_key(&self) -> String {
        self.parts.runner.keys.webhooks()
    }

    async fn change(&self, command: &redis::Cmd) -> Result<(), Fault> {
        self.parts.runner.plain(command).await.map(drop)
    }
}

fn read(mut fields: Fields<'_>) -> Result<KnownWebhook, Fault> {
    let name = Name::parse(&fields.text()?).map_err(|_| broken("a webhook"))?;
    let since = Millis(fields.text()?.parse().map_err(|_| broken("a time"))?);
    let stopped_at = fields.text()?.parse().ok().filter(|ms| *ms > 0).map(Millis);
    let last = fields.text()?;
    let patterns = std::iter::from_fn(|| (!fields.is_done()).then(|| fields.text())).collect::<Result<_, _>>()?;
    Ok(KnownWebhook { name, since, stopped_at, last, patterns })
}
