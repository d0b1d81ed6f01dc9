//! The record of a batch, read as the scripts pack it.

use intray::{job::BatchState, store::StateCounts};

use super::{record::Bytes, route::PartRow};

/// What the model knows of a batch too; the model draws the same of what it thinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRow {
    pub state: BatchState,
    pub called_off: bool,
    pub priority: u8,
    pub client: String,
    pub created_at: u64,
    pub sealed_at: u64,
    pub ended_at: u64,
    pub total: u32,
    /// 0: no limit.
    pub concurrency: u32,
    pub counts: StateCounts,
    pub fingerprint: [u8; 8],
    /// When the sweep looks at it; the end of all days if it does not.
    pub timer: Option<u64>,
    /// Who has had a job of it, if it has an overlap.
    pub parts: Vec<PartRow>,
}

impl BatchRow {
    pub fn read(raw: &[u8], timer: Option<u64>, parts: Vec<PartRow>) -> Result<Self, String> {
        const CALLED_OFF: u64 = 2;
        let mut bytes = Bytes(raw);
        bytes.uint(1)?;
        let state = match bytes.uint(1)? {
            3 => BatchState::Open,
            4 => BatchState::Sealed,
            5 => BatchState::Completed,
            6 => BatchState::Failed,
            7 => BatchState::Cancelled,
            stage => return Err(format!("a batch is left in stage {stage}")),
        };
        let called_off = bytes.uint(1)? & CALLED_OFF != 0;
        let priority = bytes.uint(1)? as u8;
        let (created_at, sealed_at, ended_at) = (bytes.uint(6)?, bytes.uint(6)?, bytes.uint(6)?);
        bytes.uint(4)?; // how many its creation brought
        let total = bytes.int()?;
        bytes.uint(4)?; // how far a long work has come
        let concurrency = bytes.int()?;
        let counts = StateCounts {
            waiting: bytes.uint(4)?,
            blocked: bytes.uint(4)?,
            delayed: bytes.uint(4)?,
            reserved: bytes.uint(4)?,
            completed: bytes.uint(4)?,
            dead: bytes.uint(4)?,
            cancelled: bytes.uint(4)?,
        };
        let fingerprint = std::array::from_fn(|_| bytes.uint(1).unwrap_or_default() as u8);
        let client = bytes.text(1)?;
        Ok(Self {
            state,
            called_off,
            priority,
            client,
            created_at,
            sealed_at,
            ended_at,
            total,
            concurrency,
            counts,
            fingerprint,
            timer,
            parts,
        })
    }
}
