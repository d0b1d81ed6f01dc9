//! Jobs that share a lock are never reserved together, and a lock is held exactly as long as its lease.

use serde_json::json;

use crate::world::{ReservedJob, World, assert_contains, assert_events};

#[tokio::test]
async fn jobs_sharing_a_lock_are_never_reserved_together() {
    let w = World::start().await;
    let (first, second) = (w.enqueue_locked(1, &["site"]).await, w.enqueue_locked(2, &["site"]).await);
    let free = w.enqueue(3).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(held.id, first);
    assert_contains(&held.body, json!({ "locks": ["site"], "batch": null }));
    assert_eq!(w.reserve().await.id, free);
    assert_contains(&w.job(&second).await, json!({ "state": "blocked", "locks": ["site"], "batch": null }));
    assert_eq!(w.list_ids("blocked").await, std::slice::from_ref(&second));
    assert_contains(&w.queue().await["counts"], json!({ "blocked": 1, "reserved": 2, "waiting": 0 }));
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    w.send_reserve(json!({ "id": second })).await.wrong_state("blocked");
    let again = w.reserve_as("ann").await;
    assert_eq!((&again.id, &again.body["resumed"]), (&first, &json!(true)), "who holds the lock has the job again");
    w.check().await;

    w.complete(&again).await.is(200);
    assert_eq!(w.state(&second).await, "waiting", "at once");
    assert_eq!(w.reserve().await.id, second);
    assert_events(&w.events_of(&second).await, &["enqueued", "blocked", "reserved"]);
    w.check().await;
}

#[tokio::test]
async fn freed_lock_goes_to_the_first_parked_job() {
    let w = World::start().await;
    w.enqueue_locked("holder", &["site"]).await;
    let mut held = w.reserve().await;
    let mut ids = Vec::new();
    for priority in [60, 50, 50, 10] {
        let job = json!({ "payload": ids.len(), "priority": priority, "locks": ["site"] });
        let response = w.send_enqueue(job).await.is(201);
        assert_eq!(response["state"], "blocked", "the lock is busy");
        ids.push(crate::world::id_of(&response));
    }
    let twin = w.send_enqueue(json!({ "payload": 0 })).await.is(200);
    assert_eq!((&twin["id"], &twin["state"]), (&json!(ids[0]), &json!("blocked")), "a twin in line is a twin");
    let line = [3, 1, 2, 0].map(|n: usize| ids[n].clone());
    assert_eq!(w.list_ids("blocked").await.len(), 4);
    for (n, next) in line.iter().enumerate() {
        let place = w.score_of(next).await;
        w.complete(&held).await.is(200);
        assert_eq!(w.state(next).await, "waiting");
        assert_eq!(w.list_ids("blocked").await.len(), 3 - n, "the others wait on");
        assert_eq!(w.score_of(next).await, place, "in the place it had");
        held = w.reserve().await;
        assert_eq!(&held.id, next);
        w.check().await;
    }
}

#[tokio::test]
async fn returned_job_keeps_its_place_before_parked_jobs() {
    let w = World::start().await;
    let (old, young) = (w.enqueue_locked("old", &["site"]).await, w.enqueue_locked("young", &["site"]).await);
    for round in 0..4 {
        let held = w.reserve().await;
        assert_eq!(held.id, old, "round {round}");
        assert_eq!(w.empty_reason(json!({})).await, "blocked");
        assert_eq!(w.state(&young).await, "blocked");
        match round {
            0 => drop(w.abandon(&held).await.is(200)),
            1 => drop(w.fail(&held).await.is(200)),
            2 => assert_eq!(w.release(&old).await, 1),
            _ => w.advance_clock(300_000),
        }
        w.sweep().await;
        w.check().await;
    }
    assert_eq!(w.complete_all().await, [old, young]);
    w.check().await;
}

#[tokio::test]
async fn lock_is_held_exactly_as_long_as_the_lease() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1, "locks": ["site"], "max_attempts": 1 })).await;
    let held = w.reserve_as("ann").await;
    let (second, third) = (w.enqueue_locked(2, &["site"]).await, w.enqueue_locked(3, &["site"]).await);
    w.advance_clock(200_000);
    w.extend(&held).await.is(200);
    w.advance_clock(299_999);
    assert_eq!(w.sweep().await["expired"], 0);
    assert_eq!(w.empty_reason(json!({})).await, "blocked", "1,200 seconds are no limit, nor is any other time");
    assert_contains(&w.locks().await[0], json!({ "lock": "site", "id": id, "worker": "ann", "expires_in_ms": 1 }));
    w.advance_clock(1);
    let taken = w.reserve_as("bob").await;
    assert_eq!((&taken.id, w.state(&id).await.as_str()), (&second, "dead"), "a reserve needs no sweep for it");
    assert_eq!(w.complete(&held).await.is(200)["late"], true);
    assert_contains(&w.locks().await[0], json!({ "lock": "site", "id": second, "worker": "bob" }));
    assert_eq!(w.state(&third).await, "blocked", "a late completion does not free another lease's lock");
    w.complete(&held).await.is(200);
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    w.check().await;
    w.complete(&taken).await.is(200);
    assert_eq!(w.complete_all().await, [third]);
    assert_eq!(w.locks().await.len(), 0);
    w.check().await;
}

#[tokio::test]
async fn job_takes_all_its_locks_or_none() {
    let w = World::start().await;
    let (left, both) = (w.enqueue_locked("l", &["l"]).await, w.enqueue_locked("lm", &["l", "m"]).await);
    let right = w.enqueue_locked("m", &["m"]).await;
    let held = w.reserve_all(json!({ "limit": 3 })).await;
    assert_eq!(held.iter().map(|held| &held.id).collect::<Vec<_>>(), [&left, &right]);
    assert_eq!(w.state(&both).await, "blocked");
    let holders = async || w.locks().await.into_iter().map(|held| held["id"].clone()).collect::<Vec<_>>();
    assert_eq!(holders().await, [json!(left), json!(right)]);
    w.complete(&held[0]).await.is(200);
    assert_eq!(w.empty_reason(json!({})).await, "blocked", "one of its two is free now");
    assert_eq!(holders().await, [json!(right)], "and is not taken for it");
    let passing = w.enqueue_locked("l again", &["l"]).await;
    assert_eq!(w.reserve().await.id, passing, "so a job that needs only this lock gets it");
    w.check().await;
    w.complete(&held[1]).await.is(200);
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    w.force_cancel(&passing).await.is(200);
    let taken = w.reserve().await;
    assert_eq!((&taken.id, &taken.body["locks"]), (&both, &json!(["l", "m"])));
    assert_eq!(holders().await, [json!(both), json!(both)]);
    w.abandon(&taken).await.is(200);
    assert_eq!(holders().await.len(), 0);
    w.check().await;
}

#[tokio::test]
async fn delayed_and_dead_jobs_hold_no_lock() {
    let w = World::start().await;
    for how in ["abandoned with delay", "failed with backoff", "dead"] {
        let job = match how {
            "dead" => json!({ "payload": how, "locks": ["site"], "max_attempts": 1 }),
            _ => {
                json!({ "payload": how, "locks": ["site"], "backoff": { "type": "fixed", "delay_ms": 10_000 } })
            }
        };
        let id = w.enqueue_with(job).await;
        let held = w.reserve().await;
        let other = w.enqueue_locked("other", &["site"]).await;
        match how {
            "abandoned with delay" => w.abandon_with_delay(&held, 10_000).await,
            _ => w.fail(&held).await,
        }
        .is(200);
        let taken = w.reserve().await;
        assert_eq!(taken.id, other, "{how}");
        if how == "dead" {
            assert_eq!(w.requeue(&id).await, 1);
        } else {
            assert_eq!(w.state(&id).await, "delayed");
            w.advance_clock(12_000);
            assert_eq!(w.sweep().await["due"], 1);
        }
        assert_eq!(w.state(&id).await, "blocked", "{how}, and back while the lock is busy");
        w.check().await;
        w.complete(&taken).await.is(200);
        assert_eq!(w.complete_all().await, [id]);
    }
    w.check().await;
}

#[tokio::test]
async fn due_job_parks_while_its_lock_is_busy() {
    let w = World::start().await;
    let resting = |n: u64| json!({ "payload": n, "locks": ["site"], "delay_ms": 10_000 });
    let (due, now) = (w.enqueue_with(resting(1)).await, w.enqueue_with(resting(2)).await);
    let holder = w.enqueue_locked("holder", &["site"]).await;
    let held = w.reserve().await;
    assert_eq!(held.id, holder, "what is delayed holds nothing");
    assert_eq!(w.requeue(&now).await, 1);
    assert_eq!(w.state(&now).await, "blocked");
    w.advance_clock(10_000);
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    assert_eq!(w.state(&due).await, "blocked");
    assert_events(&w.events_of(&due).await, &["enqueued", "due"]);
    w.check().await;
    w.complete(&held).await.is(200);
    assert_eq!(w.complete_all().await, [now, due]);
    w.check().await;
}

#[tokio::test]
async fn paused_queue_frees_locks_without_reservations() {
    let w = World::start().await;
    w.enqueue_locked(1, &["site"]).await;
    let held = w.reserve().await;
    let next = w.enqueue_locked(2, &["site"]).await;
    w.update_settings(json!({ "paused": true })).await;
    assert_eq!(w.empty_reason(json!({})).await, "paused");
    w.complete(&held).await.is(200);
    assert_eq!(w.state(&next).await, "waiting");
    assert_eq!(w.empty_reason(json!({})).await, "paused");
    assert_eq!(w.locks().await.len(), 0);
    w.update_settings(json!({ "paused": null })).await;
    assert_eq!(w.reserve().await.id, next);
    w.check().await;
}

#[tokio::test]
async fn locks_are_separate_per_queue() {
    let w = World::start().await;
    let in_queue = |queue: &str| json!({ "queue": queue, "payload": 1, "locks": ["site"] });
    let ids = [w.enqueue_with(in_queue("a")).await, w.enqueue_with(in_queue("b")).await];
    let taken: Vec<ReservedJob> =
        [w.reserve_all(json!({ "queues": ["a"] })).await, w.reserve_all(json!({ "queues": ["b"] })).await].concat();
    assert_eq!(taken.iter().map(|held| &held.id).collect::<Vec<_>>(), ids.iter().collect::<Vec<_>>());
    assert_eq!(
        w.send_enqueue(json!({ "queue": "a", "payload": 2, "locks": ["site"] })).await.is(201)["state"],
        "blocked"
    );
    let free = w.enqueue_with(json!({ "queue": "b", "payload": 2 })).await;
    assert_eq!(
        w.reserve_with(json!({ "queues": ["a", "b"] })).await.id,
        free,
        "a blocked job does not hide other queues"
    );
    assert_eq!(w.empty_reason(json!({ "queues": ["b", "a"] })).await, "blocked");
    w.check().await;
}
