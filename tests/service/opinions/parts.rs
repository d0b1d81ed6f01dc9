//! Which end of a reservation keeps a worker from the other jobs of the batch: completion, expiry and a skip do, all others do not.

use serde_json::{Value, json};

use crate::world::{
    Fault, ReservedJob, World, assert_contains, batch_verbs::member_id, eventually, pending_reserve::PendingReserve,
};

const LEASE_MS: u64 = 10_000;
/// Parts that a batch remembers.
const MAX_PARTS: usize = 16;

/// A batch of so many equal jobs.
async fn ask(w: &World, overlap: u64) -> String {
    w.create_batch(json!({ "overlap": overlap, "job": { "payload": "picture", "lease_ms": LEASE_MS } })).await
}

async fn leave(w: &World, held: &ReservedJob, more: Value) {
    let mut body = json!({ "reservation": held.reservation });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    w.post("/jobs/abandon", body).await.is(200);
}

async fn is_kept_out(w: &World, worker: &str) {
    assert_eq!(w.empty_reason(json!({ "worker": worker })).await, "ineligible", "{worker}");
}

/// Her lease expires and is swept.
async fn expire(w: &World) {
    w.advance_clock(LEASE_MS);
    w.sweep().await;
}

/// One job of a batch of two comes back after Ann's grace.
async fn lose_after_grace() -> (World, String, ReservedJob) {
    let w = World::start().await;
    let batch = ask(&w, 2).await;
    let held = w.reserve_as("ann").await;
    leave(&w, &held, json!({ "grace_ms": 1_000 })).await;
    w.advance_clock(1_000);
    w.sweep().await;
    (w, batch, held)
}

#[tokio::test]
async fn three_jobs_are_given_to_three_workers() {
    let w = World::start().await;
    let batch = ask(&w, 3).await;
    for worker in ["ann", "bob", "cleo"] {
        let held = w.reserve_as(worker).await;
        assert_contains(&held.body, json!({ "payload": "picture", "worker": worker }));
        w.complete_with(&held, json!({ "verdict": worker })).await.is(200);
        assert_ne!(w.empty_reason(json!({ "worker": worker })).await, "paused");
    }
    let results = w.results(&batch, 10).await;
    let by: Vec<_> = results.iter().map(|result| &result["completed"]["worker"]).collect();
    assert_eq!(by, ["ann", "bob", "cleo"]);
    assert_eq!(w.batch(&batch).await["state"], "completed");
    w.check().await;
}

#[tokio::test]
async fn holder_is_given_no_second_job_even_in_one_call() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let batch = ask(&w, 3).await;
    let other = ask(&w, 2).await;
    let held = w.reserve_all(json!({ "worker": "ann", "limit": 10 })).await;
    let ids: Vec<_> = held.iter().map(|held| held.id.clone()).collect();
    assert_eq!(ids, [member_id(&batch, 0), member_id(&other, 0)]);
    is_kept_out(&w, "ann").await;
    w.check().await;
}

#[tokio::test]
async fn completion_keeps_the_worker_out() {
    let w = World::start().await;
    ask(&w, 2).await;
    let held = w.reserve_as("ann").await;
    w.complete(&held).await.is(200);
    is_kept_out(&w, "ann").await;
    w.check().await;
}

#[tokio::test]
async fn expired_worker_may_have_that_job_again_and_no_other() {
    let w = World::start().await;
    let batch = ask(&w, 2).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(held.id, member_id(&batch, 0));
    expire(&w).await;
    let named = w.send_reserve(json!({ "worker": "ann", "id": member_id(&batch, 1) })).await.refused("not-eligible");
    assert_eq!(named["rule"], "overlap");
    assert_eq!(w.reserve_as("ann").await.id, held.id);
    expire(&w).await;
    let bobs = w.reserve_as("bob").await;
    assert_eq!(bobs.id, held.id);
    is_kept_out(&w, "ann").await;
    w.check().await;
}

#[tokio::test]
async fn late_completion_counts_and_keeps_the_worker_out() {
    let w = World::start().await;
    let batch = ask(&w, 2).await;
    let held = w.reserve_as("ann").await;
    expire(&w).await;
    assert_eq!(w.complete(&held).await.is(200)["late"], true);
    is_kept_out(&w, "ann").await;
    assert_eq!(w.reserve_as("bob").await.id, member_id(&batch, 1));
    w.check().await;
}

#[tokio::test]
async fn job_that_comes_back_after_a_grace_can_still_be_completed() {
    let (w, batch, held) = lose_after_grace().await;
    assert_eq!(w.state(&held.id).await, "waiting");
    let bobs = w.send_reserve(json!({ "worker": "bob", "id": member_id(&batch, 1) })).await;
    bobs.is(200);
    w.force_cancel(&member_id(&batch, 1)).await.is(200);
    assert_eq!(w.complete(&held).await.is(200)["late"], true);
    w.check().await;
}

#[tokio::test]
async fn worker_whose_grace_is_over_is_given_no_other_job() {
    let (w, batch, held) = lose_after_grace().await;
    let other = json!({ "worker": "ann", "id": member_id(&batch, 1) });
    assert_eq!(w.send_reserve(other).await.refused("not-eligible")["rule"], "overlap");
    assert_eq!(w.reserve_as("ann").await.id, held.id);
    w.check().await;
}

#[tokio::test]
async fn skip_keeps_the_worker_out() {
    let w = World::start().await;
    ask(&w, 2).await;
    let held = w.reserve_as("ann").await;
    leave(&w, &held, json!({ "skip": true })).await;
    let named = w.empty_reason(json!({ "worker": "ann" })).await;
    assert!(matches!(&*named, "skipped" | "ineligible"), "{named}");
    w.reserve_as("bob").await;
    let named = w.empty_reason(json!({ "worker": "ann" })).await;
    assert_eq!(named, "ineligible", "the second is not offered to her either");
    w.check().await;
}

#[tokio::test]
async fn abandon_fail_and_release_forget_the_worker() {
    let w = World::start().await;
    for end in ["abandon", "fail", "release"] {
        let batch = ask(&w, 2).await;
        let held = w.reserve_as("ann").await;
        assert_eq!(held.id, member_id(&batch, 0));
        match end {
            "abandon" => leave(&w, &held, json!({})).await,
            "fail" => drop(w.fail(&held).await.is(200)),
            _ => assert_eq!(w.release(&held.id).await, 1),
        }
        let second = w.send_reserve(json!({ "worker": "ann", "id": member_id(&batch, 1) })).await;
        assert_eq!(second.is(200)["jobs"][0]["id"], member_id(&batch, 1), "after {end}");
        w.release(&member_id(&batch, 1)).await;
        w.cancel_batch(&batch).await.is(200);
    }
    w.check().await;
}

/// The job of this call does not reach its caller.
async fn reserve_in_vain(w: &World, call: Value, id: &str) {
    w.proxy().set_fault(Fault::Freeze);
    let call = PendingReserve::send(w, &call).await;
    eventually("the call is on its way", async || w.proxy().is_withholding().then_some(())).await;
    assert_eq!(call.hang_up().await, None);
    w.proxy().set_fault(Fault::None);
    let ends = ["reserved".into(), "abandoned undelivered".into()];
    eventually("the job is given back", async || w.events_of(id).await.ends_with(&ends).then_some(())).await;
}

#[tokio::test]
async fn undelivered_job_forgets_the_worker() {
    let w = World::plan().with_proxy().start().await;
    let batch = ask(&w, 2).await;
    reserve_in_vain(&w, json!({ "worker": "ann" }), &member_id(&batch, 0)).await;
    let second = w.send_reserve(json!({ "worker": "ann", "id": member_id(&batch, 1) })).await;
    assert_eq!(second.is(200)["jobs"][0]["id"], member_id(&batch, 1));
    w.check().await;
}

#[tokio::test]
async fn skip_stays_when_the_job_is_taken_again_by_its_id() {
    let w = World::plan().with_proxy().start().await;
    for end in ["undelivered", "fail", "release"] {
        let batch = ask(&w, 2).await;
        let held = w.reserve_as("ann").await;
        leave(&w, &held, json!({ "skip": true })).await;
        let call = json!({ "worker": "ann", "id": held.id });
        match end {
            "undelivered" => reserve_in_vain(&w, call, &held.id).await,
            "fail" => drop(w.fail(&w.reserve_with(call).await).await.is(200)),
            _ => {
                w.reserve_with(call).await;
                assert_eq!(w.release(&held.id).await, 1);
            }
        }
        let other = w.send_reserve(json!({ "worker": "ann", "id": member_id(&batch, 1) })).await;
        assert_eq!(other.refused("not-eligible")["rule"], "overlap", "after {end}");
        w.cancel_batch(&batch).await.is(200);
    }
    w.check().await;
}

/// Only Ann has had hers.
#[tokio::test]
async fn skip_is_not_forgotten_for_those_of_another_job() {
    let w = World::start().await;
    let batch = ask(&w, 2).await;
    let first = w.reserve_as("ann").await;
    leave(&w, &first, json!({ "skip": true })).await;
    let other = [0, 1].map(|n| member_id(&batch, n)).into_iter().find(|id| *id != first.id).expect("another job");
    for n in 0..MAX_PARTS {
        let held = w.reserve_with(json!({ "worker": format!("w{n}"), "id": other })).await;
        leave(&w, &held, json!({ "skip": true })).await;
    }
    let refused = w.send_reserve(json!({ "worker": "ann", "id": other })).await;
    assert_eq!(refused.refused("not-eligible")["rule"], "overlap");
    w.check().await;
}

/// So many have had the other job that Ann's expiry is forgotten when one more is given hers, whom it does not reach.
#[tokio::test]
async fn late_work_does_not_count_with_another_job_of_the_batch() {
    let w = World::plan().with_proxy().start().await;
    let batch = ask(&w, 2).await;
    let first = w.reserve_as("ann").await;
    expire(&w).await;
    for n in 0..15 {
        w.reserve_with(json!({ "worker": format!("w{n}"), "id": member_id(&batch, 1) })).await;
        expire(&w).await;
    }
    reserve_in_vain(&w, json!({ "worker": "zoe", "id": first.id }), &first.id).await;
    let second = w.reserve_with(json!({ "worker": "ann", "id": member_id(&batch, 1) })).await;
    w.complete(&first).await.refused("reservation-lost");
    w.complete(&second).await.is(200);
    assert_eq!(w.state(&first.id).await, "waiting");
    w.check().await;
}

#[tokio::test]
async fn hand_over_of_such_a_job_is_refused() {
    let w = World::start().await;
    ask(&w, 2).await;
    let held = w.reserve_as("ann").await;
    let call = json!({ "reservation": held.reservation, "to": "bob" });
    let refused = w.post("/jobs/hand-over", call).await;
    assert_eq!(refused.refused("not-eligible")["rule"], "overlap");
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn unnamed_caller_is_given_none_of_them() {
    let w = World::start().await;
    let batch = ask(&w, 2).await;
    assert_eq!(w.empty_reason(json!({})).await, "ineligible");
    let named = w.send_reserve(json!({ "id": member_id(&batch, 0) })).await;
    assert_eq!(named.refused("not-eligible")["rule"], "overlap");
    w.check().await;
}

#[tokio::test]
async fn thirty_expiries_keep_out_each_worker_who_may_still_complete() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 0 })).await;
    let batch = ask(&w, 2).await;
    let first = w.reserve_as("ann").await;
    let mut last = None;
    for n in 0..30 {
        let held = w.reserve_as(&format!("w{n}")).await;
        assert_eq!(held.id, member_id(&batch, 1));
        expire(&w).await;
        last = Some(held);
        if n == 0 {
            // Her own expires with it, and no worker has it afterwards.
            assert_eq!(w.reserve_with(json!({ "worker": "ann", "id": first.id })).await.id, first.id);
        } else if n < 29 {
            w.reserve_with(json!({ "worker": "ann", "id": first.id })).await;
        }
    }
    let other = json!({ "worker": "ann", "id": member_id(&batch, 1) });
    assert_eq!(w.send_reserve(other).await.refused("not-eligible")["rule"], "overlap");
    w.complete(&last.expect("the last")).await.is(200);
    let other = json!({ "worker": "w29", "id": member_id(&batch, 0) });
    assert_eq!(w.send_reserve(other).await.refused("not-eligible")["rule"], "overlap");
    w.check().await;
}
