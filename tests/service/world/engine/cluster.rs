//! What makes a cluster of several servers, and finds what it has.

use std::path::{Path, PathBuf};

use redis::{RedisError, Value};

use super::{
    super::{clock::Clock, eventually},
    Engine, appending,
    server::{PROGRAM, Server},
};

/// Primaries of a cluster.
const SHARDS: usize = 3;
const SLOTS: usize = 16_384;
/// On a cluster all nodes are asked, and what they say is one answer.
const OF_ALL: [&[u8]; 8] = [b"ACL", b"CLIENT", b"CONFIG", b"FLUSHALL", b"FUNCTION", b"KEYS", b"PUBSUB", b"SCRIPT"];

impl Engine {
    /// A cluster whose nodes miss each other after so many ms. Who moves its clock gives it a long time.
    pub async fn start_cluster(program: Option<PathBuf>, folder: &Path, durable: bool, timeout_ms: u64) -> Self {
        let clock = Clock::new(folder);
        let program = program.unwrap_or_else(|| PathBuf::from(*PROGRAM));
        let mut engine = Self { program, folder: folder.to_owned(), clock, servers: Vec::new() };
        for nth in 0..SHARDS {
            engine.add_node(durable, timeout_ms).await;
            let (first, last) = (SLOTS * nth / SHARDS, SLOTS * (nth + 1) / SHARDS - 1);
            let _: String = engine.at(nth, &format!("CLUSTER ADDSLOTSRANGE {first} {last}")).await;
        }
        engine.greet().await;
        engine
    }

    async fn add_node(&mut self, durable: bool, timeout_ms: u64) {
        let nth = self.servers.len();
        let folder = self.folder.join(format!("node-{nth}"));
        let mut server = Server::of_a_cluster(&self.program, &folder, appending(durable), timeout_ms, &self.clock);
        // Somebody else may have taken a port that was free a moment ago.
        while server.has_ended().await {
            server = Server::of_a_cluster(&self.program, &folder, appending(durable), timeout_ms, &self.clock);
        }
        server.connect().await;
        self.servers.push(server);
        let _: String = self.at(nth, &format!("CLUSTER SET-CONFIG-EPOCH {}", nth + 1)).await;
    }

    /// One more node, which has no slot yet.
    pub async fn grow(&mut self, timeout_ms: u64) -> usize {
        self.add_node(false, timeout_ms).await;
        self.greet().await;
        self.servers.len() - 1
    }

    /// All get to know each other. A node that has just started waits for two seconds before it serves: by its clock.
    pub(super) async fn greet(&self) {
        self.clock.advance(2_500);
        for other in &self.servers[1..] {
            let (port, bus) = other.ports();
            let _: String = self.at(0, &format!("CLUSTER MEET 127.0.0.1 {port} {bus}")).await;
        }
        for nth in 0..self.servers.len() {
            eventually("the cluster is well", async || {
                let info: String = self.at(nth, "CLUSTER INFO").await;
                let all = format!("cluster_known_nodes:{}\r", self.servers.len());
                (info.contains("cluster_state:ok") && info.contains(&all)).then_some(())
            })
            .await;
        }
    }

    pub fn port_of(&self, nth: usize) -> u16 {
        self.servers[nth].ports().0
    }

    /// The cluster has another port for it, too.
    pub fn is_also_at(&mut self, nth: usize, port: u16) {
        self.servers[nth].announced = Some(port);
    }

    /// From now on clients are sent there when they are sent to this node.
    pub async fn announce(&mut self, nth: usize, port: u16) {
        self.is_also_at(nth, port);
        let _: String = self.at(nth, &format!("CONFIG SET cluster-announce-port {port}")).await;
    }

    /// The nodes have told each other.
    pub async fn all_have_announced(&self) {
        for nth in 0..self.servers.len() {
            eventually("all know where clients are to go", async || {
                let told: Vec<(usize, usize, Value)> = self.at(nth, "CLUSTER SLOTS").await;
                let told = format!("{told:?}");
                let knows =
                    |server: &Server| server.announced.is_some_and(|port| told.contains(&format!("int({port})")));
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
        if OF_ALL.contains(&name.as_slice()) {
            let mut all = Vec::new();
            for server in &self.servers {
                all.push(server.ask(command).await?);
            }
            return Ok(together(all));
        }
        let mut nth = 0;
        for _ in 0..SHARDS {
            match self.servers[nth].ask(command).await {
                Err(e) if e.code() == Some("MOVED") => {
                    let place = e.redirect_node().map(|(place, _)| place.to_owned()).expect("a place");
                    let is_it = |server: &Server| server.is_known_by(&place);
                    nth = self.servers.iter().position(is_it).expect("one of ours");
                }
                answer => return answer,
            }
        }
        panic!("nobody has the key of {command:?}");
    }

    /// As a node is that has never had anything of it.
    pub async fn empty_slot(&self, nth: usize, slot: usize) {
        let keys: Vec<String> = self.at(nth, &format!("CLUSTER GETKEYSINSLOT {slot} 100")).await;
        for key in keys {
            let _: u64 = self.at(nth, &format!("DEL {key}")).await;
        }
    }

    /// Which node has a queue.
    pub async fn shard_of(&self, queue: &str) -> usize {
        let slot = self.slot_of(queue).await;
        for nth in 0..self.servers.len() {
            let Ok(ranges) = self.try_at::<Vec<(usize, usize, Value)>>(nth, "CLUSTER SLOTS").await else { continue };
            let (_, _, Value::Array(primary)) = ranges.iter().find(|r| (r.0..=r.1).contains(&slot)).expect("a range")
            else {
                panic!("{ranges:?}")
            };
            let is_port =
                |server: &Server, part: &Value| matches!(part, Value::Int(n) if server.is_known_by(&n.to_string()));
            let is_it = |server: &Server| primary.iter().any(|part| is_port(server, part));
            return self.servers.iter().position(is_it).expect("one of ours");
        }
        panic!("no node answers");
    }

    pub async fn slot_of(&self, queue: &str) -> usize {
        for nth in 0..self.servers.len() {
            if let Ok(slot) = self.try_at(nth, &format!("CLUSTER KEYSLOT {queue}")).await {
                return slot;
            }
        }
        panic!("no node answers");
    }

    pub async fn revive_node(&mut self, nth: usize) {
        self.servers[nth].revive(&self.clock).await;
        self.greet().await;
    }
}

/// Lists are one list.
fn together(all: Vec<Value>) -> Value {
    if !all.iter().all(|one| matches!(one, Value::Array(_))) {
        return all.into_iter().next().unwrap_or(Value::Nil);
    }
    let lists = all.into_iter().map(|one| if let Value::Array(parts) = one { parts } else { Vec::new() });
    Value::Array(lists.flatten().collect())
}
