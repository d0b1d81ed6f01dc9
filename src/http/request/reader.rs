//! Read permits: reads are limited by caller and in total.

use axum::{
    extract::{FromRef, FromRequestParts},
    http::request::Parts,
};

use crate::{
    access::Pass,
    http::response::problem::Problem,
    waiting::{ReadPermit, ReadRefused, ReaderId, Waiting},
};

/// A call that reads from the store.
pub struct ReadCall {
    pub who: ReaderId,
    waiting: Waiting,
}

impl<S: Sync> FromRequestParts<S> for ReadCall
where
    Waiting: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let who = who(&Pass::from_request_parts(parts, state).await?);
        Ok(Self { who, waiting: Waiting::from_ref(state) })
    }
}

impl ReadCall {
    /// A permit for a large read.
    ///
    /// # Errors
    /// A problem, when no permit is free in time.
    pub async fn page_permit(&self) -> Result<ReadPermit, Problem> {
        self.waiting.page_permit(&self.who).await.map_err(read_problem)
    }

    /// A permit for a small read.
    ///
    /// # Errors
    /// The problem that there is none soon.
    pub async fn read_permit(&self) -> Result<ReadPermit, Problem> {
        self.waiting.read_permit(&self.who).await.map_err(read_problem)
    }
}

/// Whose limits the reads of a call count against.
pub fn who(pass: &Pass) -> ReaderId {
    ReaderId::new(pass.payer(), pass.caller.credential_owned())
}

/// The problem for a read that failed.
pub fn read_problem(why: ReadRefused) -> Problem {
    match why {
        ReadRefused::Busy => Problem::too_many_reads(),
        ReadRefused::Fault(fault) => Problem::from_read(fault),
    }
}
