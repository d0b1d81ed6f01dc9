//! close: a holder reports success, and may take that back for a time; or says which of their completions it is.

use intray::store::Completion;

use super::prelude::*;
use crate::{
    fixtures::{RESULTS, json},
    reference::{Closing, Hold},
};

#[derive(Debug, Clone)]
pub struct Close(Vec<(Handle, Closed)>);

#[derive(Debug, Clone, Copy)]
struct Closed {
    result: &'static str,
    undo_ms: u32,
    /// The number of resumes above what there were, as the page knows.
    resumes: Option<i32>,
}

impl Operation for Close {
    const OFTEN: Often = Often { everything: 12, few_jobs: 12, desk: 24, routing: 6, many: 2 };
    const MUST_BE_MET: &'static [&'static str] =
        &["event closing", "close Closing", "close HasOtherResult", "close Undone"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let resumes = prop_oneof![3 => Just(0), 2 => Just(-1), 1 => Just(1)];
        let how = prop_oneof![
            6 => (select(&[1, 100, 1_500, 60_000]), weighted(0.7, resumes.clone())),
            1 => resumes.prop_map(|resumes| (0, Some(resumes))),
        ];
        let one = (handle(theme), select(&RESULTS), how);
        let one = one.prop_map(|(handle, result, (undo_ms, resumes))| (handle, Closed { result, undo_ms, resumes }));
        few(theme, one).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let calls = self.0.iter().map(|(handle, closed)| closed.build(walk, *handle)).collect();
        walk.together("close", calls, Queues::complete, Queue::complete).await
    }
}

impl Closed {
    fn build(self, walk: &Walk<'_>, handle: Handle) -> store::Complete {
        let reservation = walk.handle(handle);
        let job = walk.model.jobs.get(&reservation.job.code);
        let known = job.and_then(|job| job.hold.as_ref()).map_or(0, |hold| hold.resumes);
        store::Complete {
            reservation,
            result: (!self.result.is_empty()).then(|| json(self.result)),
            undo_ms: self.undo_ms,
            resumes: self.resumes.map(|more| known.saturating_add_signed(more)),
        }
    }
}

/// It knows of fewer resumes than there were when a completion was taken back.
pub fn was_sent_before(call: &store::Complete, undone: Option<u32>) -> bool {
    call.resumes.zip(undone).is_some_and(|(known, undone)| known < undone)
}

impl Queue {
    /// What a completion comes to that is not final at once; `None` for others.
    pub fn close_job(&mut self, id: Code, call: &store::Complete, result: &'static str) -> Option<Completion> {
        let (now, job) = (self.now, &self.jobs[&id]);
        let hold = job.hold.clone().expect("it is held");
        if was_sent_before(call, hold.known_since_undone()) {
            return Some(Completion::Undone);
        }
        if let Some(closing) = hold.closing {
            let final_in_ms = self.time_left(id);
            return Some(match closing.result == result {
                true => Completion::Closing { final_in_ms, duplicate: true },
                false => Completion::HasOtherResult { final_in_ms },
            });
        }
        if call.undo_ms == 0 || job.is_overdue(now) {
            return None;
        }
        let (uncut, worker) = (now + u64::from(call.undo_ms), hold.worker);
        let closing = Some(Closing { result, at: now, uncut: hold.uncut });
        let job = self.job(id);
        // A worker who has completed the job has not left.
        job.hold = Some(Hold { uncut, closing, replayed: false, grace: None, ..hold });
        job.cut();
        let final_in_ms = self.time_left(id);
        self.tell("closing", id, worker, &final_in_ms.to_string());
        Some(Completion::Closing { final_in_ms, duplicate: false })
    }

    /// It is completed for good.
    pub fn complete_closing(&mut self, id: Code) {
        let hold = self.jobs[&id].hold.clone().expect("it is held");
        let closing = hold.closing.expect("it was completed");
        self.let_go(id, Some(How::DONE));
        self.job(id).ring[0].at = closing.at;
        self.finish_at(id, hold.worker, (hold.reserved_at, closing.at), closing.result, "");
    }
}
