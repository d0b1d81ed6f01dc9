//! A cluster: a link to each of its primaries, and the map of slots to nodes. A call goes to the node that has its slot, and
//! redirections correct the map.
//!
//! The cluster client of the `redis` crate (1.8) was tried with three nodes and is not used. It counts a redirection as a retry:
//! with `retries(0)` MOVED and ASK reach the caller, and with three it applied a write twice whose connection broke before the
//! reply. While it rebuilt its slot map and one node was frozen, calls to the other nodes took 1.1 s and failed. It hides its
//! map, and its one connection per node, so that WAIT cannot follow a change.

mod call;
mod coverage;
mod maintain;
pub(crate) mod slot;
mod slot_map;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use parking_lot::RwLock;
use redis::Value;
use tokio::sync::{Mutex, Notify};

use self::{slot::SLOTS, slot_map::SlotRange};
use crate::{
    fault::Fault,
    link::{Durability, Link},
    log_limiter::LogLimiter,
    script::Library,
    server::Server,
    timeouts::Timeouts,
};

/// The number of nodes that are asked for the map at a time.
const ASKED_NODES: usize = 8;
/// How long the other nodes may answer after the first; the map that most of them report is used.
const GATHER_FOR: Duration = Duration::from_millis(50);
/// A map that was learned within this time is not asked for again.
const FRESH: Duration = Duration::from_millis(50);
/// The owner of a slot that no node has.
const NO_NODE: u16 = u16::MAX;

pub struct Cluster {
    /// The nodes in the URL, which are asked for the map when no other node answers.
    seeds: Vec<Arc<Link>>,
    timeouts: Timeouts,
    map: RwLock<SlotMap>,
    /// When the map was last learned; locked meanwhile, so that concurrent callers ask once.
    learned: Mutex<Option<Instant>>,
    /// When the nodes were last asked whether any of them serves, and the answer; locked meanwhile.
    serves: Mutex<Option<(Instant, bool)>>,
    /// Rotates the order in which nodes are asked.
    turn: AtomicUsize,
    /// The map may be outdated.
    map_doubted: Notify,
    /// Nodes were added or removed.
    nodes_changed: Notify,
}

#[derive(Clone)]
struct SlotMap {
    nodes: Vec<Arc<Link>>,
    /// For each slot, the index of the node that has it.
    owners: Vec<u16>,
}

impl Cluster {
    pub(super) fn new(
        seeds: Vec<Server>,
        timeouts: Timeouts,
        durability: &Durability,
        shared: &(Arc<Library>, Arc<LogLimiter>),
    ) -> Self {
        let link = |seed| Arc::new(Link::new(seed, timeouts, None, durability.clone(), shared.clone()));
        Self {
            seeds: seeds.into_iter().map(link).collect(),
            timeouts,
            map: RwLock::new(SlotMap { nodes: Vec::new(), owners: vec![NO_NODE; SLOTS] }),
            learned: Mutex::default(),
            serves: Mutex::default(),
            turn: AtomicUsize::new(0),
            map_doubted: Notify::new(),
            nodes_changed: Notify::new(),
        }
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// The node that has a slot, as far as is known.
    pub(super) fn owner(&self, slot: u16) -> Option<Arc<Link>> {
        let map = self.map.read();
        map.nodes.get(usize::from(*map.owners.get(usize::from(slot))?)).cloned()
    }

    /// The index of that node, which is valid until the map changes.
    pub(super) fn shard(&self, slot: u16) -> u16 {
        self.map.read().owners.get(usize::from(slot)).copied().unwrap_or(NO_NODE)
    }

    /// Every primary.
    pub(super) async fn primaries(&self) -> Result<Vec<Arc<Link>>, Fault> {
        if self.nodes().is_empty() {
            self.learn(Instant::now()).await?;
        }
        Ok(self.nodes())
    }

    fn nodes(&self) -> Vec<Arc<Link>> {
        self.map.read().nodes.clone()
    }

    /// All known nodes, each once, with the seeds at the end; each call starts with another node.
    pub(super) fn nodes_and_seeds(&self) -> Vec<Arc<Link>> {
        let mut all = self.nodes();
        if !all.is_empty() {
            let first = self.turn.fetch_add(1, Ordering::Relaxed) % all.len();
            all.rotate_left(first);
        }
        for seed in &self.seeds {
            if !all.iter().any(|link| Arc::ptr_eq(link, seed)) {
                all.push(seed.clone());
            }
        }
        all
    }

    /// The nodes in the map. A seed may have left the cluster, so seeds are used only while no node is known.
    pub(super) fn pubsub_nodes(&self) -> Vec<Arc<Link>> {
        let (all, known) = (self.nodes_and_seeds(), self.map.read().nodes.len());
        if known == 0 { all } else { all.into_iter().take(known).collect() }
    }

    /// Asks for the map, unless it was learned after `since`.
    async fn learn(&self, since: Instant) -> Result<(), Fault> {
        let asked = tokio::time::timeout(self.timeouts.connect(), async {
            let mut learned = self.learned.lock().await;
            if learned.is_some_and(|at| at > since || at.elapsed() < FRESH) {
                return Ok(());
            }
            let ranges = self.ask_nodes().await?;
            *learned = Some(Instant::now());
            self.set_map(&ranges)
        });
        asked.await.unwrap_or_else(|_| Err(Fault::unavailable(&"no node of the cluster answers in time")))
    }

    /// The map that most nodes report of those that answer soon after the first.
    async fn ask_nodes(&self) -> Result<Vec<SlotRange>, Fault> {
        let asked = self.nodes_and_seeds().into_iter().take(ASKED_NODES.max(self.seeds.len()));
        let mut answers: FuturesUnordered<_> = asked
            .map(|link| async move { ask_map(&link, link.plain(redis::cmd("CLUSTER").arg("SLOTS"))).await })
            .collect();
        let (mut reported, mut why) = (Vec::new(), String::new());
        while reported.is_empty()
            && let Some(answer) = answers.next().await
        {
            match answer {
                Ok(ranges) => reported.push(ranges),
                Err(fault) => why = fault.why(),
            }
        }
        let _ = tokio::time::timeout(GATHER_FOR, async {
            while let Some(answer) = answers.next().await {
                reported.extend(answer.ok());
            }
        })
        .await;
        slot_map::majority_map(reported)
            .ok_or_else(|| Fault::unavailable(&format_args!("no node of the cluster says who has what: {why}")))
    }

    /// Replaces the map; links to nodes that are still in it stay open.
    fn set_map(&self, ranges: &[SlotRange]) -> Result<(), Fault> {
        let mut next = SlotMap { nodes: Vec::new(), owners: vec![NO_NODE; SLOTS] };
        for range in ranges {
            let link = self.link_to(&range.host, range.port)?;
            let nth = next.index_of(&link);
            next.owners[usize::from(range.first)..=usize::from(range.last)].fill(nth);
        }
        let mut map = self.map.write();
        let is_known = |link: &Arc<Link>| map.nodes.iter().any(|known| Arc::ptr_eq(known, link));
        if map.nodes.len() != next.nodes.len() || !next.nodes.iter().all(is_known) {
            self.nodes_changed.notify_one();
        }
        *map = next;
        Ok(())
    }

    /// Follows a redirection: another node has the slot.
    fn move_slot(&self, slot: u16, link: &Arc<Link>) {
        let mut map = self.map.write();
        let nth = map.index_of(link);
        if let Some(owner) = map.owners.get_mut(usize::from(slot)) {
            *owner = nth;
        }
        self.nodes_changed.notify_one();
        // Other slots may have moved too.
        self.map_doubted.notify_one();
    }

    /// The existing link to a node, or a new one.
    fn link_to(&self, host: &str, port: u16) -> Result<Arc<Link>, Fault> {
        let first = self.seeds.first().ok_or_else(|| Fault::unavailable(&"no node of the cluster is known"))?;
        let server = first.server().with_address(host, port);
        let name = server.name();
        let mut map = self.map.write();
        let known = map.nodes.iter().chain(&self.seeds).find(|link| link.name() == name).cloned();
        Ok(known.unwrap_or_else(|| {
            let link = Arc::new(first.sibling(server));
            map.nodes.push(link.clone());
            link
        }))
    }
}

impl SlotMap {
    fn index_of(&mut self, link: &Arc<Link>) -> u16 {
        let known = self.nodes.iter().position(|known| Arc::ptr_eq(known, link));
        let nth = known.unwrap_or_else(|| {
            self.nodes.push(link.clone());
            self.nodes.len() - 1
        });
        u16::try_from(nth).unwrap_or(NO_NODE)
    }
}

/// The map in a node's reply to `CLUSTER SLOTS`.
async fn ask_map(link: &Link, reply: impl Future<Output = Result<Value, Fault>>) -> Result<Vec<SlotRange>, Fault> {
    let map = slot_map::parse(&reply.await?, link.server().host());
    map.ok_or_else(|| Fault::Broken("CLUSTER SLOTS was expected".to_owned()))
}
