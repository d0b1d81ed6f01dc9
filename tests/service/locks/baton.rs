//! The baton: the job whose turn it is at a free lock. A job that leaves passes it on, in the order of the queue.

use serde_json::json;

use crate::world::{ReservedJob, World, assert_contains, assert_events};

/// One job holds the lock and three wait for it. Once the lock is free, the first of the three has the
/// baton, unless the test changes that.
struct Line {
    w: World,
    held: ReservedJob,
    ids: [String; 3],
}

impl Line {
    async fn start() -> Self {
        let w = World::start().await;
        w.enqueue_locked("holder", &["site"]).await;
        let held = w.reserve().await;
        let ids = [
            w.enqueue_locked("first", &["site"]).await,
            w.enqueue_locked("second", &["site"]).await,
            w.enqueue_locked("third", &["site"]).await,
        ];
        let line = Self { w, held, ids };
        line.is(["blocked"; 3]).await;
        line
    }

    /// The lock becomes free.
    async fn free(&self) {
        self.w.complete(&self.held).await.is(200);
    }

    async fn is(&self, states: [&str; 3]) {
        for (n, (id, state)) in self.ids.iter().zip(states).enumerate() {
            assert_eq!(self.w.state(id).await, state, "number {n}");
        }
    }

    /// Serves all jobs one by one in this order, and expects nothing after that.
    async fn serves(&self, order: &[usize]) {
        for &n in order {
            let held = self.w.reserve_all(json!({ "limit": 3 })).await;
            assert_eq!(held.iter().map(|held| &held.id).collect::<Vec<_>>(), [&self.ids[n]]);
            self.w.complete(&held[0]).await.is(200);
        }
        assert_eq!(self.w.empty_reason(json!({})).await, "empty");
        self.w.check().await;
    }
}

#[tokio::test]
async fn cancelled_baton_holder_passes_it_on() {
    let line = Line::start().await;
    line.free().await;
    line.is(["waiting", "blocked", "blocked"]).await;
    line.w.cancel(&line.ids[0]).await.is(200);
    line.is(["cancelled", "waiting", "blocked"]).await;
    line.serves(&[1, 2]).await;
}

#[tokio::test]
async fn purged_baton_holder_passes_it_on() {
    let line = Line::start().await;
    line.free().await;
    let removed = line.w.delete("/queues/default?state=waiting").await.is(200);
    assert_eq!(removed, json!({ "removed": 1, "more": false, "next": null }), "only one is waiting");
    line.w.get(&format!("/jobs/{}", line.ids[0])).await.refused("unknown-job");
    assert_eq!(line.w.state(&line.ids[1]).await, "waiting");
    line.serves(&[1, 2]).await;
}

#[tokio::test]
async fn lower_priority_passes_the_baton_on() {
    let line = Line::start().await;
    line.free().await;
    assert_eq!(line.w.set_priority(&line.ids[0], 99).await.is(200)["state"], "waiting");
    assert_eq!(line.w.state(&line.ids[1]).await, "waiting");
    line.serves(&[1, 2, 0]).await;
}

#[tokio::test]
async fn requeue_does_not_move_the_baton_holder() {
    let line = Line::start().await;
    line.free().await;
    assert_eq!(line.w.requeue(&line.ids[0]).await, 0);
    line.is(["waiting", "blocked", "blocked"]).await;
    line.serves(&[0, 1, 2]).await;
}

/// The first of the three has run out of time, and another holds the lock now: the first may still be completed late.
async fn with_lock_reserved_by_another(line: &Line) -> (ReservedJob, ReservedJob) {
    line.free().await;
    let lost = line.w.reserve().await;
    assert_eq!(lost.id, line.ids[0]);
    line.w.advance_clock(300_000);
    line.w.sweep().await;
    line.is(["waiting", "waiting", "blocked"]).await;
    let urgent = line.w.enqueue_with(json!({ "payload": "urgent", "priority": 0, "locks": ["site"] })).await;
    let other = line.w.reserve().await;
    assert_eq!(other.id, urgent);
    assert_eq!(line.w.empty_reason(json!({})).await, "blocked");
    line.is(["blocked"; 3]).await;
    (lost, other)
}

#[tokio::test]
async fn late_completed_baton_holder_passes_it_on() {
    let line = Line::start().await;
    let (lost, other) = with_lock_reserved_by_another(&line).await;
    line.w.complete(&other).await.is(200);
    line.is(["waiting", "blocked", "blocked"]).await;
    assert_eq!(line.w.complete(&lost).await.is(200)["late"], true);
    line.is(["completed", "waiting", "blocked"]).await;
    line.serves(&[1, 2]).await;
}

#[tokio::test]
async fn late_completed_blocked_job_is_unparked() {
    let line = Line::start().await;
    let (lost, other) = with_lock_reserved_by_another(&line).await;
    assert_eq!(line.w.complete(&lost).await.is(200)["late"], true);
    line.is(["completed", "blocked", "blocked"]).await;
    assert_eq!(line.w.locks().await[0]["blocked"], 2);
    line.w.complete(&other).await.is(200);
    line.is(["completed", "waiting", "blocked"]).await;
    line.serves(&[1, 2]).await;
}

#[tokio::test]
async fn cancelled_blocked_job_is_unparked() {
    let line = Line::start().await;
    line.w.cancel(&line.ids[0]).await.is(200);
    line.is(["cancelled", "blocked", "blocked"]).await;
    assert_eq!(line.w.locks().await[0]["blocked"], 2);
    line.free().await;
    line.is(["cancelled", "waiting", "blocked"]).await;
    line.serves(&[1, 2]).await;
}

#[tokio::test]
async fn purge_removes_all_blocked_jobs() {
    let line = Line::start().await;
    let removed = line.w.delete("/queues/default?state=blocked").await.is(200);
    assert_eq!(removed, json!({ "removed": 3, "more": false, "next": null }));
    assert_eq!(line.w.locks().await[0]["blocked"], 0);
    line.w.check().await;
    let new = line.w.enqueue_locked("new", &["site"]).await;
    line.free().await;
    assert_eq!(line.w.complete_all().await, [new]);
    line.w.check().await;
}

#[tokio::test]
async fn priority_change_moves_a_blocked_job() {
    let line = Line::start().await;
    let response = line.w.set_priority(&line.ids[2], 10).await.is(200);
    assert_contains(&response, json!({ "id": line.ids[2], "state": "blocked", "priority": 10 }));
    assert_eq!(line.w.set_priority(&line.ids[0], 90).await.is(200)["state"], "blocked");
    assert_events(&line.w.events_of(&line.ids[2]).await, &["enqueued", "changed"]);
    line.w.check().await;
    line.free().await;
    line.is(["blocked", "blocked", "waiting"]).await;
    line.serves(&[2, 1, 0]).await;
}

#[tokio::test]
async fn raised_priority_takes_the_baton_at_a_free_lock() {
    let line = Line::start().await;
    line.free().await;
    line.is(["waiting", "blocked", "blocked"]).await;
    assert_eq!(line.w.set_priority(&line.ids[2], 10).await.is(200)["state"], "waiting");
    line.w.check().await;
    line.serves(&[2, 0, 1]).await;
}

#[tokio::test]
async fn requeued_dead_job_parks_after_other_waiters() {
    let w = World::start().await;
    let dead = w.enqueue_with(json!({ "payload": "dead", "locks": ["site"], "max_attempts": 1 })).await;
    w.fail(&w.reserve().await).await.is(200);
    let (holder, next) = (w.enqueue_locked(1, &["site"]).await, w.enqueue_locked(2, &["site"]).await);
    let held = w.reserve().await;
    assert_eq!(held.id, holder);
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    assert_eq!(w.requeue_all().await, 1);
    assert_eq!((w.state(&dead).await, w.state(&next).await), ("blocked".into(), "blocked".into()));
    w.check().await;
    w.complete(&held).await.is(200);
    assert_eq!((w.state(&dead).await, w.state(&next).await), ("blocked".into(), "waiting".into()));
    assert_eq!(w.complete_all().await, [next, dead]);
    w.check().await;
}

#[tokio::test]
async fn job_with_another_busy_lock_passes_the_baton_on() {
    let w = World::start().await;
    w.enqueue_locked("x", &["l"]).await;
    w.enqueue_locked("y", &["m"]).await;
    let held = w.reserve_all(json!({ "limit": 2 })).await;
    let both = w.enqueue_locked("both", &["l", "m"]).await;
    let (one, two) = (w.enqueue_locked("one", &["l"]).await, w.enqueue_locked("two", &["l"]).await);
    w.complete(&held[0]).await.is(200);
    assert_eq!(w.state(&both).await, "waiting", "its turn at the one that is free");
    let next = w.reserve().await;
    assert_eq!(next.id, one, "but the other is busy, and the call continues with the next");
    assert_eq!((w.state(&both).await, w.state(&two).await), ("blocked".into(), "blocked".into()));
    assert_events(&w.events_of(&both).await, &["enqueued", "blocked"]);
    w.check().await;
    w.cancel(&both).await.is(200);
    w.complete(&held[1]).await.is(200);
    w.complete(&next).await.is(200);
    assert_eq!(w.complete_all().await, [two]);
    w.check().await;
}
