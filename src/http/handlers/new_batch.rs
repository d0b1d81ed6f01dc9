//! The outcome for a new batch, alone or in an array.

use crate::{
    http::response::problem::Problem,
    store::{Batch, BatchCreation},
};

/// A batch, and whether an earlier call has created it. `None`: its queue is not there, and the call makes none.
///
/// # Errors
/// A problem, when the batch was refused.
pub fn created_batch(outcome: Option<BatchCreation>) -> Result<(Batch, bool), Problem> {
    match outcome.ok_or_else(Problem::unknown_queue)? {
        BatchCreation::Created { batch, is_known } => Ok((batch, is_known)),
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
pub fn created_overlap(outcome: Option<BatchCreation>) -> Result<(Batch, bool), Problem> {
    match outcome {
        Some(BatchCreation::Untimely(errors)) => Err(Problem::untimely_overlap(&errors)),
        outcome => created_batch(outcome),
    }
}
