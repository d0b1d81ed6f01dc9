//! An item of a list finds what the items before it have done.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::world::{ReservedJob, World, number};

async fn complete_all_of(w: &World, held: &[&ReservedJob]) -> Value {
    let items = held.iter().map(|held| json!({ "reservation": held.reservation })).collect();
    w.post("/jobs/complete", items).await.is(200)["jobs"].clone()
}

#[tokio::test]
async fn lock_freed_in_a_list_passes_a_job_that_ends_in_it() {
    let w = World::start().await;
    let late = w.enqueue_locked("late", &["site"]).await;
    let expired = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    w.sweep().await;
    w.enqueue_with(json!({ "payload": "first", "locks": ["site"], "priority": 0 })).await;
    let holder = w.reserve_as("bob").await;
    assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "blocked");
    let next = w.enqueue_locked("next", &["site"]).await;
    assert_eq!((w.state(&late).await, w.state(&next).await), ("blocked".to_owned(), "blocked".to_owned()));
    // The lock goes to the job that was first in line, which ends in the same list.
    let answered = complete_all_of(&w, &[&holder, &expired]).await;
    assert_eq!((&answered[0]["late"], &answered[1]["late"]), (&json!(false), &json!(true)), "{answered}");
    assert_eq!(w.state(&next).await, "waiting");
    assert_eq!(w.reserve_as("cleo").await.id, next);
    w.check().await;
}

#[tokio::test]
async fn jobs_of_one_lock_are_not_given_in_one_list() {
    let w = World::start().await;
    let locks = [vec!["site"], vec!["site"], vec!["desk"], vec!["desk", "site"], vec![]];
    let ids = w.enqueue_many(locks.iter().enumerate().map(|(n, locks)| json!({ "payload": n, "locks": locks }))).await;
    let held = w.reserve_all(json!({ "limit": 5 })).await;
    let given: Vec<_> = held.iter().map(|held| &held.id).collect();
    assert_eq!(given, [&ids[0], &ids[2], &ids[4]]);
    complete_all_of(&w, &held.iter().collect::<Vec<_>>()).await;
    assert_eq!(
        w.reserve_all(json!({ "limit": 5 })).await.into_iter().map(|held| held.id).collect::<Vec<_>>(),
        [ids[1].clone()]
    );
    w.check().await;
}

#[tokio::test]
async fn calls_of_a_worker_at_once_stay_within_its_limit() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 3 })).await;
    w.enqueue_many((0..40).map(|n| json!({ "payload": n }))).await;
    let calls = (0..20).map(|n| w.reserve_all(json!({ "worker": format!("w{}", n % 4), "limit": 2 })));
    let held = join_all(calls).await;
    assert!(held.iter().all(|jobs| !jobs.is_empty()), "one at its limit is given its own jobs");
    assert_eq!(number(&w.queue().await["counts"], "reserved"), 12, "three for each of four");
    w.check().await;
}

#[tokio::test]
async fn list_with_the_last_jobs_of_batches_ends_each_once() {
    let w = World::start().await;
    let batch = |name: &str| json!({ "concurrency": 2, "jobs": [{ "payload": [name, 1] }, { "payload": [name, 2] }, { "payload": [name, 3] }] });
    let batches = [w.create_batch(batch("a")).await, w.create_batch(batch("b")).await];
    w.enqueue("of no batch").await;
    let first = w.reserve_all(json!({ "limit": 10 })).await;
    assert_eq!(first.len(), 5, "two of each batch, and one of none");
    complete_all_of(&w, &first.iter().collect::<Vec<_>>()).await;
    assert_eq!(w.event_count("batch-completed").await, 0);
    let last = w.reserve_all(json!({ "limit": 10 })).await;
    let twice: Vec<_> = last.iter().chain(&last).collect();
    assert_eq!(twice.len(), 4, "the last of each batch");
    complete_all_of(&w, &twice).await;
    assert_eq!(w.event_count("batch-completed").await, 2);
    for id in batches {
        assert_eq!(w.recounted_batch(&id).await["state"], "completed");
    }
    w.check().await;
}
