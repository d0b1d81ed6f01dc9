//! How often the memory of Redis is read: rarely while most of it is free.

use std::time::{Duration, Instant};

use crate::store::Queues;

const PACE: Duration = Duration::from_secs(1);
/// While less than half is in use.
const SLOW_PACE: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct MemoryProbe {
    refreshed_at: Option<Instant>,
}

impl MemoryProbe {
    /// Reads the memory if it is time. Reads it at once for calls that wait for memory, and while memory is short.
    pub(super) async fn refresh(&mut self, queues: &Queues, at_once: bool) {
        let used = queues.memory_in_use();
        let pace = match used {
            _ if at_once || queues.is_memory_short() => Duration::ZERO,
            used if used < 0.5 => SLOW_PACE,
            _ => PACE,
        };
        if self.refreshed_at.is_none_or(|at| at.elapsed() >= pace) {
            self.refreshed_at = Some(Instant::now());
            // The sweep reports a Redis that does not answer.
            let _ = queues.refresh_memory().await;
        }
    }
}
