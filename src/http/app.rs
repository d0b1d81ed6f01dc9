//! What handlers take, each the parts that it uses.

use axum::extract::FromRef;
use tokio_util::sync::CancellationToken;

use super::pages::{Figures, Readiness};
use crate::{access::Access, queue::Queues, waiting::Waiting};

#[derive(Clone, FromRef)]
pub struct App {
    pub queues: Queues,
    pub waiting: Waiting,
    pub access: Access,
    pub max_payload: PayloadLimit,
    pub demo: Demo,
    pub readiness: Readiness,
    pub figures: Figures,
    /// Cancelled when this instance is to end.
    pub leaving: CancellationToken,
}

/// Bytes in a payload, a result or a draft.
#[derive(Debug, Clone, Copy)]
pub struct PayloadLimit(pub usize);

/// Whether the desk to try is there.
#[derive(Debug, Clone, Copy)]
pub struct Demo(pub bool);
