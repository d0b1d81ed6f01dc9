//! Shared reads: callers that wait for the same thing share one read of it, if it is new enough for them. The cost of a
//! change does not grow with the number of callers.

use std::{collections::HashMap, hash::Hash, ops::Deref, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use super::reads::ReadPermit;
use crate::store::Fault;

/// The reads of those who wait, and of those whose wait has ended.
pub(super) struct AwaitedReads<K, T> {
    /// `None`: it is not what they wait for, so nothing of it is kept while they wait on.
    pub(super) waits: SharedReadCache<K, Option<Arc<CountedRead<T>>>>,
    pub(super) ends: SharedReadCache<K, Arc<CountedRead<T>>>,
}

/// What was read. Its memory counts for as long as a caller uses it.
pub struct CountedRead<T> {
    what: T,
    _room: Option<ReadPermit>,
}

/// The last read of each key that has callers.
pub(super) struct SharedReadCache<K, A>(Mutex<HashMap<K, Arc<LatestRead<A>>>>);

/// Locked while one caller reads: the others wait for its result.
type LatestRead<A> = AsyncMutex<Option<ReadResult<A>>>;

/// Why a read was refused.
#[derive(Debug, Clone)]
pub enum ReadRefused {
    /// Too many reads are running.
    Busy,
    Fault(Fault),
}

/// After a read, callers rest for this many times as long as it took, at most this long: events that come one after the other must not
/// keep Redis busy with a page that is dear.
const REST: u32 = 10;
const REST_MAX: Duration = Duration::from_secs(2);

/// The result of a read, when the read began, and how long it took. A fault counts from when it was found, so that callers that
/// waited for it do not repeat the read.
pub(super) struct ReadResult<A> {
    pub(super) begun: Instant,
    pub(super) took: Duration,
    pub(super) seen: Result<A, ReadRefused>,
}

/// A caller's use of one key.
pub(super) struct CacheEntry<'l, K: Eq + Hash, A> {
    looks: &'l SharedReadCache<K, A>,
    key: K,
    last: Option<Arc<LatestRead<A>>>,
}

impl From<Fault> for ReadRefused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<T> CountedRead<T> {
    pub(super) fn new(what: T, room: Option<ReadPermit>) -> Self {
        Self { what, _room: room }
    }
}

impl<T> Deref for CountedRead<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.what
    }
}

impl<A> ReadResult<A> {
    pub(super) fn refused(why: impl Into<ReadRefused>) -> Self {
        Self { begun: Instant::now(), took: Duration::ZERO, seen: Err(why.into()) }
    }

    pub(super) fn map<B>(self, kept: impl FnOnce(A) -> B) -> ReadResult<B> {
        ReadResult { begun: self.begun, took: self.took, seen: self.seen.map(kept) }
    }
}

impl<K, T> Default for AwaitedReads<K, T> {
    fn default() -> Self {
        Self { waits: SharedReadCache::default(), ends: SharedReadCache::default() }
    }
}

impl<K, A> Default for SharedReadCache<K, A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash + Clone, A> SharedReadCache<K, A> {
    pub(super) fn of(&self, key: K) -> CacheEntry<'_, K, A> {
        let last = self.0.lock().entry(key.clone()).or_default().clone();
        CacheEntry { looks: self, key, last: Some(last) }
    }
}

impl<K: Eq + Hash, A: Clone> CacheEntry<'_, K, A> {
    /// Waits until the rest after the last read is over. It is shared as the read is.
    pub(super) async fn rested(&self) {
        let Some(last) = &self.last else { return };
        let end = last.lock().await.as_ref().map(|look| look.begun + look.took + (look.took * REST).min(REST_MAX));
        if let Some(end) = end {
            tokio::time::sleep_until(end).await;
        }
    }

    /// The result of a read that began no earlier than `since`, and when it began. Reads if there is none.
    pub(super) async fn since(
        &self,
        since: Instant,
        look: impl Future<Output = ReadResult<A>>,
    ) -> (Instant, Result<A, ReadRefused>) {
        let Some(last) = &self.last else { return (since, Err(ReadRefused::Busy)) };
        let mut last = last.lock().await;
        if let Some(look) = last.as_ref().filter(|look| look.begun >= since) {
            return (look.begun, look.seen.clone());
        }
        // Frees the old answer before the new one arrives.
        *last = None;
        let look = look.await;
        let answer = (look.begun, look.seen.clone());
        *last = Some(look);
        answer
    }
}

impl<K: Eq + Hash, A> Drop for CacheEntry<'_, K, A> {
    fn drop(&mut self) {
        let mut all = self.looks.0.lock();
        self.last = None;
        if all.get(&self.key).is_some_and(|last| Arc::strong_count(last) == 1) {
            all.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn waiters_for_one_thing_share_a_look() {
        let (looks, made) = (SharedReadCache::<&str, u32>::default(), AtomicU32::new(0));
        let look = async || {
            let begun = Instant::now();
            tokio::time::sleep(Duration::from_millis(20)).await;
            ReadResult { begun, took: begun.elapsed(), seen: Ok(made.fetch_add(1, Ordering::Relaxed)) }
        };
        let before = Instant::now();
        let see = async |since: Instant| looks.of("list").since(since, look()).await.1.expect("seen");
        let kept = looks.of("list");
        let seen = futures_util::future::join_all((0..50).map(|_| see(before))).await;
        assert!(seen.iter().all(|seen| *seen == 0), "one look for all: {seen:?}");
        assert_eq!(see(Instant::now()).await, 1, "what is old is looked at again");
        drop(kept);
        assert!(looks.0.lock().is_empty(), "nothing is kept without a reader");
    }

    #[tokio::test]
    async fn waiters_rest_after_a_look_that_took_long() {
        let looks = SharedReadCache::<&str, u32>::default();
        let place = looks.of("list");
        place.rested().await;
        let rested_after = async |begun: Instant, took: Duration| {
            let look = async { ReadResult { begun, took, seen: Ok(1) } };
            place.since(Instant::now(), look).await.1.expect("seen");
            // Another caller rests as well.
            looks.of("list").rested().await;
            begun.elapsed()
        };
        let rest = rested_after(Instant::now(), Duration::from_millis(20)).await;
        assert!(rest >= Duration::from_millis(220), "{rest:?}");
        // A read of an hour, which ended that long ago, is followed by a rest as well, and the rest has an end.
        let (hour, now) = (Duration::from_secs(3_600), Instant::now());
        let after_the_look = rested_after(now - hour, hour).await - hour;
        assert!((REST_MAX..2 * REST_MAX).contains(&after_the_look), "{after_the_look:?}");
    }

    #[tokio::test]
    async fn waiters_for_a_look_that_fails_take_its_fault() {
        let (looks, made) = (SharedReadCache::<&str, u32>::default(), AtomicU32::new(0));
        let look = async || {
            made.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
            ReadResult::refused(ReadRefused::Busy)
        };
        let see = async |since: Instant| looks.of("list").since(since, look()).await.1;
        let seen = futures_util::future::join_all((0..20).map(|_| see(Instant::now()))).await;
        assert!(seen.iter().all(Result::is_err));
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
}
