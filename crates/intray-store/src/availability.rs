//! Whether Redis answers: no script is run before the store has been checked, and a waiting call is told of an outage a moment ago.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use intray_redis::{Applied, Fault};
use parking_lot::Mutex;

/// Why scripts are not run yet.
pub(crate) const NOT_CHECKED: &str = "it has not answered since the start";

#[derive(Default)]
pub(crate) struct Availability {
    /// No script on a queue is run before the store has been checked.
    is_held: AtomicBool,
    /// The last time that Redis was unavailable, and why.
    away: Mutex<Option<(Instant, Fault)>>,
}

impl Availability {
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    pub(crate) fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }

    /// Notes a fault that means that Redis is unavailable.
    pub(crate) fn note(&self, fault: &Fault) {
        if matches!(fault, Fault::Unavailable { .. }) {
            *self.away.lock() = Some((Instant::now(), fault.clone()));
        }
    }

    /// Why Redis was unavailable within this time, if it was.
    pub(crate) fn lately_away(&self, within: Duration) -> Option<Fault> {
        let away = self.away.lock();
        away.as_ref().filter(|(at, _)| at.elapsed() < within).map(|(_, fault)| fault.clone().with(Applied::No))
    }
}
