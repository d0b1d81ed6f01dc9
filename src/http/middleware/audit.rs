//! What somebody does to the jobs of others: it goes with the answer to where the request's id is, and is a line in the log.

use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::{
    access::Caller,
    http::response::json::Json,
    job::{BatchId, JobId, Name, QueueName},
};

/// Whose key a caller has. Nobody has one where nobody needs one.
pub fn key_of(caller: &Caller) -> Option<Name> {
    Name::parse(caller.key_name()?).ok()
}

/// What was done to what, and by whose key.
#[derive(Clone)]
pub struct Act {
    action: &'static str,
    queue: QueueName,
    job: Option<JobId>,
    batch: Option<BatchId>,
    worker: Option<Name>,
    count: u64,
    by: Option<Name>,
}

impl Act {
    /// On one job of a queue, or on some that were not named.
    pub fn on(action: &'static str, queue: QueueName, job: Option<JobId>, count: u64, by: Option<Name>) -> Self {
        Self { action, queue, job, batch: None, worker: None, count, by }
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

    pub fn log(&self, request_id: &str) {
        let Self { action, queue, count, .. } = self;
        let (job, batch) = (self.job.as_ref().map(ToString::to_string), self.batch.as_ref().map(ToString::to_string));
        let (worker, by) = (self.worker.as_ref().map(Name::as_str), self.by.as_ref().map(Name::as_str));
        tracing::info!(action, %queue, job, batch, worker, count, by, request_id, "act");
    }
}

/// What is answered, and what was done.
pub struct Done<T>(pub Act, pub T);

impl<T: Serialize> IntoResponse for Done<T> {
    fn into_response(self) -> Response {
        let Self(act, answer) = self;
        let mut response = Json(answer).into_response();
        response.extensions_mut().insert(act);
        response
    }
}
