//! Names in paths. An invalid name, an unknown one and one that the caller may not see get the same answer.

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
        response::{field_error::FieldError, problem::Problem},
    },
    job::{BatchId, JobId, Name, QueueName},
};

/// A path parameter that the caller may see.
pub struct InPath<T>(pub T);

/// A queue that the call may create.
pub struct NewQueue(pub QueueName);

pub trait ParsedPath: Sized {
    /// # Errors
    /// A problem, when it does not exist for this caller.
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem>;
}

impl<S: Send + Sync, T: ParsedPath> FromRequestParts<S> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, &()).await?;
        // Routes have at most one parameter.
        match parts.extract::<Path<String>>().await {
            Ok(Path(text)) => T::read(&text, &caller).map(Self),
            Err(PathRejection::FailedToDeserializePathParams(wrong)) => Err(match wrong.into_kind() {
                ErrorKind::InvalidUtf8InPathParam { key } => {
                    Problem::invalid(vec![FieldError::parameter(&key, NOT_UTF8)])
                }
                _ => Problem::internal(),
            }),
            Err(_) => Err(Problem::internal()),
        }
    }
}

impl ParsedPath for JobId {
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem> {
        let id = Self::parse(text).map_err(|_| Problem::unknown_job())?;
        auth::job(caller, &id).map(|()| id)
    }
}

impl ParsedPath for BatchId {
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem> {
        let id = Self::parse(text).map_err(|_| Problem::unknown_batch())?;
        auth::batch(caller, &id).map(|()| id)
    }
}

impl ParsedPath for QueueName {
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem> {
        let queue = Self::parse(text).map_err(|_| Problem::unknown_queue())?;
        auth::queue(caller, &queue).map(|()| queue)
    }
}

impl ParsedPath for NewQueue {
    fn read(text: &str, caller: &Caller) -> Result<Self, Problem> {
        let invalid = |_| Problem::invalid(vec![FieldError::parameter("queue", QueueName::RULE)]);
        let queue = QueueName::parse(text).map_err(invalid)?;
        auth::queue(caller, &queue).map(|()| Self(queue))
    }
}

impl ParsedPath for Name {
    fn read(text: &str, _: &Caller) -> Result<Self, Problem> {
        Self::of_worker(text).map_err(|_| Problem::invalid(vec![FieldError::parameter("worker", Self::WORKERS_RULE)]))
    }
}
