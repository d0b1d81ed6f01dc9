//! A caller that disconnects while it waits takes no job.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

use crate::world::{
    Took, World, assert_contains, assert_events, eventually, id_of,
    pending_reserve::PendingReserve,
    waiters::{MAX_WAIT_MS, PROMPT_LIMIT},
};

/// Waiting pages.
async fn pages(w: &World, n: usize) -> Vec<PendingReserve> {
    let looked = w.script_runs("reserve").await;
    let mut pages = Vec::new();
    for _ in 0..n {
        pages.push(PendingReserve::send(w, &json!({ "wait_ms": MAX_WAIT_MS })).await);
    }
    eventually("they looked once", async || (w.script_runs("reserve").await > looked).then_some(())).await;
    sleep(Duration::from_millis(100)).await;
    pages
}

#[tokio::test]
async fn closed_waiters_are_not_woken() {
    let w = World::start_process().await;
    let gone = pages(&w, 50).await;
    let stays = w.start_wait(json!({})).await;
    drop(gone);
    sleep(Duration::from_millis(200)).await;
    let before = w.script_runs("reserve").await;
    let id = w.enqueue(1).await;
    assert_eq!(stays.job().await.id, id);
    let looks = w.script_runs("reserve").await - before;
    assert!(looks <= 3, "{looks} looks for one open and fifty closed waiters");
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved"]);
    w.check().await;
}

#[tokio::test]
async fn job_reserved_for_a_closed_waiter_goes_to_the_next() {
    let w = World::start_process().await;
    let wired = w.start_wired_instance().await;
    for round in 0..5 {
        let looked = wired.script_runs("reserve").await;
        let first = PendingReserve::send(&wired, &json!({ "wait_ms": MAX_WAIT_MS })).await;
        eventually("it looked once", async || (wired.script_runs("reserve").await > looked).then_some(())).await;
        let second = wired.start_wait(json!({})).await;
        wired.hold_calls(true);
        let id = w.enqueue(round).await;
        // The hint arrives, and the first waiter asks for the job. The proxy holds pings as well.
        sleep(Duration::from_millis(150)).await;
        drop(first);
        sleep(Duration::from_millis(100)).await;
        assert!(!second.is_answered());
        wired.hold_calls(false);
        let since = Instant::now();
        let (held, at) = second.job_at().await;
        Took::between(since, at).assert_within(PROMPT_LIMIT, "the job");
        assert_eq!(held.id, id);
        assert_contains(
            &w.job(&id).await,
            json!({ "attempts": 0, "counts": { "handed_out": 1, "abandoned": 0, "expired": 0, "failed": 0 } }),
        );
        w.complete(&held).await.is(200);
    }
    w.check().await;
}

/// Pages are closed at any moment: asleep, woken, in the script, before and after the answer.
#[tokio::test]
async fn waiters_closed_at_any_moment_keep_no_job() {
    const PAGES: u64 = 1_000;
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let over = Arc::new(AtomicBool::new(false));
    let jobs = tokio::spawn({
        let (client, over) = ((*w).clone(), over.clone());
        async move {
            let mut ids = Vec::new();
            while !over.load(Ordering::Relaxed) {
                ids.push(client.enqueue(ids.len()).await);
                sleep(Duration::from_millis(ids.len() as u64 % 3)).await;
            }
            ids
        }
    });
    let (mut crowd, mut delivered) = (JoinSet::new(), BTreeMap::new());
    for n in 0..PAGES {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        crowd.spawn(async move {
            let page = PendingReserve::send(&client, &json!({ "wait_ms": MAX_WAIT_MS, "limit": 1 + n % 2 })).await;
            // Spread over 50 ms.
            sleep(Duration::from_micros(n * 7_919 % 50_000)).await;
            page.hang_up().await
        });
        while crowd.len() >= 60 {
            let answer = crowd.join_next().await.expect("a crowd").expect("no panic");
            record_delivery(&mut delivered, answer);
        }
    }
    while let Some(answer) = crowd.join_next().await {
        record_delivery(&mut delivered, answer.expect("no panic"));
    }
    let all_closed = Instant::now();
    over.store(true, Ordering::Relaxed);
    let ids = jobs.await.expect("enqueued");
    let (taken, left) = (delivered.len() as u64, (ids.len() - delivered.len()) as u64);
    let undone = w.event_count("abandoned").await;
    eprintln!("{PAGES} pages were closed; of {} jobs {taken} were delivered, {undone} were undone", ids.len());
    eventually("undelivered jobs are waiting", async || {
        let counts = w.queue().await["counts"].clone();
        (counts["reserved"] == taken && counts["waiting"] == left).then_some(())
    })
    .await;
    Took::since(all_closed).assert_within(Duration::from_secs(2), "undelivered jobs are waiting");
    for id in ids {
        let handed_out = u64::from(delivered.contains_key(&id));
        assert_contains(
            &w.job(&id).await,
            json!({
                "state": if handed_out > 0 { "reserved" } else { "waiting" },
                "attempts": 0,
                "counts": { "handed_out": handed_out, "expired": 0, "failed": 0, "abandoned": 0, "released": 0 },
            }),
        );
    }
    w.check().await;
}

/// The older page is closed and the newer asks, at any moment of either.
#[tokio::test]
async fn repeatedly_reloaded_page_holds_one_job() {
    let w = World::start().await;
    let ask = json!({ "worker": "ann", "wait_ms": MAX_WAIT_MS });
    let jobs = tokio::spawn({
        let client = (*w).clone();
        async move {
            for n in 0..20 {
                sleep(Duration::from_millis(20 + n * 7 % 30)).await;
                client.enqueue(n).await;
            }
        }
    });
    let mut page = PendingReserve::send(&w, &ask).await;
    for n in 0..200_u64 {
        sleep(Duration::from_micros(n * 7_919 % 6_000)).await;
        if n % 2 == 0 {
            // A new tab before the old one is closed, or after.
            page = PendingReserve::send(&w, &ask).await;
        } else {
            drop(page);
            page = PendingReserve::send(&w, &ask).await;
        }
    }
    jobs.await.expect("enqueued");
    drop(page);
    let held = w.reserve_with(ask).await;
    eventually("the other jobs are waiting", async || {
        let counts = w.queue().await["counts"].clone();
        (counts["reserved"] == 1 && counts["waiting"] == 19).then_some(())
    })
    .await;
    assert_contains(
        &w.job(&held.id).await,
        json!({ "attempts": 0, "counts": { "handed_out": 1, "expired": 0, "abandoned": 0 } }),
    );
    w.complete(&held).await.is(200);
    w.check().await;
}

fn record_delivery(delivered: &mut BTreeMap<String, usize>, answer: Option<serde_json::Value>) {
    for job in answer.iter().flat_map(|answer| answer["jobs"].as_array().expect("jobs")) {
        let times = delivered.entry(id_of(job)).or_default();
        *times += 1;
        assert_eq!(*times, 1, "{job} went to two");
    }
}
