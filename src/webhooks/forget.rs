//! Removes the deliveries of webhooks that no instance has named for a day. Instances without webhooks do so too, because the file may
//! have been taken away from all of them.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::shared::Shared;
use crate::{
    job::{Name, QueueName, chance::between},
    store::Fault,
};

const HOUR_MS: u64 = 3_600_000;
/// A webhook is forgotten only if it was unknown for so long: after a failover its name may be missing until it is named again.
const UNKNOWN_FOR: Duration = Duration::from_secs(120);

pub(super) async fn run(shared: Arc<Shared>, stop: CancellationToken) {
    loop {
        // Spread out, so that instances do not do the same work.
        let pause = Duration::from_millis(between(HOUR_MS / 6, HOUR_MS));
        let round = async {
            tokio::time::sleep(pause).await;
            // The next round finds what this one could not.
            let _ = once(&shared).await;
        };
        if stop.run_until_cancelled(round).await.is_none() {
            return;
        }
    }
}

async fn once(shared: &Shared) -> Result<(), Fault> {
    let mut unknown = shared.unknown().await?;
    if unknown.is_empty() {
        return Ok(());
    }
    tokio::time::sleep(UNKNOWN_FOR).await;
    let known = shared.known_names().await?;
    unknown.retain(|(_, webhook)| !known.contains(webhook));
    for (queue, webhook) in unknown {
        shared.queues.discard(&queue, &webhook).await?;
    }
    Ok(())
}

impl Shared {
    async fn known_names(&self) -> Result<HashSet<Name>, Fault> {
        let known = self.queues.name_webhooks(std::iter::empty()).await?;
        Ok(known.into_iter().map(|webhook| webhook.name).collect())
    }

    /// The webhooks that have read in a queue and that no instance has named.
    async fn unknown(&self) -> Result<Vec<(QueueName, Name)>, Fault> {
        let (names, known) = (self.queues.names().await?, self.known_names().await?);
        let states = self.read_all(&names).await?;
        let of = names.iter().zip(&states).flat_map(|(queue, states)| {
            states.iter().map(|state| (queue.clone(), state.webhook.clone())).collect::<Vec<_>>()
        });
        Ok(of.filter(|(_, webhook)| !known.contains(webhook)).collect())
    }
}
