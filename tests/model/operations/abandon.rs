//! abandon: a holder gives the job back, at once, after a delay, or unless they come back within a grace.

use intray::store::Return;

use super::prelude::*;
use crate::{
    fixtures::{draft, json},
    reference::{Grace, note_of},
};

const REASON: &str = "lunch";

#[derive(Debug, Clone)]
pub struct Abandon(Vec<(Handle, Leaving)>);

#[derive(Debug, Clone, Copy)]
struct Leaving {
    /// Nobody has it before.
    delay_ms: Option<u32>,
    /// 0: it is given back now.
    grace_ms: u32,
    skip: bool,
    /// The number of resumes above what there were, as the page knows.
    resumes: Option<i32>,
    draft: Option<&'static str>,
}

impl Operation for Abandon {
    const OFTEN: Often = Often { everything: 20, few_jobs: 36, desk: 48, routing: 20, many: 0 };
    const MUST_BE_MET: &'static [&'static str] =
        &["event abandoned grace", "abandon UnnamedSkip", "abandon BeyondExpiry", "abandon Stays"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let when = prop_oneof![
            8 => Just((None, 0)),
            2 => select(&[1, 5_000]).prop_map(|ms| (Some(ms), 0)),
            8 => select(&[0, 1, 100, 1_500, 50_000]).prop_map(|ms| (None, ms)),
        ];
        let resumes = weighted(0.3, prop_oneof![3 => Just(0), 2 => Just(-1), 1 => Just(1)]);
        let one = (handle(theme), when, proptest::bool::weighted(0.4), resumes, draft());
        let one = one.prop_map(|(handle, (delay_ms, grace_ms), skip, resumes, draft)| {
            (handle, Leaving { delay_ms, grace_ms, skip, resumes, draft })
        });
        few(theme, one).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let calls = self.0.iter().map(|(handle, leaving)| leaving.build(walk, *handle)).collect();
        walk.together("abandon", calls, Queues::abandon, Queue::abandon).await
    }
}

impl Abandon {
    /// The reservation that was given last.
    pub fn skip_last() -> Self {
        let leaving = Leaving { delay_ms: None, grace_ms: 0, skip: true, resumes: None, draft: None };
        Self(vec![(Handle::Any(Nth::LAST), leaving)])
    }
}

impl Leaving {
    fn build(self, walk: &Walk<'_>, handle: Handle) -> store::Abandon {
        let reservation = walk.handle(handle);
        let job = walk.model.jobs.get(&reservation.job.code);
        let known = job.and_then(|job| job.hold.as_ref()).map_or(0, |hold| hold.resumes);
        store::Abandon {
            reservation,
            reason: Some(REASON.to_owned()),
            delay_ms: self.delay_ms,
            skip: self.skip,
            grace_ms: Some(self.grace_ms),
            resumes: self.resumes.map(|more| known.saturating_add_signed(more)),
            draft: self.draft.map(json),
        }
    }
}

impl Queue {
    fn abandon(&mut self, call: &store::Abandon) -> Return {
        let id = call.reservation.job.code;
        let worker = match self.live_holder(&call.reservation) {
            Ok(worker) => worker,
            Err(lost) => return self.again_or_lost(&call.reservation, &[How::ABANDONED, How::GRACE_OVER], lost),
        };
        let (resumes, grace_before) = self.jobs[&id].hold.as_ref().map_or((0, None), |hold| (hold.resumes, hold.grace));
        if call.resumes.is_some_and(|known| known < resumes) {
            return Return::Stays;
        }
        if call.skip && worker.is_empty() {
            return Return::UnnamedSkip;
        }
        let due = call.delay_ms.filter(|ms| *ms > 0).map(|ms| self.now + u64::from(ms));
        if due.is_some_and(|due| self.jobs[&id].has_expired(due)) {
            return Return::BeyondExpiry;
        }
        self.keep_draft(id, call.draft.as_ref());
        // A worker who has not come back since has not changed their mind.
        let skips = call.skip || grace_before.is_some_and(|grace| grace.skips);
        if let Some(grace_ms @ 1..) = call.grace_ms {
            let until = self.now + u64::from(grace_ms);
            let job = self.job(id);
            let hold = job.hold.as_mut().expect("it is live");
            (hold.uncut, hold.grace) = (hold.uncut.min(until), Some(Grace { skips }));
            job.cut();
            return Return::Stays;
        }
        if skips {
            self.job(id).skip(worker);
        }
        self.let_go(id, Some(How::ABANDONED));
        self.job(id).ring[0].reason = REASON;
        self.job(id).counts.abandoned += 1;
        self.tell("abandoned", id, worker, &note_of(REASON, skips));
        self.count("abandoned");
        self.come_back_after(id, call.delay_ms.unwrap_or(0).into(), 0)
    }
}
