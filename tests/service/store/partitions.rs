//! A network that falls apart: the primary and whoever is on its side hear nothing of the others for some seconds, and both
//! sides go on. Of what was acknowledged on either, nothing is lost.

use std::{collections::HashSet, time::Duration};

use super::failovers::Load;
use crate::world::{eventually, sentinels::SentinelSetup};

/// How long it lasts, the first time, and how much longer or shorter the next.
const SECONDS: [u64; 3] = [5, 10, 7];

fn is_in(kept: &HashSet<String>, id: &str) -> bool {
    id.split_once('-').is_some_and(|(_, code)| kept.contains(code))
}

#[tokio::test]
async fn of_changes_that_a_replica_has_confirmed_none_is_lost_when_the_network_falls_apart() {
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
        let next =
            eventually("the others have another", async || Some(w.primary().await).filter(|p| *p != primary)).await;
        of_others.more().await;
        let (before, length) = (of_beside.len(), Duration::from_secs(SECONDS[n % SECONDS.len()]));
        tokio::time::sleep_until(begin + length).await;
        assert_eq!(of_beside.len(), before, "nobody confirms what is done beside the old primary");
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
    // Whoever becomes primary, or is none any more, cuts its clients off.
    let (primary, kept) = eventually("the primary says what it has kept", async || {
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
