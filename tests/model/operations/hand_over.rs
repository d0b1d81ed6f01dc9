//! hand-over: a holder gives the job to another worker, or to those with a skill, for a while.

use intray::{
    job::{EligibilityRule, Line},
    store::{HandOverOutcome, Return},
};

use super::prelude::*;
use crate::{
    fixtures::{WORKERS, draft, json, known, secret_digest},
    reference::{HandedTo, NotHeld},
    work::{fallback, line},
};

const NOTE: &str = "she knows the client";
/// If the call says nothing.
const LASTS_MS: u32 = 900_000;

#[derive(Debug, Clone)]
pub struct HandOver(Vec<Item>);

#[derive(Debug, Clone)]
struct Item {
    handle: Handle,
    to: Line,
    has_note: bool,
    draft: Option<&'static str>,
    fallback_ms: Option<u32>,
}

impl Operation for HandOver {
    const OFTEN: Often = Often { everything: 0, few_jobs: 0, desk: 0, routing: 30, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &[
        "hand-over SameWorker",
        "hand-over NotEligible(Excluded",
        "hand-over NotEligible(Overlap",
        "hand-over Lost(Lost { ending: Expired, state: Some(Waiting",
        "hand-over HandedOver { state: Waiting, duplicate: false",
        "a draft that was handed over",
    ];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let one = (handle(theme), line(), any::<bool>(), draft(), weighted(0.7, fallback()));
        let one = one.prop_map(|(handle, to, has_note, draft, fallback_ms)| Item {
            handle,
            to,
            has_note,
            draft,
            fallback_ms,
        });
        few(theme, one).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let call = |item: &Item| store::HandOver {
            reservation: walk.handle(item.handle),
            to: item.to.clone(),
            note: item.has_note.then(|| NOTE.to_owned()),
            draft: item.draft.map(json),
            fallback_ms: item.fallback_ms,
        };
        let calls = self.0.iter().map(call).collect();
        walk.together("hand-over", calls, Queues::hand_over, Queue::hand_over).await
    }
}

impl Queue {
    /// The job has its place again, and the skip of the worker it is for now is taken back.
    fn hand_over(&mut self, call: &store::HandOver) -> HandOverOutcome {
        let id = call.reservation.job.code;
        let worker = match self.live_holder(&call.reservation) {
            Ok(worker) => worker,
            Err(lost) => return self.again_or_refused(call, lost),
        };
        if let Line::Worker(to) = &call.to {
            if to.as_str() == worker {
                return HandOverOutcome::SameWorker;
            }
            if self.jobs[&id].routing.excluded.contains(&to.as_str()) {
                return HandOverOutcome::NotEligible(EligibilityRule::Excluded);
            }
        }
        // It would not be known who has answered.
        if self.jobs[&id].routing.overlap > 0 {
            return HandOverOutcome::NotEligible(EligibilityRule::Overlap);
        }
        self.keep_draft(id, call.draft.as_ref());
        let owner = self.jobs[&id].hold.as_ref().expect("it is live").owner();
        self.let_go(id, Some(How::HANDED_OVER));
        if worker.is_empty() {
            self.give_draft(id, &owner);
        }
        let now = self.now;
        let job = self.job(id);
        job.ring[0].to = Some(call.to.clone());
        let until = now + u64::from(call.fallback_ms.unwrap_or(LASTS_MS));
        job.routing.handed =
            Some(HandedTo { line: call.to.clone(), until, from: worker, at: now, note: call.note.clone() });
        job.is_routed = true;
        if let Line::Worker(to) = &call.to {
            let to = known(&WORKERS, to.as_str());
            job.skips.retain(|other| *other != to);
        }
        self.tell("handed-over", id, worker, &call.to.to_string());
        self.count("handed_over");
        self.come_back(id);
        HandOverOutcome::HandedOver { state: self.jobs[&id].state, duplicate: false }
    }

    fn again_or_refused(&self, call: &store::HandOver, not: NotHeld) -> HandOverOutcome {
        let reservation = &call.reservation;
        if let Some(job) = self.jobs.get(&reservation.job.code)
            && let Some(nth) = job.recall(&secret_digest(&reservation.secret))
            && job.ring[nth].how == How::HANDED_OVER
            && job.ring[nth].to.as_ref() != Some(&call.to)
        {
            let to = job.ring[nth].to.clone().expect("a hand-over has a receiver");
            return HandOverOutcome::Elsewhere { to, state: job.state };
        }
        match self.again_or_lost(&call.reservation, &[How::HANDED_OVER], not) {
            Return::Returned { state, duplicate } => HandOverOutcome::HandedOver { state, duplicate },
            Return::Closing { final_in_ms } => HandOverOutcome::Closing { final_in_ms },
            Return::Lost(lost) => HandOverOutcome::Lost(lost),
            Return::Stays | Return::UnnamedSkip | Return::BeyondExpiry => unreachable!("neither lost nor ended"),
        }
    }
}
