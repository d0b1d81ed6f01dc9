//! Entries in a queue's sets that are not jobs are removed when they are found, and block no job.

use serde_json::json;

use crate::world::World;

const STRAY: &str = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ";

async fn stray_in(w: &World, set: &str, member: &str) {
    let mut put = redis::cmd("ZADD");
    put.arg(format!("intray:{{default}}:2:{set}")).arg(0).arg(member);
    let _: u64 = w.engine.query(&put).await;
}

async fn count(w: &World, set: &str) -> u64 {
    w.engine.run(&format!("ZCARD intray:{{default}}:2:{set}")).await
}

#[tokio::test]
async fn stray_entries_do_not_stop_the_sweep() {
    let w = World::start().await;
    w.enqueue_with(json!({ "payload": 1, "delay_ms": 1_000 })).await;
    for set in ["delayed", "reserved", "timers", "ended", "alarms"] {
        stray_in(&w, set, STRAY).await;
    }
    w.advance_clock(1_000);
    assert_eq!(w.sweep().await["due"], 1);
    for set in ["delayed", "reserved", "timers", "ended", "alarms"] {
        w.sweep_until("the stray is removed", async || count(&w, set).await == 0).await;
    }
    w.reserve().await;
    w.check().await;
}

#[tokio::test]
async fn stray_entry_does_not_block_the_next_job() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    stray_in(&w, "inbound", STRAY).await;
    stray_in(&w, "delayed", STRAY).await;
    let held = w.reserve().await;
    assert_eq!(held.id, id);
    assert_eq!((count(&w, "inbound").await, count(&w, "delayed").await), (0, 0));
    w.check().await;
}

#[tokio::test]
async fn stray_entry_gets_no_turn_at_a_lock() {
    let w = World::start().await;
    w.enqueue_locked(1, &["l"]).await;
    let held = w.reserve().await;
    let next = w.enqueue_locked(2, &["l"]).await;
    assert!(w.reserve_all(json!({})).await.is_empty());
    assert_eq!(w.list_ids("blocked").await, std::slice::from_ref(&next));
    stray_in(&w, "parked", &format!("l\0{:016x}\0{STRAY}", 0)).await;
    w.complete(&held).await.is(200);
    assert_eq!(w.reserve().await.id, next);
    assert_eq!(count(&w, "parked").await, 0);
    w.check().await;
}

#[tokio::test]
async fn stray_entries_are_neither_listed_nor_counted() {
    let w = World::start().await;
    w.enqueue(1).await;
    for (set, state) in [("inbound", "waiting"), ("dead", "dead"), ("ended", "completed"), ("delayed", "delayed")] {
        stray_in(&w, set, STRAY).await;
        assert!(!w.list_ids(state).await.iter().any(|id| id.ends_with(STRAY)));
    }
    w.get("/queues/default").await.is(200);
    assert_eq!(w.requeue_all().await, 0);
    assert_eq!(count(&w, "dead").await, 0, "requeue removes the stray");
    assert_eq!(w.delete("/queues/default?state=all").await.is(200)["removed"], 1);
    for set in ["inbound", "dead", "ended", "delayed"] {
        assert_eq!(count(&w, set).await, 0, "{set}");
    }
    w.check().await;
}
