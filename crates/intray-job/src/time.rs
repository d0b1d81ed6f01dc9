//! Instants and backoff.

/// Milliseconds since 1970 by Redis's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// Zero when the other is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// How long a job is delayed after a fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    None,
    Fixed { delay_ms: u32 },
    Exponential { delay_ms: u32, max_ms: u32 },
}
