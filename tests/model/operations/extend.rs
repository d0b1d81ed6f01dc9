//! extend: the holder keeps working.

use intray::store::Extension;

use super::prelude::*;
use crate::{
    fixtures::{draft, json},
    reference::NotHeld,
};

#[derive(Debug, Clone)]
pub struct Extend(Vec<(Handle, Option<u32>, Option<&'static str>)>);

impl Operation for Extend {
    const OFTEN: Often = Often { everything: 12, few_jobs: 16, desk: 28, routing: 6, many: 0 };

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        few(theme, (handle(theme), weighted(0.5, select(&[1_000, 60_000])), draft())).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let call = |&(handle, lease_ms, draft): &(Handle, _, Option<&str>)| store::Extend {
            reservation: walk.handle(handle),
            lease_ms,
            draft: draft.map(json),
        };
        let calls = self.0.iter().map(call).collect();
        walk.together("extend", calls, Queues::extend, Queue::extend).await
    }
}

impl Queue {
    fn extend(&mut self, call: &store::Extend) -> Extension {
        let id = call.reservation.job.code;
        match self.live_holder(&call.reservation) {
            Ok(_) => {}
            Err(NotHeld::Lost(lost)) => return Extension::Lost(lost),
            Err(NotHeld::Closing { final_in_ms }) => return Extension::Closing { final_in_ms },
        }
        let (now, max) = (self.now, u64::from(self.settings.max_hold_ms));
        let job = self.job(id);
        let hold = job.hold.as_mut().expect("it is live");
        let mut deadline = now + u64::from(call.lease_ms.unwrap_or(hold.lease_ms));
        if max > 0 {
            // What was granted before a limit was lowered stays granted.
            deadline = deadline.min(hold.uncut.max(hold.reserved_at + max));
        }
        // A worker who continues has not left.
        (hold.uncut, hold.grace) = (deadline, None);
        let (worker, deadline) = (hold.worker, job.cut());
        self.keep_draft(id, call.draft.as_ref());
        self.tell("extended", id, worker, "");
        Extension::Extended { deadline: Millis(deadline), now: Millis(now) }
    }
}
