//! A network partition: the old primary and its clients are cut off for some seconds, and both sides continue. No
//! change that was acknowledged with replicas is lost.

use std::{collections::HashSet, time::Duration};

use super::failovers::Load;
use crate::world::{eventually, sentinels::SentinelSetup};

/// Lengths of the partitions, in turn.
const SECONDS: [u64; 3] = [5, 10, 7];

fn is_in(kept: &HashSet<String>, id: &str) -> bool {
    id.split_once('-').is_some_and(|(_, code)| kept.contains(code))
}

#[tokio::test]
async fn partition_loses_no_change_confirmed_by_a_replica() {
    let times = std::env::var("INTRAY_PARTITIONS").map_or(1, |n| n.parse().expect("a number of partitions"));
    let mut w = SentinelSetup::with_breakable_network().await;
    let (_there, others) = w.serve(&["--durability", "replicated:1"]).await;
    let (_here, beside) = w.serve_beside_primary(&["--durability", "replicated:1"]).await;
    let (of_others, of_beside) = (Load::default(), Load::default());
    let mut crowds = [of_others.start(&others), of_beside.start(&beside)];
    for n in 0..times {
        of_others.more().await;
        of_beside.more().await;
        let primary = w.primary().await;
        w.partition(primary);
        let begin = tokio::time::Instant::now();
        let next = eventually("the majority elects another primary", async || {
            Some(w.primary().await).filter(|p| *p != primary)
        })
        .await;
        of_others.more().await;
        let (before, length) = (of_beside.len(), Duration::from_secs(SECONDS[n % SECONDS.len()]));
        tokio::time::sleep_until(begin + length).await;
        assert_eq!(of_beside.len(), before, "no replica confirms changes at the old primary");
        w.heal_partition(primary).await;
        println!("partition {n}: {length:?}, {primary} -> {next}");
    }
    of_others.more().await;
    of_beside.more().await;
    for load in [&of_others, &of_beside] {
        load.end();
    }
    for crowd in &mut crowds {
        while let Some(ended) = crowd.join_next().await {
            ended.expect("no odd answer");
        }
    }
    // A change of role closes all client connections.
    let (primary, kept) = eventually("the primary lists what it has", async || {
        let primary = w.agreed_primary().await?;
        w.nodes[primary].connect().await;
        let kept = w.nodes[primary].try_run_on::<HashSet<String>>(0, "HKEYS intray:{default}:2:jobs").await.ok()?;
        Some((primary, kept))
    })
    .await;
    let lost = [&of_others, &of_beside].map(|load| load.ids().iter().filter(|id| !is_in(&kept, id)).count());
    println!("{times} partitions: {lost:?} lost of {} and {} acknowledged", of_others.len(), of_beside.len());
    assert_eq!(lost, [0, 0]);
    w.check(primary, &others).await;
}
