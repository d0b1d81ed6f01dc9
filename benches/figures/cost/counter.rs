//! What a program takes for the calls made: background work is subtracted, because there is more of it on a slower
//! machine.

use std::time::{Duration, Instant};

use super::callgrind::{Callgrind, Profile};

const IDLE: Duration = Duration::from_secs(5);

/// A process under callgrind, and its background work.
pub struct Counter {
    callgrind: Callgrind,
    process: u32,
    /// The length of the measurement.
    idle: Profile,
}

/// The profile covers all work in the meantime.
pub struct Counted {
    pub instructions: f64,
    pub allocations: f64,
    pub profile: Profile,
}

impl Counter {
    /// For a warm process without work.
    pub async fn of(callgrind: Callgrind, process: u32) -> Self {
        callgrind.begin(process);
        tokio::time::sleep(IDLE).await;
        let idle = callgrind.end(process);
        Self { callgrind, process, idle }
    }

    pub async fn count<T>(&self, work: impl AsyncFnOnce() -> T) -> (Counted, T) {
        let start = Instant::now();
        self.callgrind.begin(self.process);
        let done = work().await;
        let profile = self.callgrind.end(self.process);
        let unasked = start.elapsed().div_duration_f64(IDLE);
        let asked = |all: u64, idle: u64| all as f64 - idle as f64 * unasked;
        let counted = Counted {
            instructions: asked(profile.instructions, self.idle.instructions),
            allocations: asked(profile.allocations, self.idle.allocations),
            profile,
        };
        (counted, done)
    }
}
