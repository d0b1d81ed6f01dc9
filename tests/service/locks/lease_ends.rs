//! Every end of a lease frees its locks for waiting jobs, in every order of the queue.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{
    Fault, ReservedJob, World, batch_verbs::assert_locks_unique, eventually, pending_reserve::PendingReserve,
};

/// How a lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Complete,
    CompleteOverdue,
    CompleteLate,
    Abandon,
    Rest,
    Fail,
    Die,
    ExpireBySweep,
    ExpireByReserve,
    DieByExpiry,
    Release,
    Cancel,
    Purge,
    /// The caller disconnected before the answer.
    Undelivered,
}

const ENDINGS: [Ending; 14] = [
    Ending::Complete,
    Ending::CompleteOverdue,
    Ending::CompleteLate,
    Ending::Abandon,
    Ending::Rest,
    Ending::Fail,
    Ending::Die,
    Ending::ExpireBySweep,
    Ending::ExpireByReserve,
    Ending::DieByExpiry,
    Ending::Release,
    Ending::Cancel,
    Ending::Purge,
    Ending::Undelivered,
];
const ORDERS: [[&[&str]; 3]; 6] = [
    [&["l", "m"], &["l"], &["m"]],
    [&["l", "m"], &["m"], &["l"]],
    [&["l"], &["l", "m"], &["m"]],
    [&["m"], &["l", "m"], &["l"]],
    [&["l"], &["m"], &["l", "m"]],
    [&["m"], &["l"], &["l", "m"]],
];

impl Ending {
    /// Whether the job has ended; otherwise it can be reserved again.
    fn is_the_end(self) -> bool {
        use Ending::{Cancel, Complete, CompleteLate, CompleteOverdue, Die, DieByExpiry, Purge};
        matches!(self, Complete | CompleteOverdue | CompleteLate | Die | DieByExpiry | Cancel | Purge)
    }

    fn max_attempts(self) -> u64 {
        u64::from(matches!(self, Self::Die | Self::DieByExpiry))
    }

    async fn happen(self, w: &World, victim: &ReservedJob, others: &[ReservedJob]) {
        match self {
            Self::Complete => drop(w.complete(victim).await.is(200)),
            Self::Abandon => drop(w.abandon(victim).await.is(200)),
            Self::Rest => assert_eq!(w.abandon_with_delay(victim, 60_000).await.is(200)["state"], "delayed"),
            Self::Fail => assert_ne!(w.fail(victim).await.is(200)["state"], "dead"),
            Self::Die => assert_eq!(w.fail(victim).await.is(200)["state"], "dead"),
            Self::Release => assert_eq!(w.release(&victim.id).await, 1),
            Self::Cancel => drop(w.force_cancel(&victim.id).await.is(200)),
            Self::Purge => drop(w.delete("/queues/default?state=reserved&force=true").await.is(200)),
            Self::Undelivered => {}
            Self::CompleteOverdue
            | Self::CompleteLate
            | Self::ExpireBySweep
            | Self::ExpireByReserve
            | Self::DieByExpiry => {
                for other in others {
                    let longer = json!({ "reservation": other.reservation, "lease_ms": 900_000 });
                    w.post("/jobs/extend", longer).await.is(200);
                }
                w.advance_clock(300_000);
                if !matches!(self, Self::CompleteOverdue | Self::ExpireByReserve) {
                    assert_eq!(w.sweep().await["expired"], 1);
                }
                if matches!(self, Self::CompleteOverdue | Self::CompleteLate) {
                    assert_eq!(w.complete(victim).await.is(200)["late"], true);
                }
            }
        }
    }
}

/// Asks for three jobs and is gone before they come; waits until they are given back.
async fn reserve_and_vanish(w: &World, first: &str) {
    w.proxy().set_fault(Fault::Freeze);
    let call = PendingReserve::send(w, &json!({ "limit": 3 })).await;
    eventually("the call is on its way", async || w.proxy().is_withholding().then_some(())).await;
    assert_eq!(call.hang_up().await, None);
    w.proxy().set_fault(Fault::None);
    eventually("the jobs are given back", async || {
        let events = w.events_of(first).await;
        events.ends_with(&["reserved".to_owned(), "abandoned undelivered".to_owned()]).then_some(())
    })
    .await;
}

/// One of the jobs that are out ends in this way; then everything is worked off, one by one.
async fn assert_no_job_is_stranded(w: &World, ending: Ending, order: [&[&str]; 3], nth: usize) {
    let case = format!("{ending:?} of number {nth} of those out, in the order {order:?}");
    let mut ids = Vec::new();
    for locks in order {
        let job = json!({ "payload": 1, "dedupe": false, "locks": locks, "max_attempts": ending.max_attempts() });
        ids.push(w.enqueue_with(job).await);
    }
    let mut held = Vec::new();
    let mut over = BTreeSet::new();
    if ending == Ending::Undelivered {
        reserve_and_vanish(w, &ids[0]).await;
    } else {
        held = w.reserve_all(json!({ "limit": 3 })).await;
        assert_eq!(held.len(), out_at_first(order), "{case}");
        assert_locks_unique(&held);
        let victim = held.remove(nth);
        ending.happen(w, &victim, &held).await;
        if ending == Ending::Purge {
            over.extend(held.drain(..).map(|held| held.id));
        }
        if ending.is_the_end() {
            over.insert(victim.id);
        }
    }
    for rested in [false, true] {
        if rested && ending == Ending::Rest {
            w.advance_clock(60_000);
        }
        loop {
            held.extend(w.reserve_all(json!({ "limit": 3 })).await);
            assert_locks_unique(&held);
            let Some(next) = held.pop() else { break };
            w.complete(&next).await.is(200);
            assert!(over.insert(next.id), "{case}: handed out though it was over");
        }
        let stranded: Vec<_> = ids.iter().filter(|id| !over.contains(*id)).collect();
        let rests = usize::from(!rested && ending == Ending::Rest);
        assert_eq!(stranded.len(), rests, "{case}: never handed out: {stranded:?}");
    }
}

/// How many of the three jobs one reserve can hand out.
fn out_at_first(order: [&[&str]; 3]) -> usize {
    if order[0].len() == 2 { 1 } else { 2 }
}

#[tokio::test]
async fn every_lease_end_frees_its_locks_for_waiters() {
    let w = World::plan().with_proxy().start().await;
    for ending in ENDINGS {
        for order in ORDERS {
            let outs = if ending == Ending::Undelivered { 1 } else { out_at_first(order) };
            for nth in 0..outs {
                assert_no_job_is_stranded(&w, ending, order, nth).await;
            }
        }
        let queue = w.queue().await;
        for state in ["waiting", "blocked", "delayed", "reserved"] {
            assert_eq!(queue["counts"][state], 0, "{ending:?}: {queue}");
        }
        assert_eq!(w.locks().await, Vec::<Value>::new(), "{ending:?}");
        w.check().await;
    }
}

#[tokio::test]
async fn bulk_lease_ends_strand_no_job() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    for call in ["complete", "abandon", "fail", "release", "expire", "purge"] {
        let locks = |n: usize| vec![format!("l{}", n % 10), format!("m{}", n % 7)];
        let jobs = (0..60).map(|n| json!({ "payload": [call, n], "locks": locks(n), "max_attempts": 1 }));
        let ids = w.enqueue_many(jobs).await;
        let mut seen = BTreeSet::new();
        loop {
            let held = w.reserve_all(json!({ "limit": 100, "worker": "ann" })).await;
            assert_locks_unique(&held);
            let fresh = held.iter().filter(|held| seen.insert(held.id.clone())).count();
            if held.is_empty() || fresh == 0 {
                break;
            }
            let these = held.iter().map(|held| json!({ "reservation": held.reservation })).collect();
            match call {
                "release" => assert_eq!(w.release_worker("ann").await, held.len() as u64),
                "purge" => drop(w.delete("/queues/default?state=reserved&force=true").await.is(200)),
                "expire" => {
                    w.advance_clock(300_000);
                    assert_eq!(w.sweep().await["expired"], held.len());
                }
                _ => drop(w.post(&format!("/jobs/{call}"), these).await.is(200)),
            }
            if matches!(call, "abandon" | "release") {
                // They would come first again.
                for held in &held {
                    w.cancel(&held.id).await.is(200);
                }
            }
        }
        assert_eq!(seen.len(), ids.len(), "{call}");
        w.check().await;
    }
}
