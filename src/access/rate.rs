//! Rates: a token bucket for each credential, and two for what each reservation stores. Written by hand because the governor crate
//! cannot say whether it knows a key, and would sweep a full table at every call.

use std::{collections::HashMap, hash::Hash, sync::Arc, time::Instant};

use parking_lot::Mutex;

use crate::job::{Reservation, limits};

/// At this many buckets the full ones are dropped for the first time: a full bucket limits nothing.
const FIRST_SWEEP: usize = 10_000;

/// A bucket refills `per_second` and holds `at_once`.
pub(super) struct RateLimiter<K> {
    per_second: f64,
    at_once: f64,
    state: Mutex<Buckets<K>>,
}

struct Buckets<K> {
    by_key: HashMap<K, Bucket>,
    /// At this many the full ones are dropped, so that the cost is spread over as many new keys as stayed.
    sweep_at: usize,
}

struct Bucket {
    calls: f64,
    at: Instant,
}

/// How often a draft, and a result, of one reservation is stored, here on this instance: a person types them.
#[derive(Clone)]
pub struct StoreRate(Arc<RateLimiter<(Reservation, &'static str)>>);

impl Default for StoreRate {
    fn default() -> Self {
        Self(Arc::new(RateLimiter::new(limits::STORED_PER_SECOND.into(), limits::STORED_AT_ONCE.into())))
    }
}

impl StoreRate {
    /// Counts what is stored in this field. The error is the time to wait, in ms.
    ///
    /// # Errors
    /// When there were too many.
    pub fn take(&self, reservation: &Reservation, field: &'static str) -> Result<(), u32> {
        self.0.take(&(reservation.clone(), field), Instant::now())
    }

    /// What was counted is not stored.
    pub fn give_back(&self, reservation: Reservation, field: &'static str) {
        self.0.give_back(&(reservation, field));
    }
}

impl<K: Eq + Hash + Clone> RateLimiter<K> {
    fn new(per_second: f64, at_once: f64) -> Self {
        let state = Mutex::new(Buckets { by_key: HashMap::new(), sweep_at: FIRST_SWEEP });
        Self { per_second, at_once, state }
    }

    /// One second's worth at once. `None` for 0: no limit.
    pub(super) fn per_second(calls: u32) -> Option<Self> {
        (calls > 0).then(|| Self::new(calls.into(), calls.into()))
    }

    /// Counts a call. The error is the time to wait, in ms.
    pub(super) fn take(&self, key: &K, now: Instant) -> Result<(), u32> {
        let mut state = self.state.lock();
        let Buckets { by_key: buckets, sweep_at } = &mut *state;
        if buckets.len() >= *sweep_at && !buckets.contains_key(key) {
            buckets.retain(|_, bucket| self.refilled(bucket, now) < self.at_once);
            *sweep_at = (buckets.len() * 2).max(FIRST_SWEEP);
        }
        let full = Bucket { calls: self.at_once, at: now };
        let bucket = buckets.entry(key.clone()).or_insert(full);
        *bucket = Bucket { calls: self.refilled(bucket, now), at: now };
        if bucket.calls < 1.0 {
            let wait = (1.0 - bucket.calls) / self.per_second;
            return Err((wait * 1e3).ceil() as u32);
        }
        bucket.calls -= 1.0;
        Ok(())
    }

    fn give_back(&self, key: &K) {
        if let Some(bucket) = self.state.lock().by_key.get_mut(key) {
            bucket.calls = (bucket.calls + 1.0).min(self.at_once);
        }
    }

    fn refilled(&self, bucket: &Bucket, now: Instant) -> f64 {
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.calls + since * self.per_second).min(self.at_once)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rate_limit_says_when_to_retry_and_leaves_others_alone() {
        let (rate, now) = (RateLimiter::per_second(4).expect("a limit"), Instant::now());
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        for _ in 0..4 {
            assert_eq!(rate.take(&ann, now), Ok(()));
        }
        let refused = Err(250);
        assert_eq!(rate.take(&ann, now), refused);
        assert_eq!(rate.take(&bob, now), Ok(()));
        let later = now + Duration::from_millis(250);
        assert_eq!(rate.take(&ann, later), Ok(()));
        assert_eq!(rate.take(&ann, later), refused, "a refused call costs nothing, and one call has been saved up");
        let much_later = later + Duration::from_secs(3_600);
        for _ in 0..4 {
            assert_eq!(rate.take(&ann, much_later), Ok(()));
        }
        assert_eq!(rate.take(&ann, much_later), refused, "a bucket holds one second's worth");
    }

    #[test]
    fn rate_below_its_burst_refills_slowly() {
        let (rate, now) = (RateLimiter::new(1.0, 10.0), Instant::now());
        let takes = |at: Instant| (0..20).filter(|_| rate.take(&"one", at).is_ok()).count();
        assert_eq!(takes(now), 10);
        assert_eq!(rate.take(&"one", now), Err(1_000));
        assert_eq!(takes(now + Duration::from_secs(3)), 3);
        assert_eq!(takes(now + Duration::from_secs(60)), 10);
    }

    #[test]
    fn idle_keys_are_forgotten() {
        let (rate, now) = (RateLimiter::new(1.0, 1.0), Instant::now());
        for n in 0..FIRST_SWEEP {
            assert_eq!(rate.take(&n, now), Ok(()));
        }
        assert_eq!(rate.take(&FIRST_SWEEP, now), Ok(()));
        assert_eq!(rate.state.lock().sweep_at, FIRST_SWEEP * 2, "none was idle, so the next sweep comes later");
        for n in FIRST_SWEEP..FIRST_SWEEP * 2 {
            assert_eq!(rate.take(&n, now + Duration::from_millis(1)).is_ok(), n > FIRST_SWEEP);
        }
        assert_eq!(rate.take(&usize::MAX, now + Duration::from_secs(2)), Ok(()));
        assert_eq!(rate.state.lock().by_key.len(), 1);
        assert!(RateLimiter::<usize>::per_second(0).is_none());
    }
}
