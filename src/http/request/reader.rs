//! What a read takes: a turn to read in.

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::request::Parts,
};

use crate::{
    access::Caller,
    http::response::problem::Problem,
    waiting::{ReadPermit, ReadRefused, Waiting},
};

/// Who reads.
pub struct Reader {
    pub who: Arc<str>,
    waiting: Waiting,
}

impl<S: Sync> FromRequestParts<S> for Reader
where
    Waiting: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let who = Caller::from_request_parts(parts, state).await?.credential_owned();
        Ok(Self { who, waiting: Waiting::from_ref(state) })
    }
}

impl Reader {
    /// A turn for a large read.
    ///
    /// # Errors
    /// The problem that there is none soon.
    pub async fn page(&self) -> Result<ReadPermit, Problem> {
        self.waiting.page_permit(&self.who).await.map_err(refused)
    }

    /// A turn for a small read.
    ///
    /// # Errors
    /// The problem that there is none soon.
    pub async fn look(&self) -> Result<ReadPermit, Problem> {
        self.waiting.read_permit(&self.who).await.map_err(refused)
    }
}

/// Why a read came to nothing.
pub fn refused(why: ReadRefused) -> Problem {
    match why {
        ReadRefused::Busy => Problem::too_many_reads(),
        ReadRefused::Fault(fault) => Problem::of_a_look(fault),
    }
}
