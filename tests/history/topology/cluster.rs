//! A cluster of three primaries with a replica each. A change is acknowledged when the replica has it, and a killed
//! node keeps its file: no acknowledged change may be lost, whichever node is killed or promoted.

use tempfile::TempDir;
use tokio::sync::Mutex;

use super::{
    Reach, TROUBLES, Topology, Trouble, Work, host_of,
    places::{are_whole_again, is_primary, primaries, replica_of},
    temporary, trouble, wires,
};
use crate::{
    load::{Chance, QUEUES},
    world::{Engine, NodeSettings, SlotMove, eventually, latest_server_program},
};

/// The node timeout, which is longer than a freeze.
const MISSED: u64 = 5_000;
const KEPT: [&str; 10] = [
    "--appendonly",
    "yes",
    "--appendfsync",
    "no",
    // A replica stays valid when clocks jump.
    "--repl-timeout",
    "86400",
    "--cluster-replica-validity-factor",
    "0",
    // A node's address is the one that was asked, so that each instance reaches all nodes through its own connections.
    "--cluster-preferred-endpoint-type",
    "unknown-endpoint",
];
/// Keys of the service itself, whose slots move too.
const COMMON: [&str; 2] = ["intray:2:queues", "intray:layout"];

pub struct Cluster {
    engine: Mutex<Engine>,
    ports: Vec<u16>,
    at_once: bool,
    _folder: TempDir,
}

/// Faults of the cluster.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Freeze,
    /// A primary is killed and its replica promoted.
    Replace,
    /// A replica and its primary change roles.
    Exchange,
    MoveByKeys,
    MoveAtOnce,
    Trouble(Trouble),
}

impl Cluster {
    pub async fn start() -> Self {
        let folder = temporary();
        let usual = NodeSettings::with_defaults(true, MISSED);
        let form = NodeSettings {
            program: latest_server_program().unwrap_or(usual.program),
            keeping: &KEPT,
            timeout_ms: MISSED,
        };
        println!("a cluster of {}", form.program.display());
        let mut engine = Engine::start_cluster(folder.path(), form).await;
        for primary in 0..3 {
            engine.add_replica_of(primary).await;
        }
        let at_once = engine.supports_atomic_moves().await;
        if !at_once {
            println!("left out: slots that move all at once, which `scripts/engine.sh latest` brings a server for");
        }
        let ports = (0..engine.node_count()).map(|node| engine.port_of(node)).collect();
        Self { engine: Mutex::new(engine), ports, at_once, _folder: folder }
    }

    fn fault(&self, chance: &mut Chance) -> Fault {
        match chance.up_to(12) {
            0 => Fault::Kill,
            1 | 2 => Fault::Freeze,
            3 => Fault::Replace,
            4 => Fault::Exchange,
            5 | 6 if self.at_once => Fault::MoveAtOnce,
            5..=8 => Fault::MoveByKeys,
            _ => Fault::Trouble(*chance.one(&TROUBLES)),
        }
    }
}

impl Topology for Cluster {
    fn reach(&self, instance: usize) -> Work<'_, Reach> {
        Box::pin(async move {
            let here = host_of(instance);
            let wires = wires(&here, &self.ports, &self.ports).await;
            let places: Vec<_> = self.ports.iter().map(|port| format!("{here}:{port}")).collect();
            let url = format!("redis+cluster://{}", places.join(","));
            let flags = ["--redis-url", &url, "--durability", "replicated:1"].map(str::to_owned).to_vec();
            Reach { flags, wires }
        })
    }

    fn strike<'t>(&'t self, chance: &'t mut Chance) -> Work<'t, Option<String>> {
        Box::pin(async {
            let mut engine = self.engine.try_lock().ok()?;
            let fault = self.fault(chance);
            let whom = suffer(&mut engine, fault, chance).await;
            Some(format!("the cluster: {fault:?} {whom}"))
        })
    }

    fn pass(&self, ms: u64) -> Work<'_> {
        Box::pin(async move { self.engine.lock().await.clock.advance(i64::try_from(ms).unwrap_or(0)) })
    }

    fn stop(&self) -> Work<'_> {
        Box::pin(async { self.engine.lock().await.kill() })
    }
}

/// Returns the new node.
async fn suffer(engine: &mut Engine, fault: Fault, chance: &mut Chance) -> String {
    let primaries = primaries(engine).await;
    let (primary, any) = (*chance.one(&primaries), chance.count(0, engine.node_count() - 1));
    match fault {
        Fault::Kill => {
            engine.kill_node(any);
            chance.rest(1_000).await;
            engine.revive_node(any).await;
            are_whole_again(engine).await;
            format!("node {any}")
        }
        Fault::Freeze => {
            engine.freeze_node(any);
            chance.rest(3_000).await;
            engine.thaw_node(any);
            are_whole_again(engine).await;
            format!("node {any}")
        }
        Fault::Replace => replace(engine, primary, chance).await,
        Fault::Exchange => exchange(engine, primary).await,
        Fault::MoveByKeys | Fault::MoveAtOnce => move_slot(engine, fault, &primaries, chance).await,
        Fault::Trouble(what) => {
            trouble(engine.connection_to(primary), what, chance).await;
            format!("node {primary}")
        }
    }
}

async fn replace(engine: &mut Engine, primary: usize, chance: &mut Chance) -> String {
    let replica = replica_of(engine, primary).await;
    engine.kill_node(primary);
    let mut looks = 0;
    eventually("the replica takes the place", async || {
        if looks % 400 == 0 {
            engine.clock.advance(i64::try_from(MISSED + 500).unwrap_or(0));
        }
        looks += 1;
        is_primary(engine, replica).await
    })
    .await;
    chance.rest(1_000).await;
    engine.restart_node(primary).await;
    are_whole_again(engine).await;
    format!("node {primary} by node {replica}")
}

async fn exchange(engine: &mut Engine, primary: usize) -> String {
    let replica = replica_of(engine, primary).await;
    let mut looks = 0;
    eventually("the replica takes the place", async || {
        if looks % 400 == 0 {
            let _ = engine.try_run_on::<String>(replica, "CLUSTER FAILOVER").await; // repeated if it fails
        }
        looks += 1;
        is_primary(engine, replica).await
    })
    .await;
    are_whole_again(engine).await;
    format!("node {primary} and node {replica}")
}

async fn move_slot(engine: &Engine, fault: Fault, primaries: &[usize], chance: &mut Chance) -> String {
    let key = *chance.one(&[&QUEUES[..], &COMMON[..]].concat());
    let from = engine.shard_of(key).await;
    let others: Vec<_> = primaries.iter().copied().filter(|node| *node != from).collect();
    let to = *chance.one(&others);
    if matches!(fault, Fault::MoveAtOnce) {
        SlotMove::run_atomic(engine, key, to).await;
    } else {
        let it = SlotMove::start(engine, key, to).await;
        while it.move_keys(chance.count(1, 10)).await {
            chance.rest(60).await;
        }
        it.finish().await;
    }
    format!("{key} from node {from} to node {to}")
}
