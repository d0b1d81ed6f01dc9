//! Problems of calls that name a reservation.

use std::time::Duration;

use intray_form::FormFault;

use super::{Problem, ProblemType};
use crate::{
    http::response::field_error::FieldError,
    job::{EligibilityRule, Ending, Line, QueueName, State},
    store::Lost,
};

impl Problem {
    /// The worker has completed the job, and can take only that back.
    pub fn closing(final_in_ms: u64) -> Self {
        let detail = "the job is completed; until that is final it can be taken back, and nothing else";
        Self { final_in_ms: Some(final_in_ms), ..Self::new(ProblemType::Closing, detail).with_valid_reservation() }
    }

    /// The worker has taken back the completion that this one repeats.
    pub fn undone() -> Self {
        let detail = "the completion was taken back, and the job is held again";
        Self::new(ProblemType::Undone, detail).with_valid_reservation()
    }

    /// The result of a job that the caller holds does not fit the form of the queue.
    pub fn invalid_result(faults: Vec<FormFault>) -> Self {
        let errors = faults.into_iter().map(|fault| FieldError::pointer(fault.pointer, fault.detail)).collect();
        let detail = "the result does not fit the form of the queue";
        Self { errors, ..Self::new(ProblemType::InvalidResult, detail).with_valid_reservation() }
    }

    /// The worker is not forgotten yet.
    pub fn worker_may_undo(queue: &QueueName, left: Duration) -> Self {
        let ms = left.as_millis();
        let detail = format!("the worker can still take back a completion in the queue {queue}: try again in {ms} ms");
        Self { job_state: Some(State::Reserved), ..Self::new(ProblemType::WrongState, detail) }
    }

    /// The reservation has handed the job to another.
    pub fn handed_elsewhere(to: &Line, state: State) -> Self {
        let detail = match to {
            Line::Worker(worker) => format!("the job was handed over to the worker {}", worker.as_str()),
            Line::Skill(skill) => format!("the job was handed over to those with the skill {}", skill.as_str()),
        };
        let (reason, job_state) = (Some(Ending::HandedOver), Some(state));
        Self { reason, job_state, ..Self::new(ProblemType::ReservationLost, detail) }
    }

    /// The worker that a job is handed over to may not take it.
    pub fn ineligible_receiver(rule: EligibilityRule) -> Self {
        let detail = match rule {
            EligibilityRule::Assignees => "the job is for other workers than this one",
            EligibilityRule::Skill => "the job needs a skill that this worker does not have",
            EligibilityRule::Excluded => "this worker is excluded from the job",
            EligibilityRule::Overlap => "each job of this batch is for another worker, so none is handed over",
        };
        Self { rule: Some(rule), ..Self::new(ProblemType::IneligibleReceiver, detail) }
    }

    /// A change of who may have a job of a batch with an overlap.
    pub fn too_few_workers() -> Self {
        let detail = "the jobs that remain of this batch could not all be completed by different workers";
        Self { rule: Some(EligibilityRule::Overlap), ..Self::new(ProblemType::IneligibleReceiver, detail) }
    }
}

impl From<Lost> for Problem {
    fn from(lost: Lost) -> Self {
        let detail = lost.ending.detail();
        Self { reason: Some(lost.ending), job_state: lost.state, ..Self::new(ProblemType::ReservationLost, detail) }
    }
}
