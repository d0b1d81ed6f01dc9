//! The audit trail of operators' actions: a call hands its entry to the store, which lists it, and the entry travels with the
//! answer to the middleware that knows the request id, and is logged there.

use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    access::{Caller, Role},
    http::response::json::JsonResponse,
    job::{BatchId, JobId, Name, QueueName},
    store::{ActionNote, Actor},
};

/// What was changed, and under which key.
#[derive(Clone)]
pub struct AuditEntry {
    action: &'static str,
    /// `None`: several.
    queue: Option<QueueName>,
    job: Option<JobId>,
    batch: Option<BatchId>,
    worker: Option<Name>,
    count: u64,
    by: Option<Name>,
    is_listed: bool,
    parameters: Map<String, Value>,
}

impl AuditEntry {
    /// An action on a queue. The list of its actions has those of operators only.
    pub fn new(action: &'static str, queue: &QueueName, caller: &Caller) -> Self {
        let (queue, is_listed) = (Some(queue.clone()), caller.role == Role::Operator);
        Self { queue, is_listed, ..Self::everywhere(action, caller) }
    }

    /// An action in all queues of the caller, which no list has.
    fn everywhere(action: &'static str, caller: &Caller) -> Self {
        let by = caller.key_name().and_then(|name| Name::parse(name).ok());
        let (queue, job, batch, worker, parameters) = (None, None, None, None, Map::new());
        Self { action, queue, job, batch, worker, count: 0, by, is_listed: false, parameters }
    }

    /// An action on one job.
    pub fn on_job(action: &'static str, job: &JobId, caller: &Caller) -> Self {
        Self { job: Some(job.clone()), ..Self::new(action, &job.queue, caller) }
    }

    pub fn on_batch(action: &'static str, batch: &BatchId, caller: &Caller) -> Self {
        Self { batch: Some(batch.clone()), ..Self::new(action, &batch.queue, caller) }
    }

    pub fn on_worker(action: &'static str, queue: &QueueName, worker: &Name, caller: &Caller) -> Self {
        Self { worker: Some(worker.clone()), ..Self::new(action, queue, caller) }
    }

    /// An action on a worker in all queues of the caller.
    pub fn on_worker_everywhere(action: &'static str, worker: &Name, caller: &Caller) -> Self {
        Self { worker: Some(worker.clone()), ..Self::everywhere(action, caller) }
    }

    /// An action on one job, or on none.
    pub fn for_job(self, job: Option<&JobId>) -> Self {
        Self { queue: job.map(|job| job.queue.clone()), job: job.cloned(), ..self }
    }

    /// What the call says in addition to its queue and its job.
    pub fn with(self, parameters: Map<String, Value>) -> Self {
        Self { parameters, ..self }
    }

    /// Who makes the call, as the store has it.
    pub fn actor(&self) -> Actor {
        let note = || ActionNote {
            action: self.action.to_owned(),
            by: self.by.as_ref().map(|name| name.as_str().to_owned()),
            job: self.job.as_ref().map(|job| job.code.as_str().to_owned()),
            batch: self.batch.as_ref().map(|batch| batch.code.as_str().to_owned()),
            parameters: self.parameters.clone(),
        };
        Actor::new(self.by.clone(), self.is_listed.then(note).as_ref())
    }

    /// After the call, with how many jobs or deliveries it was for.
    pub fn counted(self, count: u64) -> Self {
        Self { count, ..self }
    }

    pub fn log(&self, request_id: &str) {
        let Self { action, count, .. } = self;
        let queue = self.queue.as_ref().map(tracing::field::display);
        let (job, batch) = (self.job.as_ref().map(ToString::to_string), self.batch.as_ref().map(ToString::to_string));
        let (worker, by) = (self.worker.as_ref().map(Name::as_str), self.by.as_ref().map(Name::as_str));
        tracing::info!(action, queue, job, batch, worker, count, by, request_id, "act");
    }
}

/// An answer with its audit entry.
pub struct Audited<T>(pub AuditEntry, pub T);

impl<T: Serialize> IntoResponse for Audited<T> {
    fn into_response(self) -> Response {
        let Self(act, answer) = self;
        let mut response = JsonResponse(answer).into_response();
        response.extensions_mut().insert(act);
        response
    }
}
