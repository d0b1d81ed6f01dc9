//! The record of a batch, as `lua/base/batch.lua` writes it.

use intray_redis::Fault;
use serde::Serialize;

use crate::job::{BatchId, BatchState, Millis, Name, Priority};
use crate::{layout::record::Bytes, redis::read::broken};

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

/// Flag: seal the batch when it is opened.
const TO_SEAL: u64 = 1;

impl Batch {
    pub(crate) fn parse(id: BatchId, raw: &[u8]) -> Result<Self, Fault> {
        let mut bytes = Bytes(raw);
        let _version = bytes.uint(1)?;
        let (stage, marks) = (bytes.uint(1)?, bytes.uint(1)?);
        let state = match stage {
            // A batch that is being opened counts as open.
            1 | 2 if marks & TO_SEAL != 0 => BatchState::Sealed,
            1..=3 => BatchState::Open,
            4 => BatchState::Sealed,
            5 => BatchState::Completed,
            6 => BatchState::Failed,
            7 => BatchState::Cancelled,
            _ => return Err(broken("the stage of a batch")),
        };
        let priority = Priority::new(bytes.uint(1)?).map_err(|_| broken("a priority"))?;
        let created_at = Millis(bytes.uint(6)?);
        let mut time = || Ok(Some(Millis(bytes.uint(6)?)).filter(|at| at.0 > 0));
        let (sealed_at, ended_at) = (time()?, time()?);
        let _expected = bytes.uint(4)?;
        let total = bytes.uint(4)?;
        let _cursor = bytes.uint(4)?;
        let concurrency = Some(bytes.uint(4)? as u32).filter(|&limit| limit > 0);
        let counts = StateCounts {
            waiting: bytes.uint(4)?,
            blocked: bytes.uint(4)?,
            delayed: bytes.uint(4)?,
            reserved: bytes.uint(4)?,
            completed: bytes.uint(4)?,
            dead: bytes.uint(4)?,
            cancelled: bytes.uint(4)?,
        };
        let _fingerprint = bytes.uint(8)?;
        let client = bytes.name()?;
        Ok(Self { id, state, concurrency, priority, client, counts, total, created_at, sealed_at, ended_at })
    }
}
