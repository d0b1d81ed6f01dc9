//! Who holds which jobs and which locks.

use intray::{
    job::JobId,
    store::{Held, HeldLock},
};

use super::{super::prelude::*, pages, sorted};
use crate::{
    fixtures::{LOCKS, locks, name},
    reference::Gate,
};

pub async fn holders(walk: &Walk<'_>, limit: u32) -> Verdict {
    let found = pages(async |after| {
        let page = walk.real.handle.workers(&walk.real.queue, after, limit).await?;
        Ok((page.held, page.next))
    });
    let mut reserved = walk.model.in_state(State::Reserved);
    reserved.retain(|id| walk.model.jobs[id].closing().is_none());
    same_holds("who holds what", &found.await?, &holds(walk, reserved))
}

pub async fn reservations(walk: &Walk<'_>, worker: &str) -> Verdict {
    let (queues, named) = ([walk.real.queue.clone()], name(worker).ok_or("a worker")?);
    let (held, now, _) = walk.real.handle.reservations(&queues, &named).await.map_err(broken)?;
    same("they are listed at", &now, &Millis(walk.model.now))?;
    same_holds("a worker's reservations", &held, &holds(walk, walk.model.held_by(worker)))
}

fn holds(walk: &Walk<'_>, codes: Vec<Code>) -> Vec<Held> {
    let held = |code| walk.model.held(&JobId { queue: walk.real.queue.clone(), code });
    codes.into_iter().map(held).collect()
}

/// Compares them in any order. No reservation reads with its secret.
fn same_holds(what: &str, found: &[Held], expected: &[Held]) -> Verdict {
    let as_text = |held: &Held| (format!("{held:?}"), held.reservation.secret);
    same(what, &sorted(found.iter().map(as_text)), &sorted(expected.iter().map(as_text)))
}

pub async fn locked(walk: &Walk<'_>, lock: Option<usize>, limit: u32) -> Verdict {
    let found = pages(async |after| {
        let name = lock.and_then(|n| locks(&[LOCKS[n]]).pop());
        let page = walk.real.handle.locks(&walk.real.queue, name, after, limit).await?;
        Ok((page.locks, page.next))
    });
    let jobs = &walk.model.jobs;
    let mut expected = Vec::new();
    for held in holds(walk, walk.model.in_state(State::Reserved)) {
        let own = jobs[&held.id.code].options.locks.iter();
        for own in own.filter(|own| lock.is_none_or(|n| LOCKS[n] == **own)) {
            let blocked = jobs.values().filter(|job| job.parked_at == Some(Gate::Lock(own))).count() as u64;
            let lock = locks(&[*own]).pop().ok_or("a lock")?;
            expected.push(HeldLock { lock, held: held.clone(), blocked });
        }
    }
    same_debug("who holds which lock", &found.await?, &expected)
}
