//! The outcome for a new batch, alone or in an array.

use crate::{
    http::response::problem::Problem,
    store::{Batch, BatchCreation},
};

/// # Errors
/// A problem, when the batch was refused.
pub fn created_batch(outcome: BatchCreation) -> Result<Batch, Problem> {
    match outcome {
        BatchCreation::Created(batch) => Ok(batch),
        BatchCreation::KeyReused => Err(Problem::key_reused()),
        BatchCreation::QueueFull => Err(Problem::queue_full()),
        BatchCreation::TooManyQueues => Err(Problem::too_many_queues()),
        BatchCreation::Untimely(errors) => Err(Problem::untimely_members(&errors)),
    }
}

/// The same for a batch with an overlap, which has one job for all.
///
/// # Errors
/// A problem, when the batch was refused.
pub fn created_overlap(outcome: BatchCreation) -> Result<Batch, Problem> {
    match outcome {
        BatchCreation::Untimely(errors) => Err(Problem::untimely_overlap(&errors)),
        outcome => created_batch(outcome),
    }
}
