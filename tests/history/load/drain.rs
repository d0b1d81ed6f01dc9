//! After the load: closes open batches and completes the remaining jobs.

use super::{Caller, queues};
use crate::record::{Answer, Ask, Settle, Way};

/// Longer than any lease, delay or unfinished batch.
const STEP_MS: u64 = 100_000;
const ROUNDS: usize = 2_000;

pub async fn drain(caller: &mut Caller) {
    for queue in queues::ALL {
        caller.insist(Ask::Set { queue: queue.to_owned(), settings: r#"{"paused":null}"#.to_owned() }).await;
        seal_all(caller, queue).await;
    }
    for round in 0..ROUNDS {
        if round % 20 == 0 {
            caller.shared.services.pass(STEP_MS).await;
        }
        for queue in queues::ALL {
            work_off(caller, queue).await;
        }
        if is_done(caller).await {
            return;
        }
    }
    panic!("jobs are left that no worker can reserve");
}

async fn seal_all(caller: &mut Caller, queue: &str) {
    let mut after = String::new();
    loop {
        let page = caller.see(&format!("/batches?queue={queue}&limit=100{after}")).await;
        let open = page["batches"].as_array().into_iter().flatten().filter(|batch| batch["state"] == "open");
        for id in open.filter_map(|batch| batch["id"].as_str()) {
            caller.insist(Ask::Seal { batch: id.to_owned() }).await;
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return,
        }
    }
}

async fn work_off(caller: &mut Caller, queue: &str) {
    let reserve =
        |worker| Ask::Reserve { queues: vec![queue.to_owned()], worker, limit: 100, wait_ms: 0, id: None, key: None };
    let mut given = caller.insist(reserve(None)).await;
    if given.is_empty() {
        // Some jobs are only for workers with a name. Each name is a new one, because a worker may hold few.
        given = caller.insist(reserve(Some(format!("drain {}", caller.shared.number())))).await;
    }
    if given.is_empty() {
        caller.insist(Ask::Sweep { queue: queue.to_owned() }).await;
        return;
    }
    let items: Vec<_> = given
        .into_iter()
        .map(|job| Settle { reservation: job.reservation, value: Some(caller.shared.number()), ..Settle::default() })
        .collect();
    if !matches!(caller.call(Ask::Settle { way: Way::Complete, items: items.clone() }).await, Answer::Done(_)) {
        caller.insist(Ask::Settle { way: Way::Complete, items }).await;
    }
}

async fn is_done(caller: &mut Caller) -> bool {
    let page = caller.see("/queues").await;
    let mut queues = page["queues"].as_array().into_iter().flatten();
    queues.all(|queue| ["waiting", "blocked", "delayed", "reserved"].iter().all(|state| queue["counts"][state] == 0))
}
