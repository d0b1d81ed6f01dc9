//! A cluster: a link to each of its primaries, and which of them has which slots. A call goes to the node that has its slot;
//! what nodes say against that corrects the map.

mod call;
mod coverage;
mod map;
mod mind;
pub(crate) mod slot;

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::sync::{Mutex, Notify};

use self::{map::Range, slot::SLOTS};
use super::{
    link::{Durability, Link, away},
    read::broken,
    server::Server,
};
use crate::{
    job::budget::CONNECT,
    store::{fault::Fault, script::Scripts},
};

/// Nodes that are asked for the map at a time.
const ASKED: usize = 8;
/// For those who answer later than the first: what most of them say counts.
const OTHERS: Duration = Duration::from_millis(50);
/// A map that is younger is not asked for again.
const FRESH: Duration = Duration::from_millis(50);
/// Of a slot that nobody has.
const NOBODY: u16 = u16::MAX;

pub(crate) struct Cluster {
    /// As the URL names them: they are asked for the map when nobody else answers.
    seeds: Vec<Arc<Link>>,
    map: RwLock<Map>,
    /// When the map was last told. Held while it is asked for, so that a crowd asks once.
    told: Mutex<Option<Instant>>,
    /// Whether any node served when that was last asked. Held while they are asked.
    serves: Mutex<Option<(Instant, bool)>>,
    /// Whoever was asked first is asked last the next time.
    turn: AtomicUsize,
    /// The map may be old.
    doubted: Notify,
    /// There are other nodes.
    changed: Notify,
}

struct Map {
    nodes: Vec<Arc<Link>>,
    /// Of each slot, which of the nodes has it.
    owners: Vec<u16>,
}

impl Cluster {
    pub(super) fn new(seeds: Vec<Server>, durability: &Durability, scripts: &Scripts, nowhere: &str) -> Self {
        let link = |seed| Arc::new(Link::new(seed, (None, durability.clone()), scripts, nowhere));
        Self {
            seeds: seeds.into_iter().map(link).collect(),
            map: RwLock::new(Map { nodes: Vec::new(), owners: vec![NOBODY; SLOTS] }),
            told: Mutex::default(),
            serves: Mutex::default(),
            turn: AtomicUsize::new(0),
            doubted: Notify::new(),
            changed: Notify::new(),
        }
    }

    fn read<T>(&self, look: impl FnOnce(&Map) -> T) -> T {
        look(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Map) -> T) -> T {
        change(&mut self.map.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The node that has a slot, as far as is known.
    pub(super) fn owner(&self, slot: u16) -> Option<Arc<Link>> {
        self.read(|map| map.nodes.get(usize::from(*map.owners.get(usize::from(slot))?)).cloned())
    }

    /// The number of that node, as long as the map stays as it is.
    pub(super) fn shard(&self, slot: u16) -> u16 {
        self.read(|map| map.owners.get(usize::from(slot)).copied().unwrap_or(NOBODY))
    }

    /// Every primary.
    pub(super) async fn primaries(&self) -> Result<Vec<Arc<Link>>, Fault> {
        let known = self.read(|map| map.nodes.clone());
        if !known.is_empty() {
            return Ok(known);
        }
        self.learn(Instant::now()).await?;
        Ok(self.read(|map| map.nodes.clone()))
    }

    /// All that is known, the seeds behind the others, each once, and each time another one first.
    pub(super) fn everybody(&self) -> Vec<Arc<Link>> {
        let mut all = self.read(|map| map.nodes.clone());
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

    /// Those who are in the cluster. A seed may have left it: it is listened at as long as nobody else is known.
    pub(super) fn ears(&self) -> Vec<Arc<Link>> {
        let (all, known) = (self.everybody(), self.read(|map| map.nodes.len()));
        if known == 0 { all } else { all.into_iter().take(known).collect() }
    }

    /// Asks for the map, unless it was told since the given time.
    async fn learn(&self, since: Instant) -> Result<(), Fault> {
        let asked = tokio::time::timeout(CONNECT, async {
            let mut told = self.told.lock().await;
            if told.is_some_and(|at| at > since || at.elapsed() < FRESH) {
                return Ok(());
            }
            let ranges = self.ask_around().await?;
            *told = Some(Instant::now());
            self.take(&ranges)
        });
        asked.await.unwrap_or_else(|_| Err(away(&"no node of the cluster answers in time")))
    }

    /// What most say of those who answer soon after the first.
    async fn ask_around(&self) -> Result<Vec<Range>, Fault> {
        let asked = self.everybody().into_iter().take(ASKED.max(self.seeds.len()));
        let mut answers: FuturesUnordered<_> = asked.map(|link| async move { ask(&link).await }).collect();
        let mut told = Vec::new();
        let mut why = String::new();
        while told.is_empty() {
            match answers.next().await {
                Some(Ok(ranges)) => told.push(ranges),
                Some(Err(fault)) => why = fault.why(),
                None => return Err(away(&format_args!("no node of the cluster says who has what: {why}"))),
            }
        }
        let _ = tokio::time::timeout(OTHERS, async {
            while let Some(answer) = answers.next().await {
                told.extend(answer.ok());
            }
        })
        .await;
        map::agreed(told).ok_or_else(|| away(&"no node of the cluster says who has what"))
    }

    /// From now on this is the map. Links to nodes that are still there stay as they are.
    fn take(&self, ranges: &[Range]) -> Result<(), Fault> {
        let mut next = Map { nodes: Vec::new(), owners: vec![NOBODY; SLOTS] };
        for range in ranges {
            let link = self.link_to(&range.host, range.port)?;
            let nth = next.place_of(&link);
            next.owners[usize::from(range.first)..=usize::from(range.last)].fill(nth);
        }
        let has_changed = self.write(|map| {
            let is_known = |link: &Arc<Link>| map.nodes.iter().any(|known| Arc::ptr_eq(known, link));
            let has_changed = map.nodes.len() != next.nodes.len() || !next.nodes.iter().all(is_known);
            *map = next;
            has_changed
        });
        if has_changed {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// A node said that another has a slot.
    fn move_slot(&self, slot: u16, link: &Arc<Link>) {
        self.write(|map| {
            let nth = map.place_of(link);
            if let Some(owner) = map.owners.get_mut(usize::from(slot)) {
                *owner = nth;
            }
        });
        self.changed.notify_one();
        // Where one has moved, others may have.
        self.doubted.notify_one();
    }

    /// The link to a node, the one that is there if there is one.
    fn link_to(&self, host: &str, port: u16) -> Result<Arc<Link>, Fault> {
        let first = self.seeds.first().ok_or_else(|| away(&"no node of the cluster is known"))?;
        let server = first.server().at_place(host, port);
        let place = server.place();
        let is_it = |link: &&Arc<Link>| link.place() == place;
        if let Some(link) = self.read(|map| map.nodes.iter().chain(&self.seeds).find(is_it).cloned()) {
            return Ok(link);
        }
        let link = Arc::new(first.sibling(server));
        // Two who meet it at the same time keep one of the two.
        Ok(self.write(|map| match map.nodes.iter().find(is_it).cloned() {
            Some(known) => known,
            None => {
                map.nodes.push(link.clone());
                link
            }
        }))
    }
}

impl Map {
    fn place_of(&mut self, link: &Arc<Link>) -> u16 {
        let known = self.nodes.iter().position(|known| Arc::ptr_eq(known, link));
        let nth = known.unwrap_or_else(|| {
            self.nodes.push(link.clone());
            self.nodes.len() - 1
        });
        u16::try_from(nth).unwrap_or(NOBODY)
    }
}

async fn ask(link: &Link) -> Result<Vec<Range>, Fault> {
    let answer = link.plain(redis::cmd("CLUSTER").arg("SLOTS")).await?;
    map::read(&answer, link.server().host()).ok_or_else(|| broken("CLUSTER SLOTS"))
}
