//! How many threads serve.

use std::thread::available_parallelism;

use super::Serve;

impl Serve {
    /// As many as were asked for, or one for each processor that this process may use. Where Redis is on this machine, one
    /// of them is Redis's: a thread more would take turns with it, and each turn costs both.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| {
            let processors = available_parallelism().map_or(1, usize::from);
            (processors - usize::from(self.store.redis_url().is_on_this_machine())).max(1)
        })
    }
}
