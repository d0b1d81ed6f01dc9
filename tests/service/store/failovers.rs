//! How many acknowledged changes a failover behind sentinels loses, and how long calls fail: by cause, and by
//! durability level. `INTRAY_FAILOVERS=3` repeats each case three times and prints a table.

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

/// The ids that were acknowledged to producers.
#[derive(Clone, Default)]
pub(super) struct Load {
    ids: Arc<Mutex<Vec<String>>>,
    times: Arc<Mutex<Times>>,
    over: Arc<AtomicBool>,
}

/// The time of the last acknowledgement, and the longest gap between two.
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
        eventually("more changes are acknowledged", async || (self.len() > before + 100).then_some(())).await;
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

/// The cause of the failover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// `SENTINEL FAILOVER`, and nothing else.
    Bare,
    /// As the README describes it.
    Planned,
    Killed,
}

struct Case {
    way: Cause,
    durability: &'static str,
    min_replicas: usize,
    /// How many changes may be lost.
    max_lost: Option<usize>,
    /// The longest allowed gap in ms, on an idle machine.
    max_out: Option<u128>,
    /// Runs in every test run, not only with INTRAY_FAILOVERS.
    is_usual: bool,
}

const BARE: Case =
    Case { way: Cause::Bare, durability: "async", min_replicas: 0, max_lost: None, max_out: None, is_usual: false };
const CASES: [Case; 7] = [
    BARE,
    Case { min_replicas: 1, ..BARE },
    Case { min_replicas: 2, ..BARE },
    Case { durability: "replicated:2", max_lost: Some(0), is_usual: true, ..BARE },
    Case { way: Cause::Planned, max_lost: Some(0), max_out: Some(2_000), ..BARE },
    Case { way: Cause::Killed, max_out: Some(4_000), ..BARE },
    Case { way: Cause::Killed, durability: "replicated:1", max_lost: Some(0), max_out: Some(4_000), ..BARE },
];

/// Acknowledged changes, how many of them were lost, and the longest gap.
#[derive(Debug)]
struct Outcome {
    acknowledged: usize,
    lost: usize,
    out: Duration,
}

async fn fail_over(case: &Case) -> Outcome {
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
        Cause::Bare => eventually("a failover can begin", async || w.command_succeeds(0, "FAILOVER").await).await,
        Cause::Planned => {
            let _: String = w.nodes[0].run("CLIENT PAUSE 30000 WRITE").await;
            replicated(&w, 0).await;
            eventually("a failover can begin", async || w.command_succeeds(0, "FAILOVER").await).await;
        }
        Cause::Killed => w.nodes[0].kill(),
    }
    let next = eventually("another primary is elected", async || w.primary_seen_by(0).await.filter(|n| *n != 0)).await;
    if case.way == Cause::Planned {
        let _: String = w.nodes[0].run(&format!("REPLICAOF 127.0.0.1 {}", w.port(next))).await;
    }
    eventually("the service follows", async || {
        (client.metric("intray_redis_failovers_total").await > 0.0).then_some(())
    })
    .await;
    if case.way != Cause::Killed {
        eventually("the old primary is a replica", async || {
            w.nodes[0].replication_info().await.contains("master_link_status:up").then_some(())
        })
        .await;
    }
    load.more().await;
    load.end();
    crowd.join_all().await;
    let outcome = Outcome { acknowledged: load.len(), lost: load.lost(&client).await, out: load.out() };
    w.check(next, &client).await;
    outcome
}

impl Case {
    fn name(&self) -> String {
        let Self { durability, min_replicas, .. } = self;
        let how = match self.way {
            Cause::Bare => "`SENTINEL FAILOVER` and nothing else",
            Cause::Planned => "a switch as README says",
            Cause::Killed => "the primary is killed",
        };
        let with = if *min_replicas > 0 { format!(", `min-replicas-to-write {min_replicas}`") } else { String::new() };
        format!("{how} | `{durability}`{with}")
    }

    fn holds(&self, outcome: &Outcome, is_alone: bool) {
        assert!(self.max_lost.is_none_or(|max| outcome.lost <= max), "{}: {outcome:?}", self.name());
        let is_soon = self.max_out.is_none_or(|max| outcome.out.as_millis() <= max);
        assert!(is_soon || !is_alone, "{}: {outcome:?}", self.name());
    }
}

#[tokio::test]
async fn changes_acknowledged_by_replicas_survive_a_failover() {
    let rounds: Option<usize> = std::env::var("INTRAY_FAILOVERS").ok().and_then(|n| n.parse().ok());
    println!("| how | acknowledged with | acknowledged | lost | longest gap |\n|---|---|---|---|---|");
    for case in CASES.iter().filter(|case| rounds.is_some() || case.is_usual) {
        let mut tolls = Vec::new();
        for _ in 0..rounds.unwrap_or(1) {
            tolls.push(fail_over(case).await);
        }
        let (sum, lost) = (tolls.iter().map(|it| it.acknowledged).sum::<usize>(), tolls.iter().map(|it| it.lost));
        let out = tolls.iter().map(|it| it.out.as_secs_f64()).fold(0.0, f64::max);
        println!("| {} | {sum} | {} | {out:.1} s |", case.name(), lost.sum::<usize>());
        tolls.iter().for_each(|outcome| case.holds(outcome, rounds.is_some()));
    }
}
