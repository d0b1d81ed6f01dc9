//! reassign: an operator gives what waits for a worker to others, or to everybody.

use intray::{job::Name, store::Reassigned};

use super::prelude::*;
use crate::{
    fixtures::{WORKERS, known, name},
    work::assignees,
};

#[derive(Debug, Clone)]
pub struct Reassign {
    from: usize,
    /// `None`: the worker is only taken out.
    to: Option<Vec<Name>>,
}

impl Operation for Reassign {
    const OFTEN: Often = Often { everything: 0, few_jobs: 0, desk: 0, routing: 8, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &[
        "reassign Reassigned { changed: 2, refused: 0, next: None",
        "reassign Reassigned { changed: 0, refused: 1, next: None",
    ];

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        (0..WORKERS.len(), weighted(0.8, assignees())).prop_map(|(from, to)| Self { from, to }).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let (from, queue) = (name(WORKERS[self.from]).ok_or("a worker")?, walk.real.queue.clone());
        // Nothing is given to the one it is taken from.
        let to = self.to.clone().map(|to| to.into_iter().filter(|to| *to != from).collect::<Vec<_>>());
        let to = to.filter(|to| !to.is_empty());
        let names: Option<Vec<_>> = to.as_ref().map(|to| to.iter().map(|to| known(&WORKERS, to.as_str())).collect());
        let answer = whole(walk, store::Reassign { queue, from, to, after: None }).await;
        walk.answered("reassign", answer, |model| model.reassign(WORKERS[self.from], names.as_deref()))
    }
}

/// All steps of it: how many there are depends on how much a script may do.
async fn whole(walk: &Walk<'_>, mut call: store::Reassign) -> Result<Reassigned, store::Fault> {
    let (mut changed, mut refused) = (0, 0);
    loop {
        let step = walk.real.handle.reassign(call.clone(), &store::Actor::default()).await?;
        (changed, refused) = (changed + step.changed, refused + step.refused);
        match step.next {
            None => return Ok(Reassigned { changed, refused, next: None }),
            after => call.after = after,
        }
    }
}

impl Queue {
    fn reassign(&mut self, from: &'static str, to: Option<&[&'static str]>) -> Reassigned {
        let (mut changed, mut refused) = (0, 0);
        self.catch_up();
        let mut ids = self.in_state(State::Waiting);
        ids.retain(|id| self.jobs[id].routing.lines().contains(&format!("@{from}")));
        for id in ids {
            let mut routing = self.jobs[&id].routing.clone();
            let is_kept = routing.excludes_all(to.unwrap_or_default());
            routing.replace_assignee(from, to.unwrap_or_default());
            let is_needed = !self.leaves_workers(id, &routing, self.jobs[&id].expires, to.unwrap_or_default());
            if is_kept || is_needed || !self.leaves_assignees(id, &routing) {
                refused += 1;
                continue;
            }
            let before = self.jobs[&id].routing.lines();
            self.job(id).routing = routing;
            self.offer_again(id, to.unwrap_or_default());
            self.change_lines(id, &before);
            self.tell("changed", id, "", "");
            changed += 1;
        }
        Reassigned { changed, refused, next: None }
    }
}
