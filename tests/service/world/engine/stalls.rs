//! Whether the machine let a story run: a story that fails says how long no thread was woken meanwhile.

use std::{
    sync::{Mutex, Once, PoisonError},
    thread,
    time::{Duration, Instant},
};

const TICK: Duration = Duration::from_millis(20);

/// A thread that is woken so much too late shows a machine that stood still, not one that is busy: Redis and the service have no time
/// to answer then either.
const STALL: Duration = Duration::from_millis(500);

/// When stalls ended, and their lengths.
static STALLS: Mutex<Vec<(Instant, Duration)>> = Mutex::new(Vec::new());

/// As long as a Redis of a story exists.
pub struct StallWatch {
    since: Instant,
}

impl StallWatch {
    pub fn start() -> Self {
        static STARTED: Once = Once::new();
        STARTED.call_once(|| {
            thread::spawn(watch);
        });
        Self { since: Instant::now() }
    }
}

impl Drop for StallWatch {
    /// `scripts/stories.sh` looks for this line.
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        let stalls = STALLS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(longest) = stalls.iter().filter(|(end, _)| *end >= self.since).map(|(_, length)| length).max() {
            println!("the machine stood still for {} ms", longest.as_millis());
        }
    }
}

fn watch() {
    let mut before = Instant::now();
    loop {
        thread::sleep(TICK);
        let now = Instant::now();
        let late = now.duration_since(before).saturating_sub(TICK);
        if late >= STALL {
            STALLS.lock().unwrap_or_else(PoisonError::into_inner).push((now, late));
        }
        before = now;
    }
}
