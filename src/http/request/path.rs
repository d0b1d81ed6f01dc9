//! What paths name. A name that nothing can have is as unknown as one that nothing has, or that is not the caller's business.

use axum::{
    RequestPartsExt,
    extract::{FromRequestParts, Path, path::ErrorKind, rejection::PathRejection},
    http::request::Parts,
};

use crate::{
    access::Caller,
    http::{
        middleware::auth,
        request::query::NOT_UTF8,
        response::{field_error::Place, problem::Problem},
    },
    job::{BatchId, JobId, Name, QueueName},
};

/// What stands in a path, if it is the caller's business.
pub struct InPath<T>(pub T);

/// A queue that may come into being by this call.
pub struct NewQueue(pub QueueName);

pub trait Named: Sized {
    /// # Errors
    /// A problem, when there is no such thing for this caller.
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem>;
}

impl<S: Send + Sync, T: Named> FromRequestParts<S> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, &()).await?;
        // A route has one parameter at most.
        match parts.extract::<Path<String>>().await {
            Ok(Path(text)) => T::read(&text, &caller).map(Self),
            Err(PathRejection::FailedToDeserializePathParams(wrong)) => Err(match wrong.into_kind() {
                ErrorKind::InvalidUtf8InPathParam { key } => Problem::invalid(vec![Place::parameter(&key, NOT_UTF8)]),
                _ => Problem::internal(),
            }),
            Err(_) => Err(Problem::internal()),
        }
    }
}

impl Named for JobId {
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem> {
        let id = Self::parse(text).map_err(|_| Problem::unknown_job())?;
        auth::job(caller, &id).map(|()| id)
    }
}

impl Named for BatchId {
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem> {
        let id = Self::parse(text).map_err(|_| Problem::unknown_batch())?;
        auth::batch(caller, &id).map(|()| id)
    }
}

impl Named for QueueName {
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem> {
        let queue = Self::parse(text).map_err(|_| Problem::unknown_queue())?;
        auth::queue(caller, &queue).map(|()| queue)
    }
}

impl Named for NewQueue {
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem> {
        let invalid = |_| Problem::invalid(vec![Place::parameter("queue", QueueName::RULE)]);
        let queue = QueueName::parse(text).map_err(invalid)?;
        auth::queue(caller, &queue).map(|()| Self(queue))
    }
}

impl Named for Name {
    fn read(text: &str, _: &Caller) -> Result<Self, Problem> {
        Self::of_worker(text).map_err(|_| Problem::invalid(vec![Place::parameter("worker", Self::WORKERS_RULE)]))
    }
}
