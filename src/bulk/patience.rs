//! A service that is away for a while, or that has too much to do.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Nothing has worked for so long: it is given up.
const LONGEST: Duration = Duration::from_secs(60);
const FIRST: Duration = Duration::from_millis(250);
const MOST: Duration = Duration::from_secs(5);

pub struct Patience {
    since: Instant,
    pause: Duration,
}

impl Patience {
    pub fn new() -> Self {
        Self { since: Instant::now(), pause: FIRST }
    }

    /// Waits before it is tried again.
    ///
    /// # Errors
    /// What went wrong, when that was for too long.
    pub async fn after(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        if self.since.elapsed() >= LONGEST {
            return Err(error);
        }
        sleep(self.pause).await;
        self.pause = MOST.min(self.pause * 2);
        Ok(())
    }
}
