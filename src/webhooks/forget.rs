//! Removes the cursors and deliveries of webhooks that no instance has named for a day, or not for their queue. Instances without webhooks do so too, because the file may
//! have been taken away from all of them.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Dispatcher;
use crate::{
    access::Pattern,
    job::{Name, QueueName, chance::between},
    store::{Fault, KnownWebhook},
};

const HOUR_MS: u64 = 3_600_000;
/// A webhook is forgotten only if it was unknown for this long: after a failover its name may be missing until it is named again.
const UNKNOWN_FOR: Duration = Duration::from_secs(120);

pub(super) async fn run(webhooks: Dispatcher, stop: CancellationToken) {
    loop {
        // Spread out, so that instances do not do the same work.
        let pause = Duration::from_millis(between(HOUR_MS / 6, HOUR_MS));
        let round = async {
            tokio::time::sleep(pause).await;
            // The next round finds what this one could not.
            let _ = webhooks.forget_unknown().await;
        };
        if stop.run_until_cancelled(round).await.is_none() {
            return;
        }
    }
}

impl Dispatcher {
    async fn forget_unknown(&self) -> Result<(), Fault> {
        let mut unknown = self.unknown().await?;
        tokio::time::sleep(UNKNOWN_FOR).await;
        // After a jump of the clock, the instances that serve a webhook have named it again by now.
        let file = self.all();
        let known = self.context.queues.forget_webhooks(file.iter().map(|webhook| webhook.named())).await?;
        unknown.retain(|(queue, webhook)| !is_known(&known, queue, webhook));
        for (queue, webhook) in unknown {
            self.context.queues.discard(&queue, &webhook).await?;
        }
        Ok(())
    }

    /// The webhooks that have read in a queue and that no instance has named for it.
    async fn unknown(&self) -> Result<Vec<(QueueName, Name)>, Fault> {
        let (names, known) = (self.context.queues.names().await?, self.name().await?);
        let states = self.context.read_all(&names).await?;
        let of = names.iter().zip(&states).flat_map(|(queue, states)| {
            states.iter().map(|state| (queue.clone(), state.webhook.clone())).collect::<Vec<_>>()
        });
        Ok(of.filter(|(queue, webhook)| !is_known(&known, queue, webhook)).collect())
    }
}

/// Whether an instance has named the webhook with a pattern for the queue. During a change of the file two instances may have two patterns.
fn is_known(known: &[KnownWebhook], queue: &QueueName, webhook: &Name) -> bool {
    let patterns = known.iter().filter(|known| known.name == *webhook).flat_map(|known| &known.patterns);
    patterns.flat_map(|pattern| Pattern::parse(pattern)).any(|pattern| pattern.matches(queue))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Millis;

    #[test]
    fn webhook_is_known_in_the_queues_of_all_its_patterns() {
        let name = |text: &str| Name::parse(text).expect("a name");
        let known = |of: &str, patterns: &[&str]| KnownWebhook {
            name: name(of),
            since: Millis(1),
            stopped_at: None,
            last: String::new(),
            patterns: patterns.iter().map(|&pattern| pattern.to_owned()).collect(),
        };
        let all = [known("shop", &["reviews*", "texts"]), known("other", &["*"]), known("none", &[])];
        for (webhook, queue, expected) in [
            ("shop", "reviews-de", true),
            ("shop", "texts", true),
            ("shop", "texts-2", false),
            ("other", "texts-2", true),
            ("none", "texts", false),
            ("gone", "texts", false),
        ] {
            let queue = QueueName::parse(queue).expect("a queue");
            assert_eq!(is_known(&all, &queue, &name(webhook)), expected, "{webhook} in {queue}");
        }
    }
}
