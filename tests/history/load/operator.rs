//! Operators: they read everything, and do what only their role may do.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{Caller, queues::*};
use crate::record::Ask;

/// Queues without cancel, purge, requeue and priority changes, which would change turns.
fn is_line(queue: &str) -> bool {
    LINES.contains(&queue)
}

pub async fn operate(mut caller: Caller, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let queue = *caller.chance.one(&ALL);
        let id = caller.shared.recall(queue, &mut caller.chance);
        let ask = match (caller.chance.up_to(9), id) {
            (0..=5, Some(id)) => of_one(&mut caller, queue, id),
            (6 | 7, _) => of_all(&mut caller, queue),
            _ => look(&mut caller, queue),
        };
        if let Some(ask) = ask {
            let is_pause = matches!(&ask, Ask::Set { .. });
            caller.call(ask).await;
            if is_pause {
                caller.chance.rest(300).await;
                caller.insist(Ask::Set { queue: queue.to_owned(), settings: r#"{"paused":null}"#.to_owned() }).await;
            }
        }
        caller.chance.rest(60).await;
    }
}

fn of_one(caller: &mut Caller, queue: &str, id: String) -> Option<Ask> {
    let is_batch = id.ends_with("0000");
    let chance = &mut caller.chance;
    if is_batch {
        return Some(match chance.up_to(9) {
            0 => Ask::CancelBatch { batch: id },
            1..=4 => Ask::Look { path: format!("/batches/{id}?wait_ms={}", chance.up_to(200)) },
            _ => Ask::Look { path: format!("/batches/{id}/results?limit=20") },
        });
    }
    let ask = match chance.up_to(9) {
        0 | 1 if !is_line(queue) => Ask::Cancel { id, force: chance.percent(50) },
        2 if !is_line(queue) => Ask::Reprioritize { id, priority: *chance.one(&[0, 20, 50, 80]) },
        3 | 4 if !is_line(queue) => Ask::Requeue { id },
        5 => Ask::Release { id },
        _ => Ask::Look { path: format!("/jobs/{id}?wait_ms={}", chance.up_to(200)) },
    };
    Some(ask)
}

fn of_all(caller: &mut Caller, queue: &str) -> Option<Ask> {
    let queue = queue.to_owned();
    let chance = &mut caller.chance;
    match chance.up_to(9) {
        0 if queue == SCRAP => {
            let state = *chance.one(&["all", "waiting", "blocked", "delayed", "completed", "dead", "cancelled"]);
            Some(Ask::Purge { queue, state: state.to_owned(), force: state == "all" && chance.percent(50) })
        }
        1 => Some(Ask::ReleaseFrom { queue, worker: format!("worker {}", chance.up_to(100)) }),
        2 if !is_line(&queue) => Some(Ask::RequeueAll { queue }),
        3 => Some(Ask::Set { queue, settings: r#"{"paused":true}"#.to_owned() }),
        4..=7 => Some(Ask::Sweep { queue }),
        _ => None,
    }
}

fn look(caller: &mut Caller, queue: &str) -> Option<Ask> {
    let chance = &mut caller.chance;
    let state = *chance.one(&["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"]);
    let paths = [
        format!("/queues/{queue}/jobs?state={state}&limit=20"),
        format!("/queues/{queue}"),
        "/queues".to_owned(),
        format!("/queues/{queue}/workers"),
        format!("/queues/{queue}/locks"),
        format!("/workers/worker%20{}/reservations?queue={queue}", chance.up_to(100)),
        format!("/batches?queue={queue}&limit=20"),
    ];
    Some(Ask::Look { path: chance.one(&paths).clone() })
}
