//! fail: a holder reports that it could not be done.

use intray::{job::Backoff, store::Return};

use super::prelude::*;
use crate::reference::{Job, Note};

const FAILED: How = How { number: 3, ending: Ending::Failed };
const ERROR: &str = "boom";
/// Max errors that are kept.
const ERRORS: usize = 5;

#[derive(Debug, Clone)]
pub struct Fail(Vec<Handle>);

impl Operation for Fail {
    const OFTEN: Often = Often { everything: 16, few_jobs: 20, desk: 44, routing: 12, many: 2 };

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        few(theme, handle(theme)).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let call = |&handle| store::Fail { reservation: walk.handle(handle), error: Some(ERROR.to_owned()) };
        let calls = self.0.iter().map(call).collect();
        walk.together("fail", calls, Queues::fail, Queue::fail).await
    }
}

impl Queue {
    fn fail(&mut self, call: &store::Fail) -> Return {
        let id = call.reservation.job.code;
        let worker = match self.live_holder(&call.reservation) {
            Ok(worker) => worker,
            Err(lost) => return self.again_or_lost(&call.reservation, &[FAILED], lost),
        };
        self.let_go(id, Some(FAILED));
        let note = Note { at: self.now, worker, text: ERROR.to_owned() };
        let job = self.job(id);
        job.counts.failed += 1;
        job.attempts += 1;
        job.errors.insert(0, note);
        job.errors.truncate(ERRORS);
        self.tell("failed", id, worker, ERROR);
        self.count("failed");
        if self.is_out_of_attempts(id) {
            self.die(id, worker);
            return Return::Returned { state: State::Dead, duplicate: false };
        }
        let delay = self.backoff(&self.jobs[&id]);
        self.come_back_after(id, delay, delay / 5)
    }

    /// Jitter, which only adds, comes on top.
    fn backoff(&self, job: &Job) -> u64 {
        match job.options.backoff.unwrap_or(self.settings.backoff) {
            Backoff::None => 0,
            Backoff::Fixed { delay_ms } => delay_ms.into(),
            Backoff::Exponential { delay_ms, max_ms } => {
                (u64::from(delay_ms) << (job.attempts - 1).min(30)).min(max_ms.into())
            }
        }
    }
}
