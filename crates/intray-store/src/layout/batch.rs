//! The record of a batch, as `lua/base/batch.lua` writes it.

use intray_redis::Fault;
use serde::Serialize;

use crate::job::{BatchId, BatchState, Millis, Name, Priority};
use crate::{
    layout::record::Bytes,
    record_fields::{
        FINGERPRINT, PRIORITY, TIME,
        batch_fields::{COUNT, MARKS, STAGE, TO_SEAL, VERSION, stages},
    },
    redis::read::broken,
};

/// The number of jobs in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StateCounts {
    pub waiting: u64,
    pub blocked: u64,
    pub delayed: u64,
    pub reserved: u64,
    pub completed: u64,
    pub dead: u64,
    pub cancelled: u64,
}

/// A batch.
#[derive(Debug, Clone)]
pub struct Batch {
    pub id: BatchId,
    pub state: BatchState,
    /// How many of its jobs may be reserved at once; `None`: no limit.
    pub concurrency: Option<u32>,
    /// The priority of jobs without one of their own.
    pub priority: Priority,
    pub client: Option<Name>,
    /// They sum to `total`.
    pub counts: StateCounts,
    pub total: u64,
    pub created_at: Millis,
    pub sealed_at: Option<Millis>,
    pub ended_at: Option<Millis>,
}

impl Batch {
    pub(crate) fn parse(id: BatchId, raw: &[u8]) -> Result<Self, Fault> {
        let mut bytes = Bytes(raw);
        let _version = bytes.uint(VERSION.width)?;
        let (stage, marks) = (bytes.uint(STAGE.width)?, bytes.uint(MARKS.width)?);
        let state = match stage {
            // A batch that is being opened counts as open.
            stages::MAKING | stages::OPENING if marks & TO_SEAL != 0 => BatchState::Sealed,
            stages::MAKING..=stages::OPEN => BatchState::Open,
            stages::SEALED => BatchState::Sealed,
            stages::ALL_DONE => BatchState::Completed,
            stages::SOME_DEAD => BatchState::Failed,
            stages::WITHDRAWN => BatchState::Cancelled,
            _ => return Err(broken("the stage of a batch")),
        };
        let priority = Priority::new(bytes.uint(PRIORITY.width)?).map_err(|_| broken("a priority"))?;
        let created_at = Millis(bytes.uint(TIME.width)?);
        let mut time = || Ok(Some(Millis(bytes.uint(TIME.width)?)).filter(|at| at.0 > 0));
        let (sealed_at, ended_at) = (time()?, time()?);
        let _expected = bytes.uint(COUNT.width)?;
        let total = bytes.uint(COUNT.width)?;
        let _cursor = bytes.uint(COUNT.width)?;
        let concurrency = Some(bytes.uint(COUNT.width)? as u32).filter(|&limit| limit > 0);
        let counts = StateCounts {
            waiting: bytes.uint(COUNT.width)?,
            blocked: bytes.uint(COUNT.width)?,
            delayed: bytes.uint(COUNT.width)?,
            reserved: bytes.uint(COUNT.width)?,
            completed: bytes.uint(COUNT.width)?,
            dead: bytes.uint(COUNT.width)?,
            cancelled: bytes.uint(COUNT.width)?,
        };
        let _fingerprint = bytes.uint(FINGERPRINT.width)?;
        let client = bytes.name()?;
        Ok(Self { id, state, concurrency, priority, client, counts, total, created_at, sealed_at, ended_at })
    }
}
