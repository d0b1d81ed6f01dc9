//! What a failover behind sentinels costs of what was acknowledged, and for how long nobody is served: by the way it comes
//! about, and by when changes are acknowledged. `INTRAY_FAILOVERS=3` tries each way so often and prints a table.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use serde_json::json;
use tokio::task::JoinSet;

use super::sentinel::replicated;
use crate::world::{
    Client, eventually, id_of,
    sentinels::{SentinelPlan, SentinelSetup},
};

/// What was acknowledged to those who enqueue until it is over.
#[derive(Clone, Default)]
pub(super) struct Load {
    ids: Arc<Mutex<Vec<String>>>,
    times: Arc<Mutex<Times>>,
    over: Arc<AtomicBool>,
}

/// When anything was acknowledged last, and for how long at a stretch nothing was.
#[derive(Default)]
struct Times {
    last: Option<Instant>,
    out: Duration,
}

impl Load {
    pub(super) fn start(&self, client: &Client) -> JoinSet<()> {
        let mut crowd = JoinSet::new();
        for n in 0..8 {
            let (client, load) = (client.clone(), self.clone());
            crowd.spawn(async move {
                while !load.over.load(Ordering::Relaxed) {
                    let answer = client.send_enqueue(json!({ "payload": n, "dedupe": false })).await;
                    if answer.status == 201 {
                        load.acknowledged(id_of(&answer.json()));
                    } else {
                        answer.refused("unavailable");
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                }
            });
        }
        crowd
    }

    fn acknowledged(&self, id: String) {
        self.ids.lock().expect("no panic").push(id);
        let mut times = self.times.lock().expect("no panic");
        let before = times.last.replace(Instant::now());
        times.out = times.out.max(before.map_or(Duration::ZERO, |before| before.elapsed()));
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.ids.lock().expect("no panic").clone()
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(super) fn len(&self) -> usize {
        self.ids.lock().expect("no panic").len()
    }

    pub(super) async fn more(&self) {
        let before = self.len();
        eventually("more is acknowledged", async || (self.len() > before + 100).then_some(())).await;
    }

    fn out(&self) -> Duration {
        self.times.lock().expect("no panic").out
    }

    pub(super) async fn lost(&self, client: &Client) -> usize {
        let ids = self.ids();
        let looks = ids.into_iter().map(|id| {
            let client = client.clone();
            async move { client.get(&format!("/jobs/{id}")).await.status != 200 }
        });
        stream::iter(looks).buffer_unordered(8).filter(|lost| std::future::ready(*lost)).count().await
    }
}

/// How it comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `SENTINEL FAILOVER`, and nothing else is done.
    Bare,
    /// As README says it.
    Planned,
    Killed,
}

struct Case {
    way: Way,
    durability: &'static str,
    min_replicas: usize,
    /// How much may be lost.
    most_lost: Option<usize>,
    /// For how many ms at a stretch nothing may be acknowledged, on a machine that does nothing else.
    most_out: Option<u128>,
    /// Tried each time that stories are told.
    is_usual: bool,
}

const BARE: Case =
    Case { way: Way::Bare, durability: "async", min_replicas: 0, most_lost: None, most_out: None, is_usual: false };
const CASES: [Case; 7] = [
    BARE,
    Case { min_replicas: 1, ..BARE },
    Case { min_replicas: 2, ..BARE },
    Case { durability: "replicated:2", most_lost: Some(0), is_usual: true, ..BARE },
    Case { way: Way::Planned, most_lost: Some(0), most_out: Some(2_000), ..BARE },
    Case { way: Way::Killed, most_out: Some(4_000), ..BARE },
    Case { way: Way::Killed, durability: "replicated:1", most_lost: Some(0), most_out: Some(4_000), ..BARE },
];

/// What was acknowledged, what of it was lost, and how long nothing was.
#[derive(Debug)]
struct Toll {
    acknowledged: usize,
    lost: usize,
    out: Duration,
}

async fn fail_over(case: &Case) -> Toll {
    let mut w = SentinelSetup::start_with(SentinelPlan { down_after_ms: 1_000, ..SentinelPlan::default() }).await;
    for node in &w.nodes {
        let _: String = node.run(&format!("CONFIG SET min-replicas-to-write {}", case.min_replicas)).await;
        let _: String = node.run("CONFIG SET min-replicas-max-lag 1").await;
    }
    let (_service, client) = w.serve(&["--durability", case.durability]).await;
    let load = Load::default();
    let crowd = load.start(&client);
    load.more().await;
    match case.way {
        Way::Bare => eventually("a failover can begin", async || w.command_succeeds(0, "FAILOVER").await).await,
        Way::Planned => {
            let _: String = w.nodes[0].run("CLIENT PAUSE 30000 WRITE").await;
            replicated(&w, 0).await;
            eventually("a failover can begin", async || w.command_succeeds(0, "FAILOVER").await).await;
        }
        Way::Killed => w.nodes[0].kill(),
    }
    let next = eventually("there is another primary", async || w.primary_seen_by(0).await.filter(|n| *n != 0)).await;
    if case.way == Way::Planned {
        let _: String = w.nodes[0].run(&format!("REPLICAOF 127.0.0.1 {}", w.port(next))).await;
    }
    eventually("the service has moved", async || {
        (client.metric("intray_redis_failovers_total").await > 0.0).then_some(())
    })
    .await;
    if case.way != Way::Killed {
        eventually("the one before follows", async || {
            w.nodes[0].replication_info().await.contains("master_link_status:up").then_some(())
        })
        .await;
    }
    load.more().await;
    load.end();
    crowd.join_all().await;
    let toll = Toll { acknowledged: load.len(), lost: load.lost(&client).await, out: load.out() };
    w.check(next, &client).await;
    toll
}

impl Case {
    fn name(&self) -> String {
        let Self { durability, min_replicas, .. } = self;
        let how = match self.way {
            Way::Bare => "`SENTINEL FAILOVER` and nothing else",
            Way::Planned => "a switch as README says",
            Way::Killed => "the primary is killed",
        };
        let with = if *min_replicas > 0 { format!(", `min-replicas-to-write {min_replicas}`") } else { String::new() };
        format!("{how} | `{durability}`{with}")
    }

    fn holds(&self, toll: &Toll, is_alone: bool) {
        assert!(self.most_lost.is_none_or(|most| toll.lost <= most), "{}: {toll:?}", self.name());
        let is_soon = self.most_out.is_none_or(|most| toll.out.as_millis() <= most);
        assert!(is_soon || !is_alone, "{}: {toll:?}", self.name());
    }
}

#[tokio::test]
async fn what_was_acknowledged_with_replicas_survives_whatever_a_failover_loses_without() {
    let rounds: Option<usize> = std::env::var("INTRAY_FAILOVERS").ok().and_then(|n| n.parse().ok());
    println!("| how | acknowledged with | acknowledged | lost | nothing acknowledged for |\n|---|---|---|---|---|");
    for case in CASES.iter().filter(|case| rounds.is_some() || case.is_usual) {
        let mut tolls = Vec::new();
        for _ in 0..rounds.unwrap_or(1) {
            tolls.push(fail_over(case).await);
        }
        let (sum, lost) = (tolls.iter().map(|it| it.acknowledged).sum::<usize>(), tolls.iter().map(|it| it.lost));
        let out = tolls.iter().map(|it| it.out.as_secs_f64()).fold(0.0, f64::max);
        println!("| {} | {sum} | {} | {out:.1} s |", case.name(), lost.sum::<usize>());
        tolls.iter().for_each(|toll| case.holds(toll, rounds.is_some()));
    }
}
