//! Slots that move from one node of a cluster to another: key by key, or all at once where the server can do that.

use redis::Value;

use super::{super::eventually, Engine};

/// A slot on its way from one node to another.
pub struct SlotMove<'e> {
    engine: &'e Engine,
    slot: usize,
    from: usize,
    to: usize,
}

impl<'e> SlotMove<'e> {
    /// Starts to move the slot of a queue. From here on each of its keys is at one of the two nodes.
    pub async fn start(engine: &'e Engine, queue: &str, to: usize) -> Self {
        let (slot, from) = (engine.slot_of(queue).await, engine.shard_of(queue).await);
        let it = Self { engine, slot, from, to };
        it.set(to, &format!("IMPORTING {}", engine.id_of(from).await)).await;
        it.set(from, &format!("MIGRATING {}", engine.id_of(to).await)).await;
        it
    }

    async fn set(&self, node: usize, what: &str) {
        let _: String = self.engine.run_on(node, &format!("CLUSTER SETSLOT {} {what}", self.slot)).await;
    }

    /// Moves so many keys; answers whether there were any left.
    pub async fn move_keys(&self, keys: usize) -> bool {
        let left: Vec<String> =
            self.engine.run_on(self.from, &format!("CLUSTER GETKEYSINSLOT {} {keys}", self.slot)).await;
        let port = self.engine.port_of(self.to);
        if !left.is_empty() {
            let keys = left.join(" ");
            let _: String =
                self.engine.run_on(self.from, &format!("MIGRATE 127.0.0.1 {port}  0 5000 KEYS {keys}")).await;
        }
        !left.is_empty()
    }

    /// Tells the new owner first, so that the slot always has exactly one owner. Replicas learn from their primaries.
    pub async fn finish(self) {
        let owner = format!("NODE {}", self.engine.id_of(self.to).await);
        self.set(self.to, &owner).await;
        for node in (0..self.engine.node_count()).filter(|node| *node != self.to) {
            let info: String = self.engine.run_on(node, "INFO replication").await;
            if info.contains("role:master") {
                self.set(node, &owner).await;
            }
        }
    }

    pub async fn run(engine: &'e Engine, queue: &str, to: usize) {
        let it = Self::start(engine, queue, to).await;
        while it.move_keys(3).await {}
        it.finish().await;
    }

    /// All of the slot in one step, which Valkey 9 can do.
    pub async fn run_atomic(engine: &'e Engine, queue: &str, to: usize) {
        let (slot, from) = (engine.slot_of(queue).await, engine.shard_of(queue).await);
        let words = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {}", engine.id_of(to).await);
        eventually("the slot goes all at once", async || {
            let _: String = engine.run_on(from, &words).await;
            let state =
                eventually("the move comes to its end", async || end_state(&engine.latest_move(from).await)).await;
            // Redis cancels a move when a write does not arrive in time; then it starts again.
            (state == "success").then_some(())
        })
        .await;
        eventually("all have heard of it", async || (engine.shard_of(queue).await == to).then_some(())).await;
    }
}

/// The final state of a move that has ended.
fn end_state(words: &[String]) -> Option<String> {
    let state = words.iter().skip_while(|word| *word != "state").nth(1)?;
    ["success", "failed", "cancelled", "canceled"].contains(&state.as_str()).then(|| state.clone())
}

impl Engine {
    /// Whether the server has `CLUSTER MIGRATESLOTS`.
    pub async fn supports_atomic_moves(&self) -> bool {
        let help: Vec<String> = self.run_on(0, "CLUSTER HELP").await;
        help.iter().any(|line| line.starts_with("MIGRATESLOTS"))
    }

    /// Names and values of the latest move that a node has to do with, in a row.
    async fn latest_move(&self, node: usize) -> Vec<String> {
        let moves: Vec<Value> = self.run_on(node, "CLUSTER GETSLOTMIGRATIONS").await;
        let Some(latest) = moves.into_iter().next() else { return Vec::new() };
        redis::from_redis_value::<Vec<Value>>(latest)
            .map_or_else(|_| Vec::new(), |parts| parts.iter().map(text).collect())
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
