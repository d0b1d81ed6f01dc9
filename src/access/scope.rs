//! What a token is for.

use super::Pattern;
use crate::job::JobId;

/// What a token is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenScope {
    Queues(Vec<Pattern>),
    /// This job and no other.
    Job(JobId),
}
