//! What stories of a cluster have in common.

use super::{Engine, World, eventually};

/// Longer than any clock of a story is moved: no node misses another.
pub const PATIENT: u64 = 3_600_000;
/// A variable that makes every world's Redis a cluster: `make test-cluster`.
pub const EVERYWHERE: &str = "INTRAY_STORIES_ON_A_CLUSTER";
/// A node that does not answer is soon missed.
pub const IMPATIENT: u64 = 1_000;

impl World {
    pub async fn on_a_cluster() -> Self {
        Self::plan().on_a_cluster(PATIENT).start().await
    }

    /// A queue at each of the nodes.
    pub async fn queue_of_each_node(&self) -> Vec<String> {
        let mut found = vec![None; self.engine.nodes()];
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

/// A slot on its way from one node to another.
pub struct Move<'e> {
    engine: &'e Engine,
    slot: usize,
    from: usize,
    to: usize,
}

impl<'e> Move<'e> {
    /// Of the slot that a queue is in. From here on each of its keys is at one of the two nodes.
    pub async fn begin(engine: &'e Engine, queue: &str, to: usize) -> Self {
        let (slot, from) = (engine.slot_of(queue).await, engine.shard_of(queue).await);
        let it = Self { engine, slot, from, to };
        it.set(to, &format!("IMPORTING {}", engine.id_of(from).await)).await;
        it.set(from, &format!("MIGRATING {}", engine.id_of(to).await)).await;
        it
    }

    async fn set(&self, node: usize, what: &str) {
        let _: String = self.engine.at(node, &format!("CLUSTER SETSLOT {} {what}", self.slot)).await;
    }

    /// Moves so many keys; answers whether there were any left.
    pub async fn carry(&self, keys: usize) -> bool {
        let left: Vec<String> = self.engine.at(self.from, &format!("CLUSTER GETKEYSINSLOT {} {keys}", self.slot)).await;
        let port = self.engine.port_of(self.to);
        if !left.is_empty() {
            let keys = left.join(" ");
            let _: String = self.engine.at(self.from, &format!("MIGRATE 127.0.0.1 {port}  0 5000 KEYS {keys}")).await;
        }
        !left.is_empty()
    }

    /// The new owner is told first: nobody has the slot twice, or not at all.
    pub async fn end(self) {
        let owner = format!("NODE {}", self.engine.id_of(self.to).await);
        self.set(self.to, &owner).await;
        for node in (0..self.engine.nodes()).filter(|node| *node != self.to) {
            self.set(node, &owner).await;
        }
    }

    pub async fn whole(engine: &'e Engine, queue: &str, to: usize) {
        let it = Self::begin(engine, queue, to).await;
        while it.carry(3).await {}
        it.end().await;
    }
}

impl Engine {
    pub async fn id_of(&self, node: usize) -> String {
        self.at(node, "CLUSTER MYID").await
    }

    /// One more node, which has all that this one has and takes its place when it is missed.
    pub async fn grow_replica_of(&mut self, node: usize, timeout_ms: u64) -> usize {
        let id = self.id_of(node).await;
        let replica = self.grow(timeout_ms).await;
        let _: String = self.at(replica, &format!("CLUSTER REPLICATE {id}")).await;
        eventually("the replica has all", async || {
            let info: String = self.at(replica, "INFO replication").await;
            (info.contains("role:slave") && info.contains("master_link_status:up")).then_some(())
        })
        .await;
        replica
    }
}
