//! What the model says that lookers see: a job, who holds it, a batch, the queue.

use std::collections::BTreeMap;

use intray::{
    job::{BatchId, CancelReason, JobId, Millis, Reservation, State},
    store::{
        self, AbandonReason, Cancelled, Completed, Death, Eligibility, Handout, HandoverNote, Held, JobError,
        LateResult, QueueInfo, Reason, ReservationCounts, StateCounts, Totals,
    },
};

use super::{HandedTo, How, Job, LATE_RESULTS, Passed, Queue, job::Ended};
use crate::{
    fixtures::{STAMPS, count, json, locks, name, priority, trace},
    world::records::SPAN,
};

impl Queue {
    /// A job in its holder's hands.
    pub fn handout(&self, id: &JobId) -> Handout {
        let (job, held) = (&self.jobs[&id.code], self.held(id));
        Handout {
            reservation: held.reservation,
            payload: json(job.options.payload),
            attempt: job.attempts + 1,
            deadline: held.deadline,
            warn_ms: self.settings.warn_ms,
            reserved_at: held.reserved_at,
            priority: priority(job.priority),
            client: name(job.client),
            locks: locks(&job.options.locks),
            batch: job.batch.map(|code| BatchId { queue: id.queue.clone(), code }),
            worker: held.worker,
            enqueued_at: Millis(job.stamp / STAMPS),
            resumes: held.resumes,
            draft: self.draft_of_holder(job).map(json),
            traceparent: trace(job.options.traced),
            note: job.routing.handed.as_ref().and_then(note_of),
        }
    }

    pub fn held(&self, id: &JobId) -> Held {
        let hold = self.jobs[&id.code].hold.as_ref().expect("a reserved job has a lease");
        let secret = hold.secret.expect("the reply contained it");
        Held {
            id: id.clone(),
            reservation: Reservation { job: id.clone(), secret },
            worker: name(hold.worker),
            reserved_at: Millis(hold.reserved_at),
            deadline: Millis(hold.deadline),
            resumes: hold.resumes,
            final_at: hold.closing.map(|_| Millis(hold.deadline)),
        }
    }

    pub fn job_shown(&self, id: &JobId) -> Option<store::Job> {
        let job = self.jobs.get(&id.code)?;
        let is = |states: &[State], at| states.contains(&job.state).then_some(Millis(at));
        let done = job.ring.first().filter(|_| job.state == State::Completed);
        let late = job.late.iter().skip(job.late.len().saturating_sub(LATE_RESULTS));
        let given_back = job.ring.iter().filter(|ended| ended.how == How::ABANDONED && !ended.reason.is_empty());
        Some(store::Job {
            id: id.clone(),
            state: job.state,
            payload: Some(json(job.options.payload)),
            priority: priority(job.priority),
            client: name(job.client),
            traceparent: trace(job.options.traced),
            lease_ms: job.options.lease_ms,
            max_attempts: job.options.max_attempts,
            backoff: job.options.backoff,
            locks: locks(&job.options.locks),
            batch: job.batch.map(|code| BatchId { queue: id.queue.clone(), code }),
            attempts: job.attempts,
            counts: job.counts,
            reserved: job.hold.as_ref().map(|_| self.held(id)),
            completed: done.map(completion),
            died: job.ring.first().filter(|_| job.state == State::Dead).map(death),
            errors: job
                .errors
                .iter()
                .map(|note| JobError { at: Millis(note.at), worker: name(note.worker), error: note.text.clone() })
                .collect(),
            reasons: given_back.map(reason).collect(),
            result: job.result.map(json),
            late_results: late
                .map(|late| LateResult {
                    at: Millis(late.at),
                    worker: name(late.worker),
                    result: (!late.result.is_empty()).then(|| json(late.result)),
                })
                .collect(),
            enqueued_at: Millis(job.stamp / STAMPS),
            due_at: is(&[State::Delayed], job.at),
            ended_at: is(&[State::Completed, State::Cancelled, State::Dead], job.at / STAMPS),
            expires_at: job.expires.map(Millis),
            sla_at: job.sla.map(Millis),
            breached: job.breached,
            eligibility: eligibility(job),
            cancelled: (job.state == State::Cancelled).then(|| Cancelled { reason: cancel_reason(job) }),
        })
    }

    /// As it is shown.
    pub fn batch_shown(&self, id: &BatchId) -> Option<store::Batch> {
        let batch = self.batches.get(&id.code)?;
        Some(store::Batch {
            id: id.clone(),
            state: batch.state,
            concurrency: batch.concurrency,
            priority: priority(batch.priority),
            client: name(batch.client),
            counts: self.counts_of(batch),
            total: batch.members.len() as u64,
            created_at: Millis(batch.created_at),
            sealed_at: batch.sealed_at.map(Millis),
            ended_at: batch.ended_at.map(Millis),
        })
    }

    pub fn counts(&self) -> StateCounts {
        count(self.jobs.values().map(|job| job.state))
    }

    /// Field by field, as an operator sees it.
    pub fn info(&self, queue: &QueueInfo) -> QueueInfo {
        let total = |name: &str| self.totals.get(name).copied().unwrap_or(0).cast_unsigned();
        let reserved = self.in_state(State::Reserved);
        let overdue = reserved.iter().filter(|id| self.jobs[id].is_overdue(self.now)).count() as u64;
        let soonest = reserved.first().map(|id| Millis(self.jobs[id].score()));
        let mut firsts = BTreeMap::new();
        for id in self.in_state(State::Waiting) {
            let job = &self.jobs[&id];
            firsts.entry((job.is_restricted(), job.score() / SPAN)).or_insert(job.stamp / STAMPS);
        }
        QueueInfo {
            name: queue.name.clone(),
            counts: self.counts(),
            oldest_waiting_ms: firsts.values().min().map(|at| self.now.saturating_sub(*at)),
            reservations: ReservationCounts {
                live: reserved.len() as u64 - overdue,
                overdue,
                soonest_expires_in_ms: soonest.map(|at| at.since(Millis(self.now))),
            },
            settings: self.settings.clone(),
            totals: Totals::of(|one| total(one.word())),
        }
    }

    /// The reason for an empty answer, by what the caller was passed over for, and whether there was work for others.
    pub fn reason(&self, passed: &Passed, is_kept: bool) -> Reason {
        if self.settings.paused {
            Reason::Paused
        } else if passed.skipped {
            Reason::Skipped
        } else if is_kept {
            Reason::Ineligible
        } else if passed.held_up || self.number(&[State::Blocked]) > 0 {
            Reason::Blocked
        } else if self.number(&[State::Delayed]) > 0 {
            Reason::Delayed
        } else if self.number(&[State::Reserved]) > 0 {
            Reason::Reserved
        } else {
            Reason::Empty
        }
    }
}

/// Who may have it, as far as that counts.
fn eligibility(job: &Job) -> Eligibility {
    let mut route = job.route();
    if route.fell_back {
        (route.skill, route.fallback_at) = (None, None);
        route.assignees.clear();
    }
    Eligibility {
        assignees: (!route.assignees.is_empty()).then_some(route.assignees),
        excluded: (!route.excluded.is_empty()).then_some(route.excluded),
        skill: route.skill,
        fallback_ms: route.fallback_ms,
        fallback_at: route.fallback_at,
        handed_to: route.handed,
    }
}

fn note_of(handed: &HandedTo) -> Option<HandoverNote> {
    let text = handed.note.clone()?;
    Some(HandoverNote { text, from: name(handed.from), at: Millis(handed.at) })
}

fn cancel_reason(job: &Job) -> CancelReason {
    if job.is_cut_off { CancelReason::Expired } else { CancelReason::Withdrawn }
}

fn reason(ended: &Ended) -> AbandonReason {
    AbandonReason { at: Millis(ended.at), worker: name(ended.worker), reason: ended.reason.to_owned() }
}

fn death(ended: &Ended) -> Death {
    Death { worker: name(ended.worker), reserved_at: Millis(ended.reserved_at), at: Millis(ended.at) }
}

fn completion(ended: &Ended) -> Completed {
    Completed {
        worker: name(ended.worker),
        reserved_at: Millis(ended.reserved_at),
        at: Millis(ended.at),
        held_ms: ended.at.saturating_sub(ended.reserved_at),
        late: ended.how == How::DONE_LATE,
    }
}
