//! complete: a holder reports success, in time or late.

use intray::store::{Completion, Lost};

use super::{close::was_sent_before, prelude::*};
use crate::{
    fixtures::{RESULTS, json, known, secret_digest},
    reference::{LATE_RESULTS, Late, UNKNOWN},
};

#[derive(Debug, Clone)]
pub struct Complete(Vec<(Handle, &'static str)>);

impl Operation for Complete {
    const OFTEN: Often = Often { everything: 20, few_jobs: 8, desk: 12, routing: 8, many: 2 };
    const MUST_BE_MET: &'static [&'static str] = &["event completed late"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let result = (0..RESULTS.len()).prop_map(|n| RESULTS[n]);
        match theme {
            Theme::Everything | Theme::Lists | Theme::FewJobs | Theme::Routing | Theme::Many => {
                few(theme, (handle(theme), result)).prop_map(Self).boxed()
            }
            // A holder who has left may still complete.
            Theme::Desk => {
                let handle = prop_oneof![handle(theme), nth().prop_map(Handle::Any)];
                few(theme, (handle, prop_oneof![result, Just(RESULTS[0])])).prop_map(Self).boxed()
            }
        }
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let call = |&(handle, result): &(Handle, &str)| {
            store::Complete::new(walk.handle(handle), (!result.is_empty()).then(|| json(result)))
        };
        let calls = self.0.iter().map(call).collect();
        walk.together("complete", calls, Queues::complete, Queue::complete).await
    }
}

impl Queue {
    /// With a time in which it can be taken back, too.
    pub fn complete(&mut self, call: &store::Complete) -> Completion {
        let (id, secret) = (call.reservation.job.code, &call.reservation.secret);
        let result = call.result.as_ref().map_or("", |result| known(&RESULTS, result.as_str()));
        let Some(job) = self.jobs.get(&id) else { return Completion::Lost(UNKNOWN) };
        let is_past = job.is_over(self.now) || job.closing().is_some() && job.is_overdue(self.now);
        if job.is_held_by(secret) && is_past {
            self.expire(id);
        } else {
            self.touch(id, secret);
        }
        let job = &self.jobs[&id];
        if job.is_held_by(secret) {
            if let Some(answer) = self.close_job(id, call, result) {
                return answer;
            }
            let job = &self.jobs[&id];
            let (late, worker) = (job.is_overdue(self.now), job.worker());
            let since = job.hold.as_ref().map_or(0, |hold| hold.reserved_at);
            let how = how_late(late, job.grace().is_some());
            if late {
                self.count_end_of_time(id);
            }
            self.let_go(id, Some(if late { How::DONE_LATE } else { How::DONE }));
            self.finish(id, worker, since, result, how);
            return Completion::Done { late, duplicate: false };
        }
        let digest = secret_digest(secret);
        let Some(nth) = job.recall(&digest) else { return Completion::Lost(UNKNOWN) };
        let (how, worker, since) = (job.ring[nth].how, job.ring[nth].worker, job.ring[nth].reserved_at);
        if matches!(how, How::DONE | How::DONE_LATE) && job.result.unwrap_or_default() == result {
            return Completion::Done { late: how == How::DONE_LATE, duplicate: true };
        }
        let ran_out = matches!(how, How::EXPIRED | How::GRACE_OVER);
        if ran_out && was_sent_before(call, job.ring[nth].undone) {
            return Completion::Undone;
        }
        let is_unheld = matches!(job.state, State::Waiting | State::Blocked | State::Dead) && !self.is_kept(id);
        let is_unheld = is_unheld && !job.has_expired(self.now) && !self.is_kept_by_part(id, worker);
        if ran_out && nth == 0 && is_unheld {
            let now = self.now;
            let ended = &mut self.job(id).ring[0];
            (ended.how, ended.at) = (How::DONE_LATE, now);
            self.complete_part(id, worker);
            self.finish(id, worker, since, result, " late");
            return Completion::Done { late: true, duplicate: false };
        }
        let lost = Lost { ending: how.ending, state: Some(job.state) };
        self.keep_late(id, Late { digest, at: self.now, worker, result });
        Completion::Lost(lost)
    }

    fn finish(&mut self, id: Code, worker: &str, since: u64, result: &'static str, how: &str) {
        self.finish_at(id, worker, (since, self.now), result, how);
    }

    /// `held`: from when until when. `how`: that it is late, and how the reservation ended if no event said so.
    pub fn finish_at(&mut self, id: Code, worker: &str, held: (u64, u64), result: &'static str, how: &str) {
        let was_in_line = self.jobs[&id].is_for_all();
        let stamp = self.stamp();
        self.promise_one(id, worker);
        self.give_back(id);
        self.stop_alarm(id);
        let job = self.job(id);
        job.end(State::Completed, stamp);
        job.result = (!result.is_empty()).then_some(result);
        if job.batch.is_some() {
            self.count("batch_completed_kept");
        }
        if was_in_line {
            self.batons(id);
        }
        self.free_key(id);
        let note = format!("{} {}{how}", held.0, held.1 - held.0);
        self.tell("completed", id, worker, &note);
        self.count("completed");
    }

    /// Once for each reservation and result.
    fn keep_late(&mut self, id: Code, late: Late) {
        let kept = &mut self.job(id).late;
        let is_same = |other: &Late| other.digest == late.digest && other.result == late.result;
        if !kept.iter().rev().take(LATE_RESULTS).any(is_same) {
            kept.push(late);
        }
    }
}

/// What the event of a completion says of a reservation that it ends late.
fn how_late(late: bool, has_left: bool) -> &'static str {
    match (late, has_left) {
        (false, _) => "",
        (true, true) => " late abandoned",
        (true, false) => " late expired",
    }
}
