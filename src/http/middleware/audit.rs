//! The audit log: an entry travels with the answer to the middleware that knows the request id, and is logged there.

use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::{
    access::Caller,
    http::response::json::JsonResponse,
    job::{BatchId, JobId, Name, QueueName},
};

/// The name of the caller's key, if the caller has one.
pub fn key_of(caller: &Caller) -> Option<Name> {
    Name::parse(caller.key_name()?).ok()
}

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
}

impl AuditEntry {
    /// An action on one job of a queue, or on jobs that were not named.
    pub fn on(action: &'static str, queue: QueueName, job: Option<JobId>, count: u64, by: Option<Name>) -> Self {
        Self { action, queue: Some(queue), job, batch: None, worker: None, count, by }
    }

    pub fn on_queue(action: &'static str, queue: QueueName, count: u64, by: Option<Name>) -> Self {
        Self::on(action, queue, None, count, by)
    }

    pub fn on_job(action: &'static str, job: JobId, count: u64, by: Option<Name>) -> Self {
        Self::on(action, job.queue.clone(), Some(job), count, by)
    }

    pub fn on_batch(action: &'static str, batch: BatchId, by: Option<Name>) -> Self {
        let queue = batch.queue.clone();
        Self { batch: Some(batch), ..Self::on_queue(action, queue, 1, by) }
    }

    pub fn on_worker(action: &'static str, queue: QueueName, worker: Name, count: u64, by: Option<Name>) -> Self {
        Self { worker: Some(worker), ..Self::on_queue(action, queue, count, by) }
    }

    /// An action on a worker in all queues of the caller.
    pub fn on_worker_everywhere(action: &'static str, worker: Name, count: u64, by: Option<Name>) -> Self {
        Self { action, queue: None, job: None, batch: None, worker: Some(worker), count, by }
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
