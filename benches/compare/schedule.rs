//! Due times of an open loop: latency counts from the due time, so that a server that stalls is charged for all calls
//! due meanwhile.

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

    /// The number of calls due by then.
    pub fn due_by(&self, elapsed: Duration) -> u64 {
        let due = elapsed.as_nanos() / self.every.as_nanos().max(1) + 1;
        u64::try_from(due).unwrap_or(u64::MAX).min(self.calls)
    }
}
