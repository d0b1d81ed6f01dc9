//! What a program takes for what it was asked: what it does unasked is no part of a cycle, and would be more of it on a slower
//! machine.

use std::time::{Duration, Instant};

use super::callgrind::{Callgrind, Profile};

const IDLE: Duration = Duration::from_secs(5);

/// A process under callgrind, and what it does while nobody asks for anything.
pub struct Counter {
    callgrind: Callgrind,
    process: u32,
    /// Of so long.
    idle: Profile,
}

/// The profile is of all that was done meanwhile.
pub struct Counted {
    pub instructions: f64,
    pub allocations: f64,
    pub profile: Profile,
}

impl Counter {
    /// Of a process that is heated up, and has nothing to do now.
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
