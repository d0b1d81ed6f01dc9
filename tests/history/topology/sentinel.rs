//! A primary and two replicas that three sentinels watch. A change is acknowledged when both replicas have it, so whichever
//! takes the place of the primary has all that was acknowledged.
//!
//! A read waits for no replica. Clients of a primary that is cut off, or frozen until another is promoted, get no answer: what
//! it still does is undone, and no client has seen it.

use tokio::sync::Mutex;

use super::{Reach, TROUBLES, Topology, Trouble, Work, host_of, temporary, trouble, wires};
use crate::{
    load::Chance,
    wire::{Passage, Place, Wire},
    world::{
        Engine,
        children::free_port,
        eventually,
        replica::open_port,
        sentinels::{SentinelPlan, SentinelSetup, network::Network},
    },
};

/// The sentinels' timeout; on a busy machine a healthy server may take long to answer.
const MISSED: u64 = 4_000;
/// An outage of at most this length causes no failover.
const SHORT: u64 = 1_000;
const KEPT: [&str; 6] =
    ["--appendonly", "yes", "--appendfsync", "no", /* whatever clocks do */ "--repl-timeout", "86400"];

pub struct Sentinel {
    servers: Mutex<Servers>,
    /// Ports of the proxies in front of the servers.
    doors: Vec<u16>,
}

struct Servers {
    watched: SentinelSetup,
    /// The proxy for sentinels and replicas.
    wires: Vec<Wire>,
    /// The proxy for each instance.
    of_instances: Vec<Vec<Wire>>,
    /// The servers' own ports, behind the proxies.
    ports: Vec<u16>,
}

/// Faults of the servers.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Any server, killed and restarted before a failover.
    Restart,
    /// Any server, for a time that causes no failover.
    Freeze,
    /// The primary, until another is promoted.
    Kill,
    FreezeLong,
    CutOff,
    /// A planned failover, as the README describes it.
    Switch,
    Trouble(Trouble),
}

impl Sentinel {
    pub async fn start() -> Self {
        let folder = temporary();
        let (mut nodes, mut ports, mut doors, mut before) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for n in 0..3 {
            let own = folder.path().join(format!("node-{n}"));
            std::fs::create_dir(&own).expect("a folder");
            let node = Engine::start_with_args(&own, &KEPT).await;
            let (port, door) = (open_port(&node).await, free_port());
            let there = |port| Place::Port("127.0.0.1".to_owned(), port);
            before.push(Wire::start(&there(door), there(port)).await);
            announce(&node, door).await;
            nodes.push(node);
            ports.push(port);
            doors.push(door);
        }
        let plan = SentinelPlan { down_after_ms: MISSED, failover_timeout_ms: 3_000, ..SentinelPlan::default() };
        let watched = SentinelSetup::start_over_nodes(folder, nodes, (doors.clone(), Network::default()), plan).await;
        Self { servers: Mutex::new(Servers { watched, wires: before, of_instances: Vec::new(), ports }), doors }
    }
}

/// Other servers reach it through its proxy.
async fn announce(node: &Engine, door: u16) {
    let _: String = node.run("CONFIG SET repl-diskless-sync-delay 0").await;
    let _: String = node.run("CONFIG SET replica-announce-ip 127.0.0.1").await;
    let _: String = node.run(&format!("CONFIG SET replica-announce-port {door}")).await;
}

impl Topology for Sentinel {
    fn reach(&self, instance: usize) -> Work<'_, Reach> {
        Box::pin(async move {
            let mut servers = self.servers.lock().await;
            let url = servers.watched.url();
            let here = host_of(instance);
            let wires = wires(&here, &self.doors, &servers.ports).await;
            servers.of_instances.push(wires.clone());
            let map: Vec<_> = self.doors.iter().map(|door| format!("127.0.0.1:{door}={here}:{door}")).collect();
            let flags = ["--redis-url", &url, "--durability", "replicated:2", "--sentinel-map", &map.join(",")];
            Reach { flags: flags.map(str::to_owned).to_vec(), wires }
        })
    }

    fn strike<'t>(&'t self, chance: &'t mut Chance) -> Work<'t, Option<String>> {
        Box::pin(async {
            let mut servers = self.servers.try_lock().ok()?;
            let fault = match chance.up_to(13) {
                0 => Fault::Restart,
                1 | 2 => Fault::Freeze,
                3 => Fault::Kill,
                4 => Fault::FreezeLong,
                5 => Fault::CutOff,
                6 | 7 => Fault::Switch,
                _ => Fault::Trouble(*chance.one(&TROUBLES)),
            };
            let whom = servers.suffer(fault, chance).await;
            Some(format!("the servers: {fault:?} {whom}"))
        })
    }

    fn pass(&self, ms: u64) -> Work<'_> {
        Box::pin(async move {
            let ms = i64::try_from(ms).unwrap_or(0);
            self.servers.lock().await.watched.nodes.iter().for_each(|node| node.clock.advance(ms));
        })
    }

    fn stop(&self) -> Work<'_> {
        Box::pin(async { self.servers.lock().await.watched.nodes.iter_mut().for_each(Engine::kill) })
    }
}

impl Servers {
    /// Returns the affected server and the final primary.
    async fn suffer(&mut self, fault: Fault, chance: &mut Chance) -> String {
        let primary = eventually("the sentinels agree", async || self.watched.agreed_primary().await).await;
        let any = chance.count(0, 2);
        match fault {
            Fault::Restart => {
                self.watched.nodes[any].kill();
                chance.rest(SHORT / 2).await;
                self.start_again(any, (any != primary).then_some(primary)).await;
            }
            Fault::Freeze => {
                self.watched.nodes[any].freeze();
                chance.rest(SHORT).await;
                self.watched.nodes[any].thaw();
            }
            Fault::Kill => {
                self.watched.nodes[primary].kill();
                let next = self.another_than(primary).await;
                self.start_again(primary, Some(next)).await;
            }
            Fault::FreezeLong => {
                self.leave_unheard(primary).await;
                self.watched.nodes[primary].freeze();
                self.another_than(primary).await;
                self.watched.nodes[primary].thaw();
            }
            Fault::CutOff => {
                self.leave_unheard(primary).await;
                self.wires[primary].lets_pass(Passage::Nothing);
                chance.rest(500).await;
                self.let_pass(primary, Passage::Nothing);
                self.another_than(primary).await;
            }
            Fault::Switch => self.switch(primary).await,
            Fault::Trouble(what) => trouble(self.watched.nodes[primary].connection(), what, chance).await,
        }
        let by_now = self.are_well_again().await;
        self.let_pass(primary, Passage::All);
        format!("of {any}, {primary} before, {by_now} now")
    }

    /// Its clients no longer get an answer, and every change that a client saw is on the replicas.
    async fn leave_unheard(&mut self, primary: usize) {
        self.of_instances.iter().for_each(|wires| wires[primary].lets_pass(Passage::Asks));
        self.both_have_all(primary).await;
    }

    fn let_pass(&self, server: usize, passage: Passage) {
        let of_instances = self.of_instances.iter().map(|wires| &wires[server]);
        of_instances.chain([&self.wires[server]]).for_each(|wire| wire.lets_pass(passage));
    }

    /// Not if it was demoted: then it has closed its connections.
    async fn both_have_all(&mut self, primary: usize) {
        let node = &mut self.watched.nodes[primary];
        eventually("both replicas have all", async || match node.try_run_on::<u64>(0, "WAIT 2 5000").await {
            Ok(have) => (have == 2).then_some(()),
            Err(_) => (!node.replication_info().await.contains("role:master")).then_some(()),
        })
        .await;
    }

    async fn another_than(&self, before: usize) -> usize {
        eventually("there is another primary", async || {
            self.watched.agreed_primary().await.filter(|now| *now != before)
        })
        .await
    }

    /// No client reaches it before it follows the new primary.
    async fn start_again(&mut self, n: usize, primary: Option<usize>) {
        let door = self.watched.port(n);
        let node = &mut self.watched.nodes[n];
        node.revive().await;
        announce(node, door).await;
        if let Some(primary) = primary {
            self.follow(n, primary).await;
        }
        let words = format!("CONFIG SET port {}", self.ports[n]);
        let open = async || self.watched.nodes[n].try_run_on::<String>(0, &words).await.ok();
        eventually("its port is free again", open).await;
    }

    async fn follow(&mut self, n: usize, primary: usize) {
        let port = self.watched.port(primary);
        self.tell(n, &format!("REPLICAOF 127.0.0.1 {port}")).await;
    }

    /// Retries when it closes connections, as a server does on a change of role.
    async fn tell(&mut self, n: usize, words: &str) {
        let node = &mut self.watched.nodes[n];
        eventually("the server accepts the command", async || match node.try_run_on::<String>(0, words).await {
            Ok(_) => Some(()),
            Err(_) => {
                node.connect().await;
                None
            }
        })
        .await;
    }

    /// Repeats: a failover that takes too long on a busy machine is aborted.
    async fn switch(&mut self, primary: usize) {
        let mut looks = 0;
        let next = eventually("there is another", async || {
            if looks % 1_000 == 0 {
                self.tell(primary, "CLIENT PAUSE 30000 WRITE").await;
                self.both_have_all(primary).await;
                self.watched.command_succeeds(0, "FAILOVER").await;
            }
            looks += 1;
            self.watched.primary_seen_by(0).await.filter(|now| *now != primary)
        })
        .await;
        self.follow(primary, next).await;
        self.tell(primary, "CLIENT UNPAUSE").await;
    }

    /// Waits until the sentinels agree and all others follow that primary; returns it. Servers are never set to follow
    /// a replica, or two could follow each other.
    async fn are_well_again(&mut self) -> usize {
        let mut looks = 0;
        eventually("the servers are well again", async || {
            looks += 1;
            let primary = self.watched.agreed_primary().await?;
            let is_primary = self.watched.nodes[primary].replication_info().await.contains("role:master");
            let (mine, up) = (format!("master_port:{}\r", self.watched.port(primary)), "master_link_status:up");
            let mut are_well = is_primary;
            for n in (0..3).filter(|n| *n != primary) {
                let info = self.watched.nodes[n].replication_info().await;
                if is_primary && looks % 100 == 0 && !info.contains(&mine) {
                    self.follow(n, primary).await;
                }
                are_well &= info.contains(&mine) && info.contains(up);
            }
            are_well.then_some(primary)
        })
        .await
    }
}
