//! The rate limit per credential: a token bucket that refills `per_second` and holds one second's worth. Written by hand because
//! the governor crate cannot tell whether it knows a credential, and would sweep a full table at every call.

use std::{collections::HashMap, sync::Arc, time::Instant};

use parking_lot::Mutex;

/// Above this many buckets the full ones are dropped: a full bucket limits nothing.
const MAX_BUCKETS: usize = 10_000;

pub(super) struct RateLimiter {
    per_second: f64,
    buckets: Mutex<HashMap<Arc<str>, Bucket>>,
}

struct Bucket {
    calls: f64,
    at: Instant,
}

impl RateLimiter {
    /// `None` for 0: no limit.
    pub(super) fn new(per_second: u32) -> Option<Self> {
        (per_second > 0).then(|| Self { per_second: per_second.into(), buckets: Mutex::default() })
    }

    /// Counts a call. The error is the time to wait, in ms.
    pub(super) fn take(&self, credential: &Arc<str>, now: Instant) -> Result<(), u32> {
        let mut buckets = self.buckets.lock();
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(credential) {
            buckets.retain(|_, bucket| self.refilled(bucket, now) < self.per_second);
        }
        let full = Bucket { calls: self.per_second, at: now };
        let bucket = buckets.entry(credential.clone()).or_insert(full);
        *bucket = Bucket { calls: self.refilled(bucket, now), at: now };
        if bucket.calls < 1.0 {
            let wait = (1.0 - bucket.calls) / self.per_second;
            return Err((wait * 1e3).ceil() as u32);
        }
        bucket.calls -= 1.0;
        Ok(())
    }

    fn refilled(&self, bucket: &Bucket, now: Instant) -> f64 {
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.calls + since * self.per_second).min(self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rate_limit_says_when_to_retry_and_leaves_others_alone() {
        let (rate, now) = (RateLimiter::new(4).expect("a limit"), Instant::now());
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
    fn idle_credentials_are_forgotten() {
        let (rate, now) = (RateLimiter::new(1).expect("a limit"), Instant::now());
        for n in 0..MAX_BUCKETS {
            assert_eq!(rate.take(&n.to_string().into(), now), Ok(()));
        }
        assert_eq!(rate.take(&"one more".into(), now + Duration::from_secs(1)), Ok(()));
        assert_eq!(rate.buckets.lock().len(), 1);
        assert!(RateLimiter::new(0).is_none());
    }
}
