//! An undo against the end of its time, crashes, and a full Redis: one of both, and nothing is lost.

use serde_json::json;

use crate::world::{World, assert_contains, eventually};

#[tokio::test]
async fn thousand_undos_against_the_end_have_one_winner_each() {
    const ROUNDS: usize = 10;
    const JOBS: usize = 100;
    let w = World::start().await;
    let (_other, second) = w.start_instance().await;
    w.stop_clock();
    let (mut undone, mut completed) = (0, 0);
    for round in 0..ROUNDS {
        w.enqueue_many((0..JOBS).map(|n| json!({ "payload": [round, n] }))).await;
        let held = w.reserve_all(json!({ "limit": JOBS })).await;
        assert_eq!(held.len(), JOBS);
        let items =
            held.iter().map(|held| json!({ "reservation": held.reservation, "result": held.id, "undo_ms": 1_000 }));
        w.post("/jobs/complete", items.collect()).await.is(200);
        w.advance_clock(999);
        // Half of them beside the tick of the clock, from both instances.
        let undos = held.iter().enumerate().map(|(n, held)| if n % 2 == 0 { w.undo(held) } else { second.undo(held) });
        let tick = async {
            w.advance_clock(1);
            second.sweep().await
        };
        let (answers, _) = tokio::join!(futures_util::future::join_all(undos), tick);
        for (answer, held) in answers.iter().zip(&held) {
            let job = w.job(&held.id).await;
            if answer.status == 200 {
                undone += 1;
                assert_contains(&job, json!({ "state": "reserved", "result": null }));
                assert_eq!(job["reserved"]["final_at"], json!(null));
                w.complete(held).await.is(200);
            } else {
                completed += 1;
                answer.lost("completed", "completed");
                assert_contains(&job, json!({ "state": "completed", "result": held.id }));
            }
        }
    }
    assert_eq!(undone + completed, ROUNDS * JOBS);
    println!("undone {undone}, completed {completed}");
    assert_eq!(w.queue().await["totals"]["completed"], ROUNDS * JOBS);
    w.check().await;
}

#[tokio::test]
async fn killed_service_loses_neither_the_result_nor_the_undo() {
    let mut w = World::plan().own_process().durable().sweep_every(50).start().await;
    w.enqueue_many([json!({ "payload": 1 }), json!({ "payload": 2 })]).await;
    let held = w.reserve_all(json!({ "limit": 2 })).await;
    for held in &held {
        w.close(held, &*held.id, 60_000).await.is(200);
    }
    w.service.kill();
    w.restart().await;
    assert_contains(&w.undo(&held[0]).await.is(200), json!({ "draft": held[0].id }));
    w.advance_clock(60_000);
    // Its own sweeper makes the other one final.
    eventually("it is final", async || (w.state(&held[1].id).await == "completed").then_some(())).await;
    assert_contains(&w.job(&held[1].id).await, json!({ "result": held[1].id, "completed": { "worker": null } }));
    w.check().await;
}

#[tokio::test]
async fn full_redis_accepts_both() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_many([json!({ "payload": 1 }), json!({ "payload": 2 })]).await;
    let held = w.reserve_all(json!({ "limit": 2 })).await;
    let large = "x".repeat(100_000);
    w.close(&held[1], &*large, 60_000).await.is(200);
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    w.close(&held[0], "small", 10_000).await.is(200);
    w.undo(&held[0]).await.is(200);
    assert_eq!(w.undo(&held[1]).await.is(200)["draft"], json!(large), "a large one was stored before");
    let again = json!({ "reservation": held[1].reservation, "result": large, "undo_ms": 10_000, "resumes": 1 });
    w.post("/jobs/complete", again).await.refused("storage-full");
    let small = json!({ "reservation": held[1].reservation, "result": 1, "undo_ms": 10_000, "resumes": 1 });
    w.post("/jobs/complete", small).await.is(200);
    w.advance_clock(10_000);
    w.sweep().await;
    assert_contains(&w.job(&held[1].id).await, json!({ "state": "completed", "result": 1 }));
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    w.complete(&held[0]).await.is(200);
    w.check().await;
}
