//! What stories of a cluster have in common.

use super::World;

pub use super::engine::moves::SlotMove;

/// Longer than any clock of a story is moved: no node misses another.
pub const LONG_NODE_TIMEOUT_MS: u64 = 3_600_000;
/// A variable that makes every world's Redis a cluster: `make test-cluster`.
pub const CLUSTER_VARIABLE: &str = "INTRAY_STORIES_ON_A_CLUSTER";
/// A node that does not answer is soon missed.
pub const SHORT_NODE_TIMEOUT_MS: u64 = 1_000;

impl World {
    pub async fn start_cluster() -> Self {
        Self::plan().with_cluster(LONG_NODE_TIMEOUT_MS).start().await
    }

    /// For a story about nodes that do not answer.
    pub async fn start_cluster_with_default_redis_timeout() -> Self {
        Self::plan().with_cluster(LONG_NODE_TIMEOUT_MS).with_default_redis_timeout().start().await
    }

    /// A queue at each of the nodes.
    pub async fn queue_of_each_node(&self) -> Vec<String> {
        let mut found = vec![None; self.engine.node_count()];
        for n in 0.. {
            let queue = format!("q{n}");
            let nth = self.engine.shard_of(&queue).await;
            found[nth].get_or_insert(queue);
            if let Some(all) = found.iter().cloned().collect::<Option<Vec<_>>>() {
                return all;
            }
        }
        unreachable!("there are more names than slots")
    }
}
