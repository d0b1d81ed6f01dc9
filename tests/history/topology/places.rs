//! Roles in a cluster whose nodes have changed them.

use crate::world::{Engine, SHARDS, eventually};

/// Nodes that report to be primary.
pub async fn primaries(engine: &mut Engine) -> Vec<usize> {
    let mut found = Vec::new();
    for node in 0..engine.node_count() {
        if is_primary(engine, node).await.is_some() {
            found.push(node);
        }
    }
    found
}

pub async fn is_primary(engine: &mut Engine, node: usize) -> Option<()> {
    engine.replication_info_of(node).await.contains("role:master").then_some(())
}

/// A replica of this node.
pub async fn replica_of(engine: &mut Engine, primary: usize) -> usize {
    let follows = format!("master_port:{}\r", engine.port_of(primary));
    for node in 0..engine.node_count() {
        if engine.replication_info_of(node).await.contains(&follows) {
            return node;
        }
    }
    panic!("no replica follows node {primary}")
}

/// As many primaries as at the start, each other node follows one, and all report a healthy cluster.
pub async fn are_whole_again(engine: &mut Engine) {
    eventually("there are as many primaries as before", async || {
        (primaries(engine).await.len() == SHARDS).then_some(())
    })
    .await;
    let primaries = primaries(engine).await;
    for replica in (0..engine.node_count()).filter(|node| !primaries.contains(node)) {
        engine.wait_for_replica(replica).await;
    }
    engine.wait_for_cluster_ok().await;
}
