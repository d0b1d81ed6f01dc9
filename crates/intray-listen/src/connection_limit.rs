//! Limits the number of connections. At the limit, a new connection replaces an idle one: first one that never finished a request,
//! then one that is idle since its last answer, the longest idle of each. So silent sockets keep no caller out, and no connection
//! with an open request is cut. A connection that is idle for too long is cut in any case.

mod callers;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use intray_base::waits::hurried;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// No connection is cut before it was idle for this long: a new caller needs time to send its request.
pub(super) const MIN_IDLE_BEFORE_CUT: Duration = Duration::from_secs(1);
/// For the first request's head.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// For a connection that is idle after an answer. Longer than the proxies in front keep theirs, nginx and AWS for 60 s: a POST
/// that meets the closing is not sent again.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(90);
/// Between two checks for idle connections: one timer for all, where hyper would set one for each request.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct ConnectionLimit {
    max: usize,
    /// Cuts all connections.
    stop: CancellationToken,
    state: Mutex<LimitState>,
    freed: Notify,
}

#[derive(Default)]
struct LimitState {
    next: u64,
    taken: usize,
    /// Connections without an open request; the first is cut first.
    quiet: BTreeMap<IdleRank, Arc<ConnectionHandle>>,
    /// Connections by caller, of those that have shown a credential.
    by_caller: HashMap<Arc<str>, usize>,
    /// The sum of `by_caller`: connections without a credential yet are not counted.
    charged: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct IdleRank {
    was_answered: bool,
    since: Instant,
    number: u64,
}

/// The part of a connection that others use.
struct ConnectionHandle {
    cut: CancellationToken,
    /// A request has begun: its reader limits the time of its body.
    has_head: AtomicBool,
    /// The last call was refused: its caller has too many connections.
    is_refused: AtomicBool,
    /// The caller of the last credential on it. Changed under the lock of the state only.
    caller: Mutex<Option<Arc<str>>>,
}

impl ConnectionHandle {}

/// The permit of one connection, returned when it is dropped.
pub(super) struct Permit {
    limit: Arc<ConnectionLimit>,
    number: u64,
    /// Its key in `quiet`, while it is idle.
    rank: Mutex<Option<IdleRank>>,
    handle: Arc<ConnectionHandle>,
}

impl LimitState {
    /// Cuts the connection that is idle the longest of those searched and wanted, if there is one.
    fn cut_longest_idle(&self, searched: usize, is_wanted: impl Fn(&ConnectionHandle) -> bool) -> bool {
        let mut idle = self.quiet.iter().take(searched).filter(|(rank, handle)| {
            rank.since.elapsed() >= MIN_IDLE_BEFORE_CUT && !handle.cut.is_cancelled() && is_wanted(handle)
        });
        idle.next().inspect(|(_, handle)| handle.cut.cancel()).is_some()
    }
}

impl ConnectionLimit {
    pub(super) fn new(max: usize, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self { max, stop, state: Mutex::default(), freed: Notify::new() })
    }

    /// A permit for a new connection, as soon as there is one.
    pub(super) async fn acquire(self: &Arc<Self>) -> Permit {
        loop {
            if let Some(permit) = self.take() {
                return permit;
            }
            self.make_room();
            let _ = timeout(MIN_IDLE_BEFORE_CUT, self.freed.notified()).await;
        }
    }

    fn take(self: &Arc<Self>) -> Option<Permit> {
        let mut state = self.state.lock();
        if state.taken >= self.max {
            return None;
        }
        state.taken += 1;
        state.next += 1;
        let number = state.next;
        let (has_head, is_refused, caller) = Default::default();
        let handle = Arc::new(ConnectionHandle { cut: self.stop.child_token(), has_head, is_refused, caller });
        let rank = IdleRank { was_answered: false, since: Instant::now(), number };
        state.quiet.insert(rank, handle.clone());
        Some(Permit { limit: self.clone(), number, rank: Mutex::new(Some(rank)), handle })
    }

    /// Cuts connections that are idle for too long, for as long as it is polled.
    pub(super) async fn cut_idle(&self) {
        loop {
            sleep(CHECK_INTERVAL).await;
            self.cut_overdue(Instant::now());
        }
    }

    fn cut_overdue(&self, now: Instant) {
        for (rank, handle) in &self.state.lock().quiet {
            let patience = hurried(if rank.was_answered { KEEP_ALIVE_TIMEOUT } else { FIRST_HEAD_TIMEOUT });
            if now.duration_since(rank.since) >= patience - CHECK_INTERVAL && !handle.has_head.load(Ordering::Relaxed) {
                handle.cut.cancel();
            }
        }
    }

    /// Cuts the connection that is idle the longest, if there is one.
    pub(super) fn make_room(&self) {
        if self.state.lock().cut_longest_idle(usize::MAX, |_| true) {
            intray_metrics::CONNECTIONS_CUT_TOTAL.of(&[]).inc();
        }
    }
}

impl Permit {
    /// Resolves when this connection is cut.
    pub(super) async fn is_cut(&self) {
        self.handle.cut.cancelled().await;
    }

    /// Cuts this connection, with its open requests.
    pub(super) fn close(&self) {
        self.handle.cut.cancel();
    }

    /// The head of a request has arrived.
    pub(super) fn has_head(&self) {
        self.handle.has_head.store(true, Ordering::Relaxed);
    }

    /// A request is open: the connection is not cut for being idle.
    pub(super) fn begin_request(&self) {
        let mut rank = self.rank.lock();
        if let Some(rank) = rank.take() {
            self.limit.state.lock().quiet.remove(&rank);
        }
    }

    /// A part of a request has arrived; the time of being idle starts again.
    pub(super) fn on_progress(&self) {
        self.rank(|was_answered| was_answered);
    }

    /// The answer is written.
    pub(super) fn end_request(&self) {
        self.handle.has_head.store(false, Ordering::Relaxed);
        self.rank(|_| true);
    }

    fn rank(&self, was_answered: impl Fn(bool) -> bool) {
        let mut rank = self.rank.lock();
        let mut state = self.limit.state.lock();
        let old = rank.take();
        if let Some(old) = &old {
            state.quiet.remove(old);
        }
        let was_answered = was_answered(old.is_none_or(|old| old.was_answered));
        let new = IdleRank { was_answered, since: Instant::now(), number: self.number };
        state.quiet.insert(new, self.handle.clone());
        *rank = Some(new);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.begin_request();
        let mut state = self.limit.state.lock();
        state.taken -= 1;
        let caller = self.handle.caller.lock().take();
        state.forget(caller);
        drop(state);
        self.limit.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permit() -> (Arc<ConnectionLimit>, Permit) {
        let limit = ConnectionLimit::new(2, CancellationToken::new());
        let permit = limit.take().expect("there is room");
        (limit, permit)
    }

    /// Whether it is cut when it is checked after this many seconds.
    fn is_cut_after(limit: &ConnectionLimit, permit: &Permit, seconds: u64) -> bool {
        limit.cut_overdue(Instant::now() + Duration::from_secs(seconds));
        permit.handle.cut.is_cancelled()
    }

    /// This holds for HTTP/1, and for HTTP/2 once its last stream has ended.
    #[test]
    fn idle_connections_live_longer_than_proxies_keep_them() {
        let (limit, permit) = permit();
        permit.has_head();
        permit.begin_request();
        assert!(!is_cut_after(&limit, &permit, 1_000), "a request is in hand");
        permit.end_request();
        for seconds in [1, 30, 60, 75, 85] {
            assert!(!is_cut_after(&limit, &permit, seconds), "{seconds}");
        }
        assert!(is_cut_after(&limit, &permit, KEEP_ALIVE_TIMEOUT.as_secs()));
    }

    #[test]
    fn connections_without_a_request_are_cut_after_thirty_seconds() {
        let (limit, permit) = permit();
        assert!(!is_cut_after(&limit, &permit, 25));
        assert!(is_cut_after(&limit, &permit, 30));
    }

    #[test]
    fn idle_connections_make_room_when_none_is_left() {
        let limit = ConnectionLimit::new(1, CancellationToken::new());
        let permit = limit.take().expect("there is room");
        permit.begin_request();
        permit.end_request();
        assert!(limit.take().is_none());
        limit.make_room();
        assert!(!permit.handle.cut.is_cancelled(), "every connection has a second");
        let mut rank = permit.rank.lock();
        let old = rank.take().expect("quiet");
        limit.state.lock().quiet.remove(&old);
        let earlier = IdleRank { since: old.since.checked_sub(MIN_IDLE_BEFORE_CUT).expect("the clock runs"), ..old };
        limit.state.lock().quiet.insert(earlier, permit.handle.clone());
        *rank = Some(earlier);
        drop(rank);
        limit.make_room();
        assert!(permit.handle.cut.is_cancelled());
    }
}
