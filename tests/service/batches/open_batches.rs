//! Batches that are filled while they are worked on: opened, appended to, sealed.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{
    World, assert_contains,
    batch_verbs::{items, member_id},
};

const DAY: u64 = 86_400_000;

#[tokio::test]
async fn open_batch_completes_only_after_seal() {
    let w = World::start().await;
    let id = w.create_batch(json!({ "sealed": false, "concurrency": 2, "jobs": items(0..3) })).await;
    assert_contains(
        &w.recounted_batch(&id).await,
        json!({ "state": "open", "sealed_at": null, "counts": { "total": 3 } }),
    );
    let held = w.reserve_all(json!({ "limit": 100 })).await;
    assert_eq!(held.len(), 2);
    let batch = w.append(&id, &items(3..6)).await.is(200);
    assert_contains(&batch, json!({ "id": id, "state": "open", "counts": { "reserved": 2, "total": 6 } }));
    assert_eq!(w.recounted_batch(&id).await, batch);
    assert_eq!(w.empty_reason(json!({})).await, "blocked", "what is appended keeps to the limit");
    for held in &held {
        w.complete_with(held, held.body["payload"].clone()).await.is(200);
    }
    assert_eq!(w.complete_all().await, (2..6).map(|n| member_id(&id, n)).collect::<Vec<_>>());
    assert_contains(&w.recounted_batch(&id).await, json!({ "state": "open", "counts": { "completed": 6 } }));
    assert_eq!(w.event_count("batch-completed").await, 0, "all is done, but it is open");
    w.append(&id, &items(6..7)).await.is(200);
    let last = w.reserve().await;
    assert_eq!(last.id, member_id(&id, 6));
    let sealed = w.seal(&id).await.is(200);
    assert_contains(&sealed, json!({ "state": "sealed", "counts": { "reserved": 1, "total": 7 } }));
    assert!(sealed["sealed_at"].is_string());
    assert_eq!(w.seal(&id).await.is(200), sealed, "again, the same");
    let refusal = w.append(&id, &items(7..8)).await;
    assert_eq!(refusal.status, 409);
    assert_eq!(refusal.refused("wrong-state")["batch_state"], "sealed");
    w.complete_with(&last, 6).await.is(200);
    assert_eq!(w.recounted_batch(&id).await["state"], "completed");
    assert_eq!(w.event_count("batch-completed").await, 1);
    assert_eq!(w.seal(&id).await.is(200)["state"], "completed");
    let results: Vec<_> = w.results(&id, 3).await.iter().map(|result| result["result"].clone()).collect();
    assert_eq!(results, (0..7).map(Value::from).collect::<Vec<_>>());
    assert_eq!(w.event_count("batch-completed").await, 1);
    w.check().await;
}

#[tokio::test]
async fn append_with_offset_is_idempotent() {
    let w = World::start().await;
    let id = w.create_batch(json!({ "sealed": false, "jobs": items(0..2) })).await;
    let total = async || w.recounted_batch(&id).await["counts"]["total"].as_u64().expect("a total");
    w.append_at(&id, 2, &items(2..5)).await.is(200);
    w.append_at(&id, 2, &items(2..5)).await.is(200);
    assert_eq!(total().await, 5, "it is there once");
    w.append_at(&id, 5, &items(5..6)).await.is(200);
    w.append_at(&id, 2, &items(2..5)).await.is(200);
    assert_eq!(total().await, 6, "nor is it there twice after another");
    for (offset, jobs) in [(7, items(7..8)), (100, items(0..1)), (3, items(9..11)), (2, items(20..23))] {
        let refusal = w.append_at(&id, offset, &jobs).await;
        assert_eq!(refusal.status, 409, "{offset}: {}", refusal.text());
        assert_eq!(refusal.refused("offset-mismatch")["total"], 6);
    }
    assert_eq!(total().await, 6);
    let rest = w.append_at(&id, 5, &items(5..8)).await;
    assert!(matches!(rest.status, 200 | 409), "{}", rest.text());
    let held = total().await;
    assert_eq!(held, if rest.status == 200 { 8 } else { 6 }, "what is there already is not stored twice");
    w.append(&id, &items(90..91)).await.is(200);
    w.append(&id, &items(90..91)).await.is(200);
    assert_eq!(total().await, held + 2, "without an offset each call appends");
    w.seal(&id).await.is(200);
    let repeated = w.append_at(&id, 2, &items(2..5)).await.is(200);
    assert_eq!((&repeated["state"], &repeated["counts"]["total"]), (&json!("sealed"), &json!(held + 2)), "nor now");
    assert_eq!(w.append_at(&id, 0, &items(0..1)).await.status, 409, "what its creation put there is no append");
    assert_eq!(w.append(&id, &items(2..5)).await.refused("wrong-state")["batch_state"], "sealed");
    let done = w.complete_all().await.len();
    assert_eq!(w.batch(&id).await["counts"]["completed"], done);
    w.check().await;
}

#[tokio::test]
async fn concurrent_appends_lose_no_job() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let id = w.create_batch(json!({ "sealed": false, "concurrency": 50 })).await;
    let mut crowd = JoinSet::new();
    for n in 0..8_usize {
        let (client, id) = (if n % 2 == 0 { (*w).clone() } else { other.clone() }, id.clone());
        crowd.spawn(async move {
            for turn in 0..10 {
                let from = (n * 10 + turn) * 7;
                client.append(&id, &items(from..from + 7)).await.is(200);
            }
        });
    }
    crowd.join_all().await;
    assert_eq!(w.recounted_batch(&id).await["counts"]["total"], 560);
    w.seal(&id).await.is(200);
    assert_eq!(w.complete_all().await.len(), 560);
    let results: Vec<_> = w.results(&id, 1_000).await.iter().map(|result| result["result"].clone()).collect();
    for call in results.chunks(7) {
        let first = call[0].as_u64().expect("a number");
        assert!(call.iter().enumerate().all(|(n, value)| value == first + n as u64), "a call stays together: {call:?}");
    }
    let all: BTreeSet<_> = results.iter().map(|value| value.as_u64().expect("a number")).collect();
    assert!(all.into_iter().eq(0..560), "everything once");
    assert_eq!((w.event_count("batch-completed").await, w.batch(&id).await["state"].clone()), (1, json!("completed")));
    w.check().await;
}

#[tokio::test]
async fn append_racing_a_seal_is_stored_or_refused() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let (mut refused, mut ended) = (0, 0);
    for round in 0..25 {
        let id = w.create_batch(json!({ "sealed": false, "jobs": items(0..1) })).await;
        let mut race = JoinSet::new();
        for n in 0..6 {
            let (client, id) = (if n % 2 == 0 { (*w).clone() } else { other.clone() }, id.clone());
            race.spawn(async move {
                if n == round % 6 {
                    client.seal(&id).await.is(200);
                    return 0;
                }
                let answer = client.append(&id, &items(0..3)).await;
                if answer.status == 409 {
                    answer.refused("wrong-state");
                    return 0;
                }
                answer.is(200);
                3
            });
        }
        let appended: u64 = race.join_all().await.into_iter().sum();
        refused += u64::from(appended < 15);
        let batch = w.recounted_batch(&id).await;
        assert_contains(&batch, json!({ "state": "sealed", "counts": { "total": 1 + appended } }));
        assert_eq!(w.complete_all().await.len() as u64, 1 + appended);
        assert_eq!(w.batch(&id).await["state"], "completed");
        ended += 1;
        assert_eq!(w.event_count("batch-completed").await, ended);
    }
    assert!(refused > 0, "some were too late");
    w.check().await;
}

#[tokio::test]
async fn large_append_with_offset_is_idempotent() {
    let w = World::start().await;
    let id = w.create_batch(json!({ "sealed": false, "concurrency": 3 })).await;
    for call in 0..3 {
        let batch = w.append_at(&id, call * 200, &items(call * 200..call * 200 + 200)).await.is(200);
        assert_eq!(batch["counts"]["total"], (call + 1) * 200);
        assert_eq!(w.recounted_batch(&id).await, batch);
    }
    let again = w.append_at(&id, 200, &items(200..400)).await.is(200);
    assert_eq!(again["counts"]["total"], 600);
    let held = w.reserve_all(json!({ "limit": 100 })).await;
    assert!(held.iter().map(|held| held.id.clone()).eq((0..3).map(|n| member_id(&id, n))));
    w.check().await;
}

#[tokio::test]
async fn append_over_max_jobs_stores_nothing() {
    let w = World::start().await;
    w.update_settings(json!({ "max_jobs": 250 })).await;
    let id = w.create_batch(json!({ "sealed": false, "jobs": items(0..100) })).await;
    for offset in [None, Some(100)] {
        let refusal = match offset {
            None => w.append(&id, &items(100..251)).await,
            Some(offset) => w.append_at(&id, offset, &items(100..251)).await,
        };
        assert_eq!((refusal.status, refusal.refused("queue-full")["status"].clone()), (429, json!(429)));
        assert_eq!(w.recounted_batch(&id).await["counts"]["total"], 100, "{offset:?}: nothing of it");
    }
    assert_eq!(w.append_at(&id, 100, &items(100..250)).await.is(200)["counts"]["total"], 250);
    w.check().await;
}

#[tokio::test]
async fn concurrent_large_appends_are_atomic() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    for round in 0..4_usize {
        let id = w.create_batch(json!({ "sealed": false })).await;
        let mut crowd = JoinSet::new();
        for n in 0..8 {
            let (client, id) = (if n % 2 == 0 { (*w).clone() } else { other.clone() }, id.clone());
            crowd.spawn(async move {
                // In every other round one of them is a seal.
                if round % 2 == 1 && n == 3 + round {
                    client.seal(&id).await.is(200);
                    return None;
                }
                let answer = client.append(&id, &items(n * 500..n * 500 + 190)).await;
                assert!(matches!(answer.status, 200 | 409), "{}", answer.text());
                (answer.status == 200).then_some(n)
            });
        }
        let appended: BTreeSet<_> = crowd.join_all().await.into_iter().flatten().collect();
        w.seal(&id).await.is(200);
        assert_eq!(w.complete_all().await.len(), appended.len() * 190, "round {round}: {appended:?}");
        let results = w.results(&id, 1_000).await;
        for call in results.chunks(190) {
            let first = call[0]["result"].as_u64().expect("a number");
            assert!(appended.contains(&(first as usize / 500)));
            assert!(call.iter().enumerate().all(|(n, job)| job["result"] == first + n as u64), "a call stays together");
        }
        w.check().await;
    }
}

#[tokio::test]
async fn open_batch_is_sealed_a_day_after_the_last_append() {
    let w = World::start().await;
    w.update_settings(json!({ "retention_ms": 30 * DAY })).await;
    let (empty, filled) = (
        w.create_batch(json!({ "sealed": false })).await,
        w.create_batch(json!({ "sealed": false, "jobs": items(0..1) })).await,
    );
    w.advance_clock(DAY - 60_000);
    w.append(&filled, &items(1..2)).await.is(200);
    w.sweep().await;
    assert_eq!(
        (w.batch(&empty).await["state"].clone(), w.batch(&filled).await["state"].clone()),
        (json!("open"), json!("open"))
    );
    w.advance_clock(60_000);
    w.sweep_until("the empty one is over", async || w.batch(&empty).await["state"] == "completed").await;
    assert_eq!(w.batch(&filled).await["state"], "open", "its day began with the last append");
    w.check().await;
    w.advance_clock(DAY - 60_000);
    w.sweep_until("the other is sealed", async || w.batch(&filled).await["state"] == "sealed").await;
    w.append(&filled, &items(2..3)).await.refused("wrong-state");
    assert_eq!(w.event_count("batch-completed").await, 1);
    assert_eq!(w.complete_all().await.len(), 2);
    assert_eq!(w.recounted_batch(&filled).await["state"], "completed");
    w.check().await;
}
