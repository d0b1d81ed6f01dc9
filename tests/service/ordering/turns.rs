//! Turns of clients: picks out of order consume none, and cancelled jobs return theirs.

use serde_json::{Value, json};

use crate::world::{ReservedJob, World, number};

async fn enqueue_for(w: &World, client: &str, jobs: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for from in (0..jobs).step_by(1_000) {
        let some = from..jobs.min(from + 1_000);
        let some = some.map(|n| json!({ "payload": format!("{client} {n}"), "client": client, "dedupe": false }));
        ids.extend(w.enqueue_many(some).await);
    }
    ids
}

/// One of the next two jobs is of this client.
async fn assert_next_or_second(w: &World, client: &str) {
    let two = w.reserve_all(json!({ "limit": 2 })).await;
    let clients: Vec<_> = two.iter().map(|held| held.body["client"].clone()).collect();
    assert!(clients.contains(&json!(client)), "{client} is next or second, not after {clients:?}");
}

/// How many clients have an entry among the turns.
async fn entries(w: &World) -> u64 {
    let keys: Vec<String> = w.engine.run("KEYS intray:{default}:2:*turns").await;
    let Some(key) = keys.first() else { return 0 };
    let kind: String = w.engine.run(&format!("TYPE {key}")).await;
    w.engine.run(&format!("{} {key}", if kind == "zset" { "ZCARD" } else { "HLEN" })).await
}

#[tokio::test]
async fn reserve_by_id_consumes_no_turns() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let ids = enqueue_for(&w, "a", 1_000).await;
    w.reserve_with(json!({ "id": ids[999] })).await;
    enqueue_for(&w, "b", 1).await;
    assert_next_or_second(&w, "b").await;
    // The client's new job comes after its other jobs, and the released one keeps its place.
    w.release(&ids[999]).await;
    let last = enqueue_for(&w, "a", 1).await;
    let mut handed = Vec::new();
    while handed.len() < 999 {
        handed.extend(w.reserve_all(json!({ "limit": 100 })).await.into_iter().map(|held| held.id));
    }
    assert_eq!(handed, [&ids[1..], &last].concat());
    w.check().await;
}

#[tokio::test]
async fn reserve_past_many_skipped_jobs_consumes_no_turns() {
    // A script reads two hundred jobs, so the next script passes some skipped ones itself, or none.
    for many in [250, 200] {
        let w = World::start().await;
        w.update_settings(json!({ "worker_limit": 0 })).await;
        let ids = enqueue_for(&w, "a", many + 10).await;
        let mut skipped: Vec<ReservedJob> = Vec::new();
        while skipped.len() < many {
            let limit = (many - skipped.len()).min(100);
            skipped.extend(w.reserve_all(json!({ "worker": "ann", "limit": limit })).await);
        }
        for some in skipped.chunks(100) {
            let all = some.iter().map(|held| json!({ "reservation": held.reservation, "skip": true }));
            w.post("/jobs/abandon", Value::Array(all.collect())).await.is(200);
        }
        let far = w.reserve_all(json!({ "worker": "ann", "limit": 9 })).await;
        assert_eq!(far.iter().map(|held| held.id.clone()).collect::<Vec<_>>(), ids[many..many + 9]);
        // Only the skipped jobs have used turns.
        let c = enqueue_for(&w, "c", 3).await;
        w.reserve_with(json!({ "id": c[2] })).await;
        let b = enqueue_for(&w, "b", 1).await;
        let mut handed = Vec::new();
        while handed.len() < many + 4 {
            let held = w.reserve_all(json!({ "worker": "bob", "limit": 100 })).await;
            handed.extend(held.into_iter().map(|held| held.id));
        }
        let last = [&c[0], &b[0], &c[1], &ids[many + 9]].map(String::clone);
        assert_eq!(
            handed,
            [&ids[..many], &last].concat(),
            "who comes back has the old place; the others share the line"
        );
        w.check().await;
    }
}

#[tokio::test]
async fn skipped_jobs_set_the_turn_of_new_clients() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let a = enqueue_for(&w, "a", 20).await;
    let first = w.reserve_with(json!({ "worker": "ann" })).await;
    w.post("/jobs/abandon", json!({ "reservation": first.reservation, "skip": true })).await.is(200);
    let rest = w.reserve_all(json!({ "worker": "ann", "limit": 15 })).await;
    assert_eq!(rest[14].id, a[15], "past the one that she has skipped");
    enqueue_for(&w, "b", 1).await;
    let next = w.reserve_all(json!({ "worker": "bob", "limit": 2 })).await;
    assert_eq!((&next[0].id, &next[1].body["client"]), (&a[0], &json!("b")), "the one that was skipped, then the new");
    w.check().await;
}

#[tokio::test]
async fn cancelled_jobs_return_their_turns_to_the_client() {
    for order in ["oldest first", "newest first", "from the middle"] {
        let w = World::start().await;
        enqueue_for(&w, "b", 1_000).await;
        let ids = enqueue_for(&w, "a", 1_000).await;
        let (front, back) = ids.split_at(500);
        let cancelled: Vec<_> = match order {
            "oldest first" => ids.iter().collect(),
            "newest first" => ids.iter().rev().collect(),
            _ => back.iter().zip(front.iter().rev()).flat_map(|(up, down)| [up, down]).collect(),
        };
        for id in cancelled {
            w.cancel(id).await.is(200);
        }
        assert_eq!(entries(&w).await, 1, "{order}: b alone");
        enqueue_for(&w, "a", 1).await;
        assert_next_or_second(&w, "a").await;
        w.check().await;
    }
}

#[tokio::test]
async fn cancelled_newest_jobs_return_their_turns() {
    let w = World::start().await;
    enqueue_for(&w, "b", 100).await;
    let ids = enqueue_for(&w, "a", 100).await;
    for id in ids[2..].iter().rev() {
        w.cancel(id).await.is(200);
    }
    let newest = enqueue_for(&w, "a", 1).await;
    let handed: Vec<_> = w.reserve_all(json!({ "limit": 6 })).await.into_iter().map(|held| held.id).collect();
    assert!(handed.contains(&newest[0]), "the third of a is among the first six of both");
    w.check().await;
}

#[tokio::test]
async fn returned_turns_keep_a_clients_jobs_in_order() {
    let w = World::start().await;
    let mut ids = w.enqueue_many((0..40).map(|n| json!({ "payload": n }))).await;
    for _ in 0..20 {
        w.cancel(&ids.remove(0)).await.is(200);
    }
    w.cancel(&ids.remove(7)).await.is(200);
    ids.extend(w.enqueue_many((40..45).map(|n| json!({ "payload": n }))).await);
    w.cancel(&ids.remove(ids.len() - 2)).await.is(200);
    ids.extend(w.enqueue_many((50..55).map(|n| json!({ "payload": n }))).await);
    let handed: Vec<_> = w.reserve_all(json!({ "limit": 100 })).await.into_iter().map(|held| held.id).collect();
    assert_eq!(handed, ids, "first in, first out");
    w.check().await;
}

#[tokio::test]
async fn clients_without_jobs_leave_no_turn_entries() {
    let w = World::start().await;
    w.enqueue("always in the queue").await;
    let of_each = |from: usize, more: Value| {
        (from..from + 1_000).map(move |n| {
            let mut job = json!({ "payload": n, "client": format!("client {n}"), "dedupe": false });
            job.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            job
        })
    };
    // Cancelled one by one, purged, moved to another priority and handed out, picked by id.
    for id in w.enqueue_many(of_each(0, json!({}))).await {
        w.cancel(&id).await.is(200);
    }
    for from in [1_000, 2_000] {
        w.enqueue_many(of_each(from, json!({ "locks": if from == 1_000 { vec!["l"] } else { vec![] } }))).await;
    }
    w.delete("/queues/default?state=waiting").await.is(200);
    w.delete("/queues/default?state=blocked").await.is(200);
    w.enqueue("also in the queue").await;
    for (n, id) in w.enqueue_many(of_each(3_000, json!({}))).await.into_iter().enumerate() {
        if n % 2 == 0 {
            w.set_priority(&id, 10).await.is(200);
        } else {
            let held = w.reserve_with(json!({ "id": id })).await;
            w.complete(&held).await.is(200);
        }
    }
    let mut served = 0;
    while served < 500 {
        served += w.reserve_all(json!({ "limit": 100 })).await.len();
    }
    assert_eq!(entries(&w).await, 1, "the one who is always there");
    w.check().await;
}

#[tokio::test]
async fn cancelled_batch_returns_its_turns() {
    let w = World::start().await;
    w.enqueue("always in the queue").await;
    let batch = w
        .create_batch(json!({ "queue": "default", "client": "of a batch", "priority": 99,
        "jobs": (0..300).map(|n| json!({ "payload": n })).collect::<Vec<_>>() }))
        .await;
    assert_eq!(entries(&w).await, 2, "it has one");
    w.delete(&format!("/batches/{batch}")).await.is(200);
    crate::world::eventually("the batch is called off", async || {
        w.sweep().await;
        (number(&w.batch(&batch).await["counts"], "waiting") == 0).then_some(())
    })
    .await;
    assert_eq!(entries(&w).await, 1, "the one who is always there");
    w.check().await;
}

#[tokio::test]
async fn client_whose_last_job_ends_starts_again_in_the_same_step() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "lease_ms": 1_000, "max_attempts": 1 })).await;
    enqueue_for(&w, "a", 2).await;
    let held = w.reserve_all(json!({ "limit": 2 })).await;
    for one in &held {
        w.set_priority(&one.id, 10).await.is(200);
    }
    w.complete(&held[0]).await.is(200);
    let b = w.enqueue_many((0..2).map(|n| json!({ "payload": n, "client": "b", "priority": 10 }))).await;
    let a = w.enqueue_with(json!({ "payload": 3, "client": "a", "priority": 10, "delay_ms": 1_000 })).await;
    w.advance_clock(1_000);
    let step = w.post("/queues/default/sweep", json!({})).await.is(200);
    assert_eq!((number(&step, "dead"), number(&step, "due")), (1, 1), "in one step");
    assert_eq!(w.list_ids("waiting").await, [&b[0], &a, &b[1]].map(String::clone), "b has two, a has one again");
    w.check().await;
}

/// The commands of Redis for a call with a hundred jobs, of so many clients and priorities.
async fn commands_of(w: &World, many: usize) -> u64 {
    let run = async |nth: usize| {
        let job = |n| json!({ "payload": [nth, n], "client": format!("c {}", n % many), "priority": n % many });
        w.enqueue_many((0..100).map(job)).await;
    };
    w.engine.fewest_calls(|name| !["ping", "get", "info"].contains(&name), run).await.values().sum()
}

#[tokio::test]
async fn jobs_of_many_clients_and_priorities_cost_no_more_commands() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "dedupe": false })).await;
    assert_eq!(commands_of(&w, 100).await, commands_of(&w, 1).await);
}
