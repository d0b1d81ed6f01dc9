//! The circuit breaker of a webhook on this instance: how many deliveries go out at a time, and when after failures.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use intray_webhook::Attempt;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::timeout_at,
};

/// Deliveries that are sent at the same time.
const IN_FLIGHT: u32 = 8;
/// After this many failures in a row, one delivery is tried at a time, with a pause.
pub(super) const FAILURES_BEFORE_PAUSE: u32 = 5;
const PAUSE: Duration = Duration::from_secs(30);
/// The answer of a receiver that wants no more.
const GONE: u16 = 410;
/// How often an attempt that was like the one before is noted.
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// How often the webhook may be tested.
const TEST_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Breaker {
    pub(super) slots: Arc<Semaphore>,
    /// Queues get slots in the order in which they ask.
    line: tokio::sync::Mutex<()>,
    state: Mutex<BreakerState>,
    changed: Notify,
}

#[derive(Default)]
struct BreakerState {
    /// Failed attempts in a row.
    failures: u32,
    /// While it pauses: when the next delivery is tried.
    probe_at: Option<Instant>,
    is_stopped: bool,
    /// When the last attempt was noted, and with how many failures in a row.
    noted: Option<(Instant, u32)>,
    tested: Option<Instant>,
}

/// Room for one delivery. A probe takes all the room.
pub(super) struct SendSlot {
    pub(super) is_probe: bool,
    _permit: OwnedSemaphorePermit,
}

impl Breaker {
    pub(super) fn new() -> Self {
        let (line, state, changed) = Default::default();
        Self { slots: Arc::new(Semaphore::new(IN_FLIGHT as usize)), line, state, changed }
    }

    /// Waits until a delivery may be sent.
    pub(super) async fn slot(&self) -> SendSlot {
        let _turn = self.line.lock().await;
        loop {
            match self.is_probe_next() {
                Ok(is_probe) => {
                    let permits = if is_probe { IN_FLIGHT } else { 1 };
                    let permit = tokio::select! {
                        permit = self.slots.clone().acquire_many_owned(permits) => permit.expect("it is never closed"),
                        // A probe need not wait for a slow receiver that is well again.
                        () = self.changed.notified() => continue,
                    };
                    let slot = SendSlot { is_probe, _permit: permit };
                    // The deliveries in flight may have failed meanwhile.
                    if self.is_probe_next() == Ok(is_probe) {
                        return slot;
                    }
                }
                Err(Some(at)) => _ = timeout_at(at.into(), self.changed.notified()).await,
                Err(None) => self.changed.notified().await,
            }
        }
    }

    /// The other slots that are free.
    pub(super) fn free_slots(&self) -> impl Iterator<Item = SendSlot> {
        let slot = |permit| SendSlot { is_probe: false, _permit: permit };
        std::iter::from_fn(move || self.slots.clone().try_acquire_owned().ok().map(slot))
    }

    /// Whether the next delivery is a probe; or that none is sent, and until when.
    fn is_probe_next(&self) -> Result<bool, Option<Instant>> {
        let state = self.state.lock();
        let is_failing = state.failures >= FAILURES_BEFORE_PAUSE;
        match state.probe_at {
            _ if state.is_stopped => Err(None),
            Some(at) if is_failing && Instant::now() < at => Err(Some(at)),
            _ => Ok(is_failing),
        }
    }

    /// Learns from an attempt how the receiver is.
    pub(super) fn record(&self, attempt: &Attempt) {
        if attempt.is_taken() {
            self.end_failing();
        } else if is_gone(attempt) {
            self.stop(true);
        } else {
            let mut state = self.state.lock();
            state.failures = state.failures.saturating_add(1);
            state.probe_at = Some(Instant::now() + PAUSE);
        }
    }

    /// The receiver is there, or it may be another now.
    pub(super) fn end_failing(&self) {
        if std::mem::take(&mut self.state.lock().failures) > 0 {
            self.changed.notify_one();
        }
    }

    /// A webhook whose receiver is gone rests until it is started again.
    pub(super) fn stop(&self, is_stopped: bool) {
        if std::mem::replace(&mut self.state.lock().is_stopped, is_stopped) != is_stopped {
            self.changed.notify_one();
        }
    }

    pub(super) fn failures(&self) -> u32 {
        self.state.lock().failures
    }

    /// Whether other instances are to learn of an attempt: of each failure, and of successes once in a while.
    pub(super) fn is_news(&self, failures: u32) -> bool {
        let noted = &mut self.state.lock().noted;
        let is_news = noted.is_none_or(|(at, before)| before != failures || at.elapsed() >= NOTE_EVERY);
        if is_news {
            *noted = Some((Instant::now(), failures));
        }
        is_news
    }

    /// # Errors
    /// The time until the webhook may be tested again.
    pub(super) fn may_test(&self) -> Result<(), Duration> {
        let tested = &mut self.state.lock().tested;
        if let Some(left) = tested.and_then(|last| TEST_PAUSE.checked_sub(last.elapsed())) {
            return Err(left);
        }
        *tested = Some(Instant::now());
        Ok(())
    }
}

pub(super) fn is_gone(attempt: &Attempt) -> bool {
    attempt.status == Some(GONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(breaker: &Breaker, status: u16) {
        let (retry_after, error, took) = Default::default();
        breaker.record(&Attempt { status: Some(status), retry_after, error, took });
    }

    async fn has_slot(breaker: &Breaker) -> bool {
        tokio::time::timeout(Duration::from_millis(50), breaker.slot()).await.is_ok()
    }

    #[tokio::test]
    async fn failing_webhook_pauses_and_is_then_probed() {
        let breaker = Breaker::new();
        let slots: Vec<_> = breaker.free_slots().collect();
        assert!(slots.len() == 8 && !has_slot(&breaker).await);
        drop(slots);
        for _ in 0..FAILURES_BEFORE_PAUSE {
            assert!(has_slot(&breaker).await);
            record(&breaker, 500);
        }
        assert!(!has_slot(&breaker).await);
        breaker.state.lock().probe_at = Some(Instant::now());
        let probe = breaker.slot().await;
        assert!(probe.is_probe && !has_slot(&breaker).await);
        record(&breaker, 204);
        drop(probe);
        assert!(!breaker.slot().await.is_probe);
    }

    #[tokio::test]
    async fn receiver_that_is_well_again_waits_for_no_slow_delivery() {
        let breaker = Breaker::new();
        let slow = breaker.slot().await;
        (0..FAILURES_BEFORE_PAUSE).for_each(|_| record(&breaker, 500));
        breaker.state.lock().probe_at = Some(Instant::now());
        let (next, ()) = tokio::join!(breaker.slot(), async {
            tokio::task::yield_now().await;
            record(&breaker, 204);
        });
        assert!(!next.is_probe && !slow.is_probe);
    }

    #[tokio::test]
    async fn gone_receiver_gets_nothing_until_it_is_started() {
        let breaker = Breaker::new();
        record(&breaker, 410);
        assert!(!has_slot(&breaker).await);
        breaker.stop(false);
        assert!(has_slot(&breaker).await);
    }
}
