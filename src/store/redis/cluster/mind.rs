//! What looks after the nodes of a cluster, so that no caller finds out that one is dead or the map is old.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio_util::sync::CancellationToken;

use super::{super::link::Link, Cluster};

/// How often the map is asked for where nobody doubts it.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// How often while a node is lost: another may have taken its place.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// How often a lost node is tried.
const TRY_EVERY: Duration = Duration::from_millis(250);

impl Cluster {
    pub(in crate::store::redis) async fn mind(&self, stop: CancellationToken) {
        let minding = async { tokio::join!(self.mind_map(), self.mind_nodes(&stop)) };
        stop.run_until_cancelled(minding).await;
    }

    async fn mind_map(&self) {
        loop {
            let is_well = self.read(|map| !map.nodes.is_empty() && !map.nodes.iter().any(|link| link.is_lost()));
            let pause = if is_well { ASK_EVERY } else { ASK_AGAIN };
            let _ = tokio::time::timeout(pause, self.doubted.notified()).await;
            // What cannot be asked now is asked again.
            let _ = self.learn(Instant::now()).await;
        }
    }

    /// Each node is minded as long as it is in the map.
    async fn mind_nodes(&self, stop: &CancellationToken) {
        let (mut minded, mut tasks) = (HashMap::<String, CancellationToken>::new(), FuturesUnordered::new());
        loop {
            let nodes = self.read(|map| map.nodes.clone());
            minded.retain(|place, gone| {
                let is_there = nodes.iter().any(|link| link.place() == place);
                if !is_there {
                    gone.cancel();
                }
                is_there
            });
            for link in nodes {
                minded.entry(link.place().to_owned()).or_insert_with(|| {
                    let gone = stop.child_token();
                    tasks.push(mind_node(link, gone.clone()));
                    gone
                });
            }
            let ended = async {
                while tasks.next().await.is_some() {}
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = ended => {}
            }
        }
    }
}

async fn mind_node(link: Arc<Link>, gone: CancellationToken) {
    let trying = async {
        loop {
            tokio::time::sleep(TRY_EVERY).await;
            if link.is_lost() {
                let _ = link.plain(&redis::cmd("PING")).await;
            }
        }
    };
    tokio::join!(link.mind(gone.clone()), gone.run_until_cancelled(trying));
}
