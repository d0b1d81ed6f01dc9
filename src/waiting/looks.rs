//! Shared reads: callers that wait for the same thing share one read of it, if it is new enough for them. The cost of a
//! change does not grow with the number of callers.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::Mutex;
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use super::reads::ReadPermit;
use crate::store::Fault;

/// The last read of each key that has callers.
pub(super) struct SharedReadCache<K, T>(Mutex<HashMap<K, Arc<LatestRead<T>>>>);

/// Locked while one caller reads: the others wait for its result.
type LatestRead<T> = AsyncMutex<Option<ReadResult<T>>>;

/// Why a read was refused.
#[derive(Debug, Clone)]
pub enum ReadRefused {
    /// Too many reads are running.
    Busy,
    Fault(Fault),
}

/// The result of a read, and when the read began. A fault counts from when it was found, so that callers that waited for it
/// do not repeat the read.
pub(super) struct ReadResult<T> {
    pub(super) begun: Instant,
    pub(super) seen: Result<Arc<T>, ReadRefused>,
    /// Holds the memory of the answer while it is used.
    _room: Option<ReadPermit>,
}

/// A caller's use of one key.
pub(super) struct CacheEntry<'l, K: Eq + Hash, T> {
    looks: &'l SharedReadCache<K, T>,
    key: K,
    last: Option<Arc<LatestRead<T>>>,
}

impl From<Fault> for ReadRefused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<T> ReadResult<T> {
    pub(super) fn at(begun: Instant, what: T, room: ReadPermit) -> Self {
        Self { begun, seen: Ok(Arc::new(what)), _room: Some(room) }
    }

    pub(super) fn refused(why: impl Into<ReadRefused>) -> Self {
        Self { begun: Instant::now(), seen: Err(why.into()), _room: None }
    }
}

impl<K, T> Default for SharedReadCache<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash + Clone, T> SharedReadCache<K, T> {
    pub(super) fn of(&self, key: K) -> CacheEntry<'_, K, T> {
        let last = self.0.lock().entry(key.clone()).or_default().clone();
        CacheEntry { looks: self, key, last: Some(last) }
    }
}

impl<K: Eq + Hash, T> CacheEntry<'_, K, T> {
    /// The result of a read that began no earlier than `since`, and when it began. Reads if there is none.
    pub(super) async fn since(
        &self,
        since: Instant,
        look: impl Future<Output = ReadResult<T>>,
    ) -> (Instant, Result<Arc<T>, ReadRefused>) {
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

impl<K: Eq + Hash, T> Drop for CacheEntry<'_, K, T> {
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
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        time::Duration,
    };

    use super::*;

    #[tokio::test]
    async fn waiters_for_one_thing_share_a_look() {
        let (looks, made) = (SharedReadCache::<&str, u32>::default(), AtomicU32::new(0));
        let look = async || {
            let begun = Instant::now();
            tokio::time::sleep(Duration::from_millis(20)).await;
            let seen = Ok(Arc::new(made.fetch_add(1, Ordering::Relaxed)));
            ReadResult { begun, seen, _room: None }
        };
        let before = Instant::now();
        let see = async |since: Instant| looks.of("list").since(since, look()).await.1.expect("seen");
        let kept = looks.of("list");
        let seen = futures_util::future::join_all((0..50).map(|_| see(before))).await;
        assert!(seen.iter().all(|seen| **seen == 0), "one look for all: {seen:?}");
        assert_eq!(*see(Instant::now()).await, 1, "what is old is looked at again");
        drop(kept);
        assert!(looks.0.lock().is_empty(), "nothing is kept without a reader");
    }

    #[tokio::test]
    async fn waiters_for_a_look_that_fails_take_its_fault() {
        let looks = SharedReadCache::<&str, u32>::default();
        let made = AtomicU32::new(0);
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
