//! Producers: single jobs, lists, duplicates, and batches at once or in parts.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{Caller, queues::*};
use crate::record::{Answer, Ask, Job, Twin};

/// How often a call with a lost answer is repeated.
const AGAIN: usize = 4;

pub async fn produce(mut caller: Caller, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        if caller.shared.is_behind() {
            caller.chance.rest(200).await;
            continue;
        }
        match caller.chance.up_to(9) {
            0 => make_batch(&mut caller).await,
            1 => go_on_with_batch(&mut caller).await,
            _ => enqueue(&mut caller).await,
        }
        caller.chance.rest(30).await;
    }
}

async fn enqueue(caller: &mut Caller) {
    let queue = *caller.chance.one(&ALL);
    let many = if caller.chance.percent(30) { caller.chance.count(2, 20) } else { 1 };
    let jobs: Vec<Job> = (0..many).map(|_| job(caller, queue)).collect();
    let is_kept = queue != SCRAP;
    let number = caller.shared.number();
    let key = caller.chance.maybe(40, |_| number).filter(|_| is_kept);
    let ask = Ask::Enqueue { jobs, key };
    for _ in 0..AGAIN {
        let answer = caller.call(ask.clone()).await;
        if let Answer::Done(item) = &answer {
            for one in item.iter().filter(|one| one.error.is_none()) {
                caller.shared.remember(&one.id);
            }
        }
        // Without a key a repeat may make a second job. Some repeat answered calls too.
        let is_open = !matches!(answer, Answer::Done(_)) || caller.chance.percent(5);
        if key.is_none() || !is_open {
            return;
        }
        caller.chance.rest(300).await;
    }
}

fn job(caller: &mut Caller, queue: &str) -> Job {
    let (n, chance) = (caller.shared.number(), &mut caller.chance);
    let client = chance.maybe(70, |chance| format!("client {}", chance.up_to(5)));
    let plain = Job {
        queue: queue.to_owned(),
        n,
        client,
        priority: None,
        twin: Twin::None,
        delay_ms: None,
        locks: Vec::new(),
        max_attempts: None,
        expires_ms: None,
        sla_ms: None,
        assignees: Vec::new(),
        excluded: Vec::new(),
        skill: None,
        fallback_ms: None,
        overlap: None,
    };
    if LINES.contains(&queue) {
        return plain;
    }
    let twin = match chance.up_to(9) {
        0..=4 => Twin::None,
        5 | 6 => Twin::Payload,
        _ => Twin::Key(chance.up_to(40)),
    };
    Job {
        twin,
        priority: chance.maybe(20, |chance| *chance.one(&[0, 10, 50, 99])),
        delay_ms: chance.maybe(10, |chance| chance.up_to(5_000)),
        max_attempts: chance.maybe(10, |chance| u32::try_from(chance.within(1, 4)).unwrap_or(1)),
        locks: locks(chance, queue),
        // Later than the longest delay.
        expires_ms: chance.maybe(8, |chance| chance.within(6_000, 30_000)),
        sla_ms: chance.maybe(8, |chance| chance.within(1_000, 30_000)),
        ..routed(chance, plain)
    }
}

/// One in six is for some workers, for a while, and some are never for others.
fn routed(chance: &mut super::Chance, plain: Job) -> Job {
    let names = |chance: &mut super::Chance, many: usize| {
        let mut names: Vec<_> = (0..many).map(|_| format!("worker {}", chance.up_to(19))).collect();
        names.sort();
        names.dedup();
        names
    };
    let excluded = if chance.percent(4) { names(chance, 3) } else { Vec::new() };
    if !chance.percent(16) {
        return Job { excluded, ..plain };
    }
    let fallback_ms = Some(chance.within(1_000, 4_000));
    if chance.percent(50) {
        let skill = Some(format!("skill {}", chance.up_to(3)));
        return Job { excluded, skill, fallback_ms, ..plain };
    }
    let many = chance.count(1, 3);
    let mut assignees = names(chance, many);
    assignees.retain(|name| !excluded.contains(name));
    if assignees.is_empty() {
        return Job { excluded, ..plain };
    }
    Job { excluded, assignees, fallback_ms, ..plain }
}

fn locks(chance: &mut super::Chance, queue: &str) -> Vec<String> {
    let many = match queue {
        GATES => chance.count(0, 3),
        DESK | BATCHES | SCRAP => usize::from(chance.percent(15)),
        _ => 0,
    };
    let mut locks: Vec<_> = (0..many).map(|_| format!("lock {}", chance.up_to(12))).collect();
    locks.sort();
    locks.dedup();
    locks
}

/// A job of a batch takes its queue and client, and is never deduplicated.
fn member(caller: &mut Caller, queue: &str) -> Job {
    Job { client: None, twin: Twin::None, ..job(caller, queue) }
}

/// The same question for two to four workers.
fn question(caller: &mut Caller, queue: &str) -> Job {
    let overlap = Some(caller.chance.within(2, 4));
    let whole = member(caller, queue);
    // Its priority is that of the batch, and nothing else would hold some of the jobs up.
    Job { priority: None, locks: Vec::new(), assignees: Vec::new(), fallback_ms: None, skill: None, overlap, ..whole }
}

async fn make_batch(caller: &mut Caller) {
    let queue = *caller.chance.one(&[BATCHES, BATCHES, BATCHES, SCRAP]);
    if caller.chance.percent(40) {
        let jobs = vec![question(caller, queue)];
        return create(caller, queue, None, true, jobs).await;
    }
    let max = if caller.chance.percent(3) { 450 } else { 12 };
    let many = caller.chance.count(0, max);
    let jobs: Vec<Job> = (0..many).map(|_| member(caller, queue)).collect();
    let concurrency = caller.chance.maybe(60, |chance| chance.count(1, 4));
    let sealed = caller.chance.percent(60);
    create(caller, queue, concurrency, sealed, jobs).await;
}

async fn create(caller: &mut Caller, queue: &str, concurrency: Option<usize>, sealed: bool, jobs: Vec<Job>) {
    let many = jobs.len();
    let number = caller.shared.number();
    let key = caller.chance.maybe(60, |_| number).filter(|_| queue != SCRAP);
    let ask = Ask::CreateBatch { queue: queue.to_owned(), concurrency, sealed, jobs, key };
    for _ in 0..AGAIN {
        if let Answer::Done(item) = caller.call(ask.clone()).await {
            let Some(batch) = item.first() else { return };
            caller.shared.remember(&batch.id);
            if !sealed {
                caller.shared.opened(&batch.id, many);
            }
            return;
        }
        if key.is_none() {
            return;
        }
        caller.chance.rest(300).await;
    }
}

/// Appends to a batch, seals it or cancels it.
async fn go_on_with_batch(caller: &mut Caller) {
    let Some((batch, has)) = caller.shared.take_open(&mut caller.chance) else { return };
    let queue = crate::record::queue_of(&batch).to_owned();
    let many = caller.chance.count(1, 20);
    let ask = match caller.chance.up_to(9) {
        0 => Ask::CancelBatch { batch: batch.clone() },
        1 | 2 => Ask::Seal { batch: batch.clone() },
        _ => {
            let jobs = (0..many).map(|_| member(caller, &queue)).collect();
            Ask::Append { batch: batch.clone(), jobs, offset: Some(has) }
        }
    };
    for _ in 0..AGAIN {
        match caller.call(ask.clone()).await {
            Answer::Done(_) if matches!(ask, Ask::Append { .. }) => {
                return caller.shared.opened(&batch, has + many);
            }
            Answer::Done(_) => return,
            Answer::Refused(refusal) if refusal.status == 409 || refusal.status == 404 => return,
            Answer::Refused(_) | Answer::Unknown => caller.chance.rest(300).await,
        }
    }
}
