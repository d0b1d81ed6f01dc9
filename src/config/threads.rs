//! The number of serving threads.

use std::thread::available_parallelism;

use super::Serve;

impl Serve {
    /// As set, or one for each processor that this process may use. Where Redis runs on this machine, one processor is left to it:
    /// another thread would compete with Redis for it, and each context switch costs both.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| {
            let processors = available_parallelism().map_or(1, usize::from);
            (processors - usize::from(self.store.redis_url().is_on_this_machine())).max(1)
        })
    }
}
