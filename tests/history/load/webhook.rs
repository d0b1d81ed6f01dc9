//! A webhook of all completions, whose receiver refuses some attempts and leaves some without an answer; and one of all events of a
//! queue.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{Caller, queues};
use crate::{
    record::Entry,
    world::receiver::{Reaction, Receiver},
};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// One attempt of so many is refused, and one of so many has no answer.
const REFUSED: u64 = 11;
const UNANSWERED: u64 = 401;
/// Longer than the pause after the first failures, and than a delivery is held by an instance that was killed.
const STEP_MS: u64 = 400_000;
const ROUNDS: usize = 900;

pub struct Receivers {
    completions: Receiver,
    all: Receiver,
}

/// Writes the webhooks file of the instances.
pub async fn start(file: &Path) -> Receivers {
    let (completions, all, attempts) = (Receiver::start().await, Receiver::start().await, AtomicU64::new(0));
    completions.react(move |_| match attempts.fetch_add(1, Ordering::Relaxed) {
        nth if nth % UNANSWERED == UNANSWERED - 1 => Reaction::Silence,
        nth if nth % REFUSED == REFUSED - 1 => Reaction::Status(503),
        _ => Reaction::Status(204),
    });
    let (url, desk) = (completions.url(), queues::DESK);
    let lines = format!("history {url} * completed {SECRET}\n{desk} {} {desk} all {SECRET}\n", all.url());
    std::fs::write(file, lines).expect("a webhooks file");
    Receivers { completions, all }
}

/// Waits until as many jobs arrived as were completed, and records which arrived or are listed.
pub async fn hear_the_end(caller: &mut Caller, receivers: &Receivers) {
    let receiver = &receivers.completions;
    receiver.react(|_| Reaction::Status(204));
    for round in 0..ROUNDS {
        if arrived(receiver).len() as u64 >= completed(caller).await {
            break;
        }
        if round % 30 == 0 {
            caller.shared.services.pass(STEP_MS).await;
            for queue in queues::ALL {
                caller.redeliver("history", queue).await;
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let mut jobs = arrived(receiver);
    for queue in queues::ALL {
        for state in ["waiting", "failed"] {
            let page = caller.see(&format!("/webhooks/history/deliveries?queue={queue}&state={state}&limit=100")).await;
            let listed = page["deliveries"].as_array().into_iter().flatten();
            jobs.extend(listed.filter_map(|delivery| delivery["job"].as_str().map(str::to_owned)));
        }
    }
    caller.shared.record.add(Entry::Delivered(jobs.into_iter().collect()));
    let kinds: BTreeSet<_> = receivers.all.posted().iter().map(|posted| posted.kind().to_owned()).collect();
    caller.shared.record.add(Entry::Posted(kinds.into_iter().collect()));
}

fn arrived(receiver: &Receiver) -> BTreeSet<String> {
    receiver.posted().iter().map(|posted| posted.job().to_owned()).collect()
}

async fn completed(caller: &mut Caller) -> u64 {
    let page = caller.see("/queues").await;
    let queues = page["queues"].as_array().into_iter().flatten();
    queues.filter_map(|queue| queue["totals"]["completed"].as_u64()).sum()
}
