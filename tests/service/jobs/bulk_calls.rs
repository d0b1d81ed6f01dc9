//! Array calls answer each item on its own, in the order of the list.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, id_of};

#[tokio::test]
async fn bulk_calls_answer_each_item_in_order() {
    let w = World::start().await;
    // Every seventh is bad, every eleventh is the twin of the one before.
    let item = |n: u64| match (n % 7, n % 11) {
        (3, _) => json!({ "payload": n, "priority": 1_000 }),
        (_, 10) => json!({ "payload": n - 1, "priority": 3, "locks": [format!("lock {n}")] }),
        _ => json!({ "payload": n, "locks": [format!("lock {n}")] }),
    };
    let results = w.post("/jobs", (0..1_000).map(item).collect()).await.is(200);
    let results = results["jobs"].as_array().expect("jobs");
    assert_eq!(results.len(), 1_000);
    let mut line = Vec::new();
    for (n, results) in results.iter().enumerate() {
        let before_is_bad = n > 0 && (n - 1) % 7 == 3;
        match (n % 7, n % 11) {
            (3, _) => {
                assert_contains(&results["error"], json!({ "status": 422, "errors": [{ "pointer": "/priority" }] }))
            }
            (_, 10) if !before_is_bad => {
                assert_eq!((&results["id"], &results["duplicate"]), (line.last().expect("a twin"), &json!(true)))
            }
            _ => {
                assert_eq!(results["duplicate"], false, "{n}: {results}");
                line.push(results["id"].clone());
            }
        }
    }
    let held = w.reserve_all(json!({ "limit": 100 })).await;
    assert_eq!(held.len(), 100);

    let unknown = "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ.7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    let lost = w.reserve().await;
    w.force_cancel(&lost.id).await.is(200);
    let settle = |n: usize| match n % 10 {
        3 => json!({ "reservation": unknown }),
        5 => json!({ "reservation": "nonsense" }),
        7 => json!({ "reservation": held[n - 1].reservation, "result": n - 1 }),
        8 => json!({ "reservation": held[n].reservation, "reslut": 1 }),
        9 => json!({ "reservation": lost.reservation, "result": n }),
        _ => json!({ "reservation": held[n].reservation, "result": n }),
    };
    let results = w.post("/jobs/complete", (0..100).map(settle).collect()).await.is(200);
    let results = results["jobs"].as_array().expect("jobs");
    assert_eq!(results.len(), 100);
    for (n, results) in results.iter().enumerate() {
        match n % 10 {
            3 => assert_contains(&results["error"], json!({ "status": 409, "reason": "unknown" })),
            5 => {
                assert_contains(&results["error"], json!({ "status": 422, "errors": [{ "pointer": "/reservation" }] }))
            }
            7 => assert_contains(results, json!({ "id": held[n - 1].id, "state": "completed", "duplicate": true })),
            8 => assert_contains(&results["error"], json!({ "status": 422, "errors": [{ "pointer": "/reslut" }] })),
            9 => assert_contains(
                &results["error"],
                json!({ "status": 409, "reason": "cancelled", "job_state": "cancelled" }),
            ),
            _ => assert_contains(results, json!({ "id": held[n].id, "state": "completed", "duplicate": false })),
        }
    }
    assert_contains(&w.queue().await["counts"], json!({ "completed": 50, "reserved": 50, "cancelled": 1 }));
    assert_eq!(w.job(&held[42].id).await["result"], 42);
    assert_eq!(w.locks().await.len() as u64, w.queue().await["counts"]["reserved"].as_u64().expect("a count"));
    w.check().await;
}

#[tokio::test]
async fn job_with_zero_max_attempts_never_dies() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 1 })).await;
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 0, "locks": ["site"] })).await;
    let place = w.score_of(&id).await;
    for attempt in 1..=50 {
        let held = w.reserve().await;
        assert_eq!((held.id.as_str(), held.number("attempt")), (id.as_str(), attempt));
        if attempt % 3 == 0 {
            w.advance_clock(300_000);
            w.sweep().await;
        } else {
            assert_eq!(w.fail(&held).await.is(200)["state"], "waiting");
        }
        assert_eq!(w.score_of(&id).await, place);
    }
    assert_contains(
        &w.job(&id).await,
        json!({ "state": "waiting", "attempts": 50, "counts": { "failed": 34, "expired": 16 } }),
    );
    assert_eq!(w.complete_all().await, [id]);
    w.check().await;
}

#[tokio::test]
async fn invalid_items_do_not_affect_others_in_the_array() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 20 })).await;
    let ids = w.enqueue_many((0..100).map(|n| json!({ "payload": n, "client": format!("c{}", n % 5) }))).await;
    let mut taken: Vec<String> = Vec::new();
    for n in 0..5 {
        let held = w.reserve_all(json!({ "worker": format!("w{n}"), "limit": 50 })).await;
        assert_eq!(held.len(), 20);
        for call in ["fail", "abandon", "extend"] {
            let half = held.iter().map(|held| json!({ "reservation": held.reservation })).take(10);
            let bad = [json!({ "reservation": "x" }), Value::Null];
            let answer = w.post(&format!("/jobs/{call}"), bad.into_iter().chain(half).collect()).await.is(200);
            let results = answer["jobs"].as_array().expect("jobs");
            assert_eq!(
                (results.len(), &results[0]["error"]["status"], &results[1]["error"]["status"]),
                (12, &json!(422), &json!(422))
            );
            let expected = if call == "fail" { "waiting" } else { "reservation-lost" };
            for results in &results[2..] {
                let found = if call == "fail" { &results["state"] } else { &results["error"]["type"] };
                assert!(found.as_str().is_some_and(|found| found.ends_with(expected)), "{call}: {results}");
            }
        }
        taken.extend(held[10..].iter().map(|held| held.id.clone()));
        let rest = held[10..].iter().map(|held| json!({ "reservation": held.reservation })).collect();
        let answer = w.post("/jobs/complete", rest).await.is(200);
        let results: Vec<_> = answer["jobs"].as_array().expect("jobs").iter().map(id_of).collect();
        assert_eq!(results, taken[taken.len() - 10..], "in the order of the list");
    }
    assert_eq!(w.complete_all().await.len() + taken.len(), ids.len());
    w.check().await;
}

/// Long enough that Redis refuses such results and drafts when its memory is full.
fn long_text() -> String {
    "long ".repeat(1_000)
}

#[tokio::test]
async fn items_of_one_reservation_are_applied_in_order() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0, "share_drafts": true })).await;
    w.enqueue_many((0..20).map(|n| json!({ "payload": n }))).await;
    for held in w.reserve_all(json!({ "worker": "ann", "limit": 20 })).await {
        let extend = |draft: &str| json!({ "reservation": held.reservation, "draft": draft });
        w.post("/jobs/extend", json!([extend(&long_text()), extend("typed last")])).await.is(200);
        w.abandon(&held).await.is(200);
        let again = w.reserve_with(json!({ "worker": "ann", "id": held.id })).await;
        assert_eq!(again.body["draft"], "typed last", "a word before the last has overtaken it");

        let leave = |draft: &str| json!({ "reservation": again.reservation, "draft": draft, "grace_ms": 60_000 });
        w.post("/jobs/abandon", json!([leave(&long_text()), leave("left last")])).await.is(200);
        let again = w.reserve_with(json!({ "worker": "ann", "id": held.id })).await;
        assert_eq!(again.body["draft"], "left last", "a word before the last has overtaken it");

        let complete = |result: &str| json!({ "reservation": again.reservation, "result": result });
        let results = w.post("/jobs/complete", json!([complete(&long_text()), complete("second")])).await.is(200);
        assert_contains(&results["jobs"][0], json!({ "state": "completed", "duplicate": false }));
        assert_contains(&results["jobs"][1]["error"], json!({ "reason": "completed" }));
    }
    w.check().await;
}

#[tokio::test]
async fn large_result_refused_by_full_redis_fails_alone() {
    let w = World::start().await;
    w.enqueue_many((0..4).map(|n| json!({ "payload": n }))).await;
    let held = w.reserve_all(json!({ "limit": 4 })).await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    let complete = |n: usize| {
        let result = if n % 2 == 1 { long_text() } else { "short".to_owned() };
        json!({ "reservation": held[n].reservation, "result": result })
    };
    let results = w.post("/jobs/complete", (0..4).map(complete).collect()).await.is(200);
    for n in [0, 2] {
        assert_contains(&results["jobs"][n], json!({ "id": held[n].id, "state": "completed", "duplicate": false }));
        assert_contains(&results["jobs"][n + 1]["error"], json!({ "status": 507, "type": "/problems/storage-full" }));
    }
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    w.complete(&held[1]).await.is(200);
    w.check().await;
}

/// Adds stray members at the front of a set, more than the 20,000 that one call reads.
async fn strays_in(w: &World, set: &str, prefix: &str) {
    let mut put = redis::cmd("ZADD");
    put.arg(format!("intray:{{default}}:2:{set}"));
    for n in 0..20_050 {
        put.arg(0).arg(format!("{prefix}{n:026}"));
    }
    let _: u64 = w.engine.query(&put).await;
}

#[tokio::test]
async fn bounded_release_and_sweep_report_more_and_continue() {
    let w = World::start().await;
    w.enqueue(1).await;
    w.reserve_as("ann").await;
    strays_in(&w, "held", &format!("ann\0{}\0", "\0".repeat(16))).await;
    let release = async || w.post("/jobs/release", json!({ "queue": "default", "worker": "ann" })).await.is(200);
    assert_eq!(release().await, json!({ "released": 0, "more": true }));
    assert_eq!(release().await, json!({ "released": 1, "more": false }));

    w.enqueue_with(json!({ "payload": 2, "delay_ms": 1_000 })).await;
    w.advance_clock(1_000);
    strays_in(&w, "delayed", "").await;
    let sweep = async || w.post("/queues/default/sweep", json!({})).await.is(200);
    assert_eq!(sweep().await, json!({ "expired": 0, "due": 0, "dead": 0, "forgotten": 0, "more": true }));
    assert_eq!(sweep().await, json!({ "expired": 0, "due": 1, "dead": 0, "forgotten": 0, "more": false }));
    w.check().await;
}
