//! When each call of an open loop is due, whatever has become of those before it: its latency counts from then, so that a
//! server that stands still is charged for all who would have come meanwhile.

use std::time::Duration;

pub struct Schedule {
    every: Duration,
    calls: u64,
}

impl Schedule {
    pub fn new(calls_per_s: f64, length: Duration) -> Self {
        Self { every: Duration::from_secs_f64(1.0 / calls_per_s), calls: (calls_per_s * length.as_secs_f64()) as u64 }
    }

    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// When a call is due, from the beginning.
    pub fn due(&self, call: u64) -> Duration {
        Duration::from_nanos((self.every.as_nanos() * u128::from(call)) as u64)
    }

    /// How many are due by then.
    pub fn due_by(&self, elapsed: Duration) -> u64 {
        let due = elapsed.as_nanos() / self.every.as_nanos().max(1) + 1;
        u64::try_from(due).unwrap_or(u64::MAX).min(self.calls)
    }
}
