//! Removes the deliveries of webhooks that no instance has named for a day. Instances without webhooks do so too, because the file may
//! have been taken away from all of them.

use std::{collections::HashSet, time::Duration};

use tokio_util::sync::CancellationToken;

use super::Dispatcher;
use crate::{
    job::{Name, QueueName, chance::between},
    store::Fault,
};

const HOUR_MS: u64 = 3_600_000;
/// A webhook is forgotten only if it was unknown for so long: after a failover its name may be missing until it is named again.
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
        let known = self.shared.queues.forget_webhooks(file.iter().map(|webhook| &webhook.name)).await?;
        unknown.retain(|(_, webhook)| known.iter().all(|known| known.name != *webhook));
        for (queue, webhook) in unknown {
            self.shared.queues.discard(&queue, &webhook).await?;
        }
        Ok(())
    }

    async fn known_names(&self) -> Result<HashSet<Name>, Fault> {
        let known = self.name().await?;
        Ok(known.into_iter().map(|webhook| webhook.name).collect())
    }

    /// The webhooks that have read in a queue and that no instance has named.
    async fn unknown(&self) -> Result<Vec<(QueueName, Name)>, Fault> {
        let (names, known) = (self.shared.queues.names().await?, self.known_names().await?);
        let states = self.shared.read_all(&names).await?;
        let of = names.iter().zip(&states).flat_map(|(queue, states)| {
            states.iter().map(|state| (queue.clone(), state.webhook.clone())).collect::<Vec<_>>()
        });
        Ok(of.filter(|(_, webhook)| !known.contains(webhook)).collect())
    }
}
