//! Keeps the slot map and the links to the nodes current, so that no call discovers a dead node or an old map.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::task::AbortOnDropHandle;

use super::Cluster;
use crate::link::Link;

/// How often the map is asked for while all nodes answer.
const REFRESH_EVERY: Duration = Duration::from_secs(10);
/// How often while a node is lost: another may have taken its place.
const REFRESH_WHILE_LOST_EVERY: Duration = Duration::from_millis(250);
/// How often a lost node is tried.
const PING_LOST_EVERY: Duration = Duration::from_millis(250);

impl Cluster {
    /// Runs for ever.
    pub(crate) async fn maintain(&self) {
        tokio::join!(self.maintain_map(), self.maintain_nodes());
    }

    async fn maintain_map(&self) {
        loop {
            let nodes = self.nodes();
            let is_well = !nodes.is_empty() && !nodes.iter().any(|link| link.is_lost());
            let pause = if is_well { REFRESH_EVERY } else { REFRESH_WHILE_LOST_EVERY };
            let _ = tokio::time::timeout(pause, self.map_doubted.notified()).await;
            // After a failure the map is asked for again.
            let _ = self.learn(Instant::now()).await;
        }
    }

    /// Maintains each node as long as it is in the map.
    async fn maintain_nodes(&self) {
        let mut tasks = HashMap::new();
        loop {
            let nodes = self.nodes();
            tasks.retain(|name, _| nodes.iter().any(|link| link.name() == name));
            for link in nodes {
                let maintain = || AbortOnDropHandle::new(tokio::spawn(maintain_node(link.clone())));
                tasks.entry(link.name().to_owned()).or_insert_with(maintain);
            }
            self.nodes_changed.notified().await;
        }
    }
}

async fn maintain_node(link: Arc<Link>) {
    let pinging = async {
        loop {
            tokio::time::sleep(PING_LOST_EVERY).await;
            if link.is_lost() {
                link.ping().await;
            }
        }
    };
    tokio::join!(link.maintain(), pinging);
}
