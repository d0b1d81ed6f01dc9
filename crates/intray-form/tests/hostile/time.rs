//! The time that a thread was on a CPU, on a machine that does other things too.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 9;

/// The least of several times: what else the machine does only adds to one.
pub fn least(mut run: impl FnMut()) -> Duration {
    let times = (0..ROUNDS).map(|_| {
        let start = cpu_time();
        run();
        cpu_time().saturating_sub(start)
    });
    times.min().unwrap_or_default()
}

pub fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
