//! Two at the same time. Each of these is lost by the seeds' own scripts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{ReservedJob, World, assert_contains};

#[tokio::test]
async fn concurrent_reserves_never_share_a_job() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let ids: BTreeSet<_> = w.enqueue_many((0..100).map(|n| json!({ "payload": n }))).await.into_iter().collect();
    let mut calls = JoinSet::new();
    for n in 0..200 {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        calls.spawn(async move { client.send_reserve(json!({ "worker": format!("w{n}") })).await.is(200) });
    }
    let (mut given, mut empty) = (BTreeMap::new(), 0);
    while let Some(answer) = calls.join_next().await {
        let answer = answer.expect("answered");
        match answer["jobs"].as_array().expect("jobs").as_slice() {
            [] => {
                assert_eq!(answer["reason"], "reserved");
                empty += 1;
            }
            [job] => {
                let held = ReservedJob::new(job);
                assert!(given.insert(held.id.clone(), held).is_none(), "{job} was given twice");
            }
            more => panic!("{more:?}"),
        }
    }
    assert_eq!((given.len(), empty), (100, 100));
    assert!(given.keys().eq(ids.iter()));
    w.check().await;
}

#[tokio::test]
async fn completion_racing_a_sweep_is_applied_exactly_once() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    w.update_settings(json!({ "retention_ms": 2_592_000_000_u64 })).await;
    let (mut late, mut rounds) = (0, 0);
    for round in 0..20 {
        let ids = w.enqueue_many((0..50).map(|n| json!({ "payload": round * 50 + n, "priority": 0 }))).await;
        let held = w.reserve_all(json!({ "limit": 50 })).await;
        assert_eq!(held.len(), 50);
        // Some are overdue already when the race begins, some become so in it.
        w.advance_clock(299_999);
        let mut race = JoinSet::new();
        for (n, held) in held.into_iter().enumerate() {
            let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
            race.spawn(async move {
                let answer = client.complete_with(&held, held.id.as_str()).await.is(200);
                (held.id, answer["late"] == true)
            });
            if n % 10 == 5 {
                let (sweeper, clock) = (if n % 4 == 1 { (*w).clone() } else { other.clone() }, n == 15);
                if clock {
                    w.advance_clock(1);
                }
                race.spawn(async move {
                    sweeper.post("/queues/default/sweep", json!({})).await.is(200);
                    (String::new(), false)
                });
            }
        }
        let ended = race.join_all().await;
        late += ended.iter().filter(|(_, late)| *late).count();
        rounds += ended.iter().filter(|(id, _)| !id.is_empty()).count();
        for id in &ids {
            assert_contains(&w.job(id).await, json!({ "state": "completed", "result": id }));
        }
        assert_eq!(w.empty_reason(json!({})).await, "empty", "a completed job does not come back");
    }
    assert_eq!(rounds, 1_000);
    assert!(late > 0, "some were late");
    assert_contains(
        &w.queue().await,
        json!({ "counts": { "completed": 1_000, "waiting": 0 }, "totals": { "completed": 1_000 } }),
    );
    w.check().await;
}

#[tokio::test]
async fn completion_racing_a_reserve_has_one_winner() {
    let w = World::start().await;
    for round in 0..100 {
        let id = w.enqueue(round).await;
        let ann = w.reserve_as("ann").await;
        w.advance_clock(300_000);
        let (completion, next) = tokio::join!(w.complete_with(&ann, "ann"), w.send_reserve(json!({ "worker": "bob" })));
        let next = next.is(200)["jobs"].clone();
        match (completion.status, next.as_array().expect("jobs").as_slice()) {
            (200, []) => assert_eq!(w.job(&id).await["result"], "ann"),
            (409, [job]) => {
                completion.lost("expired", "reserved");
                w.complete_with(&ReservedJob::new(job), "bob").await.is(200);
                assert_contains(&w.job(&id).await, json!({ "result": "bob", "late_results": [{ "result": "ann" }] }));
            }
            other => panic!("{other:?}"),
        }
    }
    w.check().await;
}

#[tokio::test]
async fn concurrent_completions_store_one_result() {
    let w = World::start().await;
    for round in 0..20 {
        let id = w.enqueue(round).await;
        let held = w.reserve().await;
        let mut race = JoinSet::new();
        for n in 0..10 {
            let (client, held) = ((*w).clone(), held.clone());
            race.spawn(async move { client.complete_with(&held, n % 2).await.status });
        }
        let statuses = race.join_all().await;
        assert_eq!(
            statuses.iter().filter(|&&status| status == 200).count(),
            5,
            "one result won, its repetitions are the same"
        );
        assert_eq!(w.job(&id).await["late_results"].as_array().expect("a list").len(), 1);
    }
    assert_eq!(w.queue().await["totals"]["completed"], 20);
    w.check().await;
}

#[tokio::test]
async fn concurrent_equal_enqueues_make_one_job() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    for round in 0..10 {
        let mut race = JoinSet::new();
        for n in 0..20 {
            let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
            race.spawn(async move {
                let answer = client.send_enqueue(json!({ "payload": { "round": round } })).await;
                (answer.status, crate::world::id_of(&answer.json()))
            });
        }
        let answers = race.join_all().await;
        assert_eq!(answers.iter().filter(|(status, _)| *status == 201).count(), 1);
        assert_eq!(answers.iter().map(|(_, id)| id).collect::<BTreeSet<_>>().len(), 1);
    }
    w.check().await;
}

#[tokio::test]
async fn duplicate_of_a_reserved_job_is_not_handed_out() {
    let w = World::start().await;
    let id = w.enqueue("value").await;
    let held = w.reserve_as("ann").await;
    assert_eq!(w.send_enqueue(json!({ "payload": "value" })).await.is(200)["id"], id);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "reserved");
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn duplicate_enqueue_keeps_the_jobs_place() {
    let w = World::start().await;
    let (first, second) = (w.enqueue("first").await, w.enqueue("second").await);
    w.send_enqueue(json!({ "payload": "first" })).await.is(200);
    assert_eq!((w.reserve().await.id, w.reserve().await.id), (first, second));
    w.check().await;
}

#[tokio::test]
async fn lost_completion_keeps_the_next_holders_lease() {
    let w = World::start().await;
    w.enqueue(1).await;
    let ann = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    w.sweep().await;
    let bob = w.reserve_as("bob").await;
    w.complete(&ann).await.lost("expired", "reserved");
    w.extend(&bob).await.is(200);
    w.complete(&bob).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn jobs_of_one_millisecond_keep_their_order() {
    let w = World::start().await;
    let names = ["b", "10", "9", "a", "Z", "", "ä", "aa", "1"];
    let ids = w.enqueue_many(names.map(|name| json!({ "payload": name }))).await;
    let handed: Vec<_> = w.reserve_all(json!({ "limit": 100 })).await.into_iter().map(|held| held.id).collect();
    assert_eq!(handed, ids, "not in lexical order");
    w.check().await;
}

#[tokio::test]
async fn equal_poison_jobs_each_use_all_their_attempts() {
    let w = World::start().await;
    w.enqueue_many((0..3).map(|_| json!({ "payload": "poison", "dedupe": false, "max_attempts": 4 }))).await;
    w.enqueue_with(json!({ "queue": "worker10", "payload": "other" })).await;
    assert_eq!(w.empty_reason(json!({ "queues": ["worker1"] })).await, "empty");
    let mut hand_outs = 0;
    loop {
        let held = w.reserve_all(json!({ "limit": 2 })).await;
        if held.is_empty() {
            break;
        }
        assert!(held.len() <= 2, "asked for two, got no more");
        hand_outs += held.len();
        for held in &held {
            w.fail(held).await.is(200);
        }
    }
    assert_eq!(hand_outs, 12, "four attempts are four");
    assert_eq!(w.queue().await["counts"]["dead"], 3);
    w.check().await;
}

#[tokio::test]
async fn concurrent_workers_complete_each_job_once() {
    let w = World::plan().sweep_every(20).start().await;
    let (_second, other) = w.start_instance().await;
    w.enqueue_many((0..400).map(|n| json!({ "payload": n, "client": format!("c{}", n % 7), "priority": n % 3 }))).await;
    let mut crowd = JoinSet::new();
    for n in 0..12 {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        crowd.spawn(async move {
            let mut done = Vec::new();
            loop {
                let answer = client.send_reserve(json!({ "worker": format!("w{n}") })).await.is(200);
                let Some(job) = answer["jobs"].as_array().and_then(|jobs| jobs.first()) else {
                    if answer["reason"] == "empty" {
                        return done;
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                    continue;
                };
                let held = ReservedJob::new(job);
                match (done.len() + n) % 5 {
                    0 if held.number("attempt") < 3 => drop(client.fail(&held).await.is(200)),
                    1 if job["resumed"] == false && n % 3 == 0 => drop(client.abandon(&held).await.is(200)),
                    _ => {
                        client.complete_with(&held, n).await.is(200);
                        done.push(held.id);
                        continue;
                    }
                }
                done.push(String::new());
            }
        });
    }
    let done: Vec<_> = crowd.join_all().await.into_iter().flatten().filter(|id| !id.is_empty()).collect();
    assert_eq!((done.len(), done.iter().collect::<BTreeSet<_>>().len()), (400, 400));
    w.check().await;
}
