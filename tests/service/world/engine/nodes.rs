//! The nodes of a cluster: how they come to be one, who has what, and how they are lost and come back.

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use redis::{FromRedisValue, RedisError, Value};

use super::{
    super::{clock::Clock, eventually},
    Engine, PROGRAM, Server, appending,
    server::PersistenceArgs,
};

/// Primaries of a cluster.
pub const SHARDS: usize = 3;
const SLOTS: usize = 16_384;
/// On a cluster all nodes are asked, and what they say is one answer.
const BROADCAST_COMMANDS: [&[u8]; 8] =
    [b"ACL", b"CLIENT", b"CONFIG", b"FLUSHALL", b"FUNCTION", b"KEYS", b"PUBSUB", b"SCRIPT"];

/// What the nodes of a cluster are like.
#[derive(Clone)]
pub struct NodeSettings {
    pub program: PathBuf,
    /// Arguments, such as what is written to disk.
    pub keeping: PersistenceArgs,
    /// They miss each other after so many ms. Who moves their clock gives it a long time.
    pub timeout_ms: u64,
}

impl NodeSettings {
    pub fn with_defaults(durable: bool, timeout_ms: u64) -> Self {
        Self { program: PathBuf::from(*PROGRAM), keeping: appending(durable), timeout_ms }
    }
}

impl Engine {
    pub async fn start_cluster(folder: &Path, form: NodeSettings) -> Self {
        let mut engine = Self {
            folder: folder.to_owned(),
            clock: Clock::new(folder),
            servers: Vec::new(),
            form: Some(form),
            altered: AtomicBool::new(true),
        };
        for nth in 0..SHARDS {
            engine.add_node().await;
            let (first, last) = (SLOTS * nth / SHARDS, SLOTS * (nth + 1) / SHARDS - 1);
            let _: String = engine.run_on(nth, &format!("CLUSTER ADDSLOTSRANGE {first} {last}")).await;
        }
        engine.introduce_nodes().await;
        engine
    }

    async fn add_node(&mut self) {
        let nth = self.servers.len();
        let folder = self.folder.join(format!("node-{nth}"));
        let node_settings = self.form.as_ref().expect("a cluster");
        let mut server = Server::cluster_node(&folder, node_settings, &self.clock);
        // Another process may have taken a port that was free a moment ago.
        while server.exited_early().await {
            server = Server::cluster_node(&folder, node_settings, &self.clock);
        }
        server.connect().await;
        self.servers.push(server);
        let _: String = self.run_on(nth, &format!("CLUSTER SET-CONFIG-EPOCH {}", nth + 1)).await;
    }

    /// One more node, which has no slot yet.
    pub async fn add_empty_node(&mut self) -> usize {
        self.add_node().await;
        self.introduce_nodes().await;
        self.servers.len() - 1
    }

    /// One more node, which has all that this one has and takes its place when it is missed.
    pub async fn add_replica_of(&mut self, node: usize) -> usize {
        let id = self.id_of(node).await;
        let replica = self.add_empty_node().await;
        let _: String = self.run_on(replica, &format!("CLUSTER REPLICATE {id}")).await;
        self.wait_for_replica(replica).await;
        replica
    }

    /// Waits until a replica has all data of its primary.
    pub async fn wait_for_replica(&mut self, replica: usize) {
        eventually("the replica has all", async || {
            let info = self.replication_info_of(replica).await;
            (info.contains("role:slave") && info.contains("master_link_status:up")).then_some(())
        })
        .await;
    }

    /// `INFO replication` of a node.
    pub async fn replication_info_of(&mut self, node: usize) -> String {
        if self.try_run_on::<String>(node, "PING").await.is_err() {
            // It cuts its clients off when it becomes primary or is one no longer.
            self.servers[node].connect().await;
        }
        self.try_run_on(node, "INFO replication").await.unwrap_or_default()
    }

    /// Introduces all nodes. A node that has just started waits two seconds of its clock before it serves.
    async fn introduce_nodes(&self) {
        self.clock.advance(2_500);
        for other in &self.servers[1..] {
            let (port, bus) = other.ports();
            let _: String = self.run_on(0, &format!("CLUSTER MEET 127.0.0.1 {port} {bus}")).await;
        }
        self.wait_for_cluster_ok().await;
    }

    /// Waits until every node knows all others and serves.
    pub async fn wait_for_cluster_ok(&self) {
        for nth in 0..self.servers.len() {
            eventually("the cluster is well", async || {
                let info: String = self.try_run_on(nth, "CLUSTER INFO").await.ok()?;
                let all = format!("cluster_known_nodes:{}\r", self.servers.len());
                (info.contains("cluster_state:ok") && info.contains(&all)).then_some(())
            })
            .await;
        }
    }

    pub async fn id_of(&self, node: usize) -> String {
        self.run_on(node, "CLUSTER MYID").await
    }

    /// Adds a port by which the cluster knows a node.
    pub fn add_announced_port(&mut self, nth: usize, port: u16) {
        self.servers[nth].announced_port = Some(port);
    }

    /// Redirects clients of this node to a port.
    pub async fn announce_port(&mut self, nth: usize, port: u16) {
        self.add_announced_port(nth, port);
        let _: String = self.run_on(nth, &format!("CONFIG SET cluster-announce-port {port}")).await;
    }

    /// Waits until every node knows the announced ports.
    pub async fn wait_for_announced_ports(&self) {
        for nth in 0..self.servers.len() {
            eventually("all know where clients are to go", async || {
                let slots: Vec<(usize, usize, Value)> = self.run_on(nth, "CLUSTER SLOTS").await;
                let slots = format!("{slots:?}");
                let knows =
                    |server: &Server| server.announced_port.is_some_and(|port| slots.contains(&format!("int({port})")));
                self.servers.iter().all(knows).then_some(())
            })
            .await;
        }
    }

    /// To the node that has the key, or to all.
    pub(super) async fn route(&self, command: &redis::Cmd) -> Result<Value, RedisError> {
        let name = match command.args_iter().next() {
            Some(redis::Arg::Simple(name)) => name.to_ascii_uppercase(),
            _ => Vec::new(),
        };
        if BROADCAST_COMMANDS.contains(&name.as_slice()) {
            let mut all = Vec::new();
            for server in &self.servers {
                all.push(server.query(command).await?);
            }
            return Ok(merge_replies(all));
        }
        let mut nth = 0;
        for _ in 0..SHARDS {
            match self.servers[nth].query(command).await {
                Err(e) if e.code() == Some("MOVED") => {
                    let place = e.redirect_node().map(|(place, _)| place.to_owned()).expect("a place");
                    let is_it = |server: &Server| server.has_address(&place);
                    nth = self.servers.iter().position(is_it).expect("one of ours");
                }
                answer => return answer,
            }
        }
        panic!("no node has the key of {command:?}");
    }

    /// Deletes all keys of a slot.
    pub async fn delete_slot_keys(&self, nth: usize, slot: usize) {
        let keys: Vec<String> = self.run_on(nth, &format!("CLUSTER GETKEYSINSLOT {slot} 100")).await;
        for key in keys {
            let _: u64 = self.run_on(nth, &format!("DEL {key}")).await;
        }
    }

    /// Which node has a queue.
    pub async fn shard_of(&self, queue: &str) -> usize {
        let slot = self.slot_of(queue).await;
        for nth in 0..self.servers.len() {
            let Ok(ranges) = self.try_run_on::<Vec<SlotRange>>(nth, "CLUSTER SLOTS").await else { continue };
            let range =
                ranges.iter().find(|SlotRange(first, last, _)| (*first..=*last).contains(&slot)).expect("a range");
            let is_it = |server: &Server| server.has_address(&range.2.to_string());
            return self.servers.iter().position(is_it).expect("one of ours");
        }
        panic!("no node answers");
    }

    pub async fn slot_of(&self, queue: &str) -> usize {
        for nth in 0..self.servers.len() {
            if let Ok(slot) = self.try_run_on(nth, &format!("CLUSTER KEYSLOT {queue}")).await {
                return slot;
            }
        }
        panic!("no node answers");
    }

    pub fn freeze_node(&self, nth: usize) {
        self.servers[nth].signal(libc::SIGSTOP);
    }

    pub fn thaw_node(&self, nth: usize) {
        self.servers[nth].signal(libc::SIGCONT);
    }

    pub fn kill_node(&mut self, nth: usize) {
        self.servers[nth].kill();
    }

    pub async fn revive_node(&mut self, nth: usize) {
        self.restart_node(nth).await;
        self.introduce_nodes().await;
    }

    /// Restarts a node without introducing it again.
    pub async fn restart_node(&mut self, nth: usize) {
        self.servers[nth].revive(&self.clock).await;
    }

    /// Restarts all servers after a kill; what remains depends on their persistence.
    pub async fn revive(&mut self) {
        self.mark_altered();
        for server in &mut self.servers {
            server.revive(&self.clock).await;
        }
        if self.is_cluster() {
            self.introduce_nodes().await;
        }
    }
}

/// First slot, last slot and the port of their primary.
struct SlotRange(usize, usize, u16);

impl FromRedisValue for SlotRange {
    fn from_redis_value(value: Value) -> Result<Self, redis::ParsingError> {
        let parts = Vec::<Value>::from_redis_value(value)?;
        let at = |nth: usize| parts.get(nth).cloned().unwrap_or(Value::Nil);
        let primary = Vec::<Value>::from_redis_value(at(2))?;
        let port = primary.into_iter().nth(1).unwrap_or(Value::Nil);
        Ok(Self(usize::from_redis_value(at(0))?, usize::from_redis_value(at(1))?, u16::from_redis_value(port)?))
    }
}

/// Lists are one list.
fn merge_replies(all: Vec<Value>) -> Value {
    if !all.iter().all(|one| matches!(one, Value::Array(_))) {
        return all.into_iter().next().unwrap_or(Value::Nil);
    }
    let lists = all.into_iter().map(|one| if let Value::Array(parts) = one { parts } else { Vec::new() });
    Value::Array(lists.flatten().collect())
}
