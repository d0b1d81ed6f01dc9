//! reopen: the worker takes a completion back in time.

use intray::store::Reopened;

use super::prelude::*;
use crate::{fixtures::json, reference::Hold};

#[derive(Debug, Clone)]
pub struct Reopen(Vec<Handle>);

impl Operation for Reopen {
    const OFTEN: Often = Often { everything: 8, few_jobs: 8, desk: 16, routing: 4, many: 1 };
    const MUST_BE_MET: &'static [&'static str] =
        &["event undone", "reopen Held { deadline", "reopen Lost(Lost { ending: Completed, state: Some(Completed"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        few(theme, handle(theme)).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let calls = self.0.iter().map(|&handle| store::Reopen { reservation: walk.handle(handle) }).collect();
        walk.together(
            "reopen",
            calls,
            async |queues, call| queues.reopen(call).await.map(ByDebug),
            |model, call| ByDebug(model.reopen(call)),
        )
        .await
    }
}

impl Queue {
    fn reopen(&mut self, call: &store::Reopen) -> Reopened {
        let id = call.reservation.job.code;
        if let Err(lost) = self.current(&call.reservation) {
            return Reopened::Lost(lost);
        }
        let given = self.take_back(id);
        let duplicate = given.is_none();
        let job = &self.jobs[&id];
        let hold = job.hold.as_ref().expect("it is live");
        let (deadline, now, resumes) = (Millis(hold.deadline), Millis(self.now), hold.resumes);
        let draft = match given {
            Some("") | None => self.draft_of_holder(job),
            given => given,
        };
        let draft = draft.map(json);
        Reopened::Held { deadline, now, resumes, draft, duplicate }
    }

    /// What had been handed in, "" for no result; `None`: there was nothing to take back.
    fn take_back(&mut self, id: Code) -> Option<&'static str> {
        let (now, job) = (self.now, &self.jobs[&id]);
        let hold = job.hold.clone().expect("it is live");
        let closing = hold.closing?;
        let granted = self.capped(now + u64::from(hold.lease_ms), hold.reserved_at);
        let uncut = granted.max(now + closing.uncut - closing.at);
        let (worker, resumes) = (hold.worker, hold.resumes + 1);
        let job = self.job(id);
        job.hold = Some(Hold { uncut, resumes, closing: None, undone: Some(resumes), ..hold });
        job.cut();
        if !closing.result.is_empty() {
            self.type_draft(id, closing.result);
        }
        self.tell("undone", id, worker, "");
        Some(closing.result)
    }
}
