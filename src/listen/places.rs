//! Who is connected. When all places are taken and somebody new comes, one goes who has no request in hand: first those who
//! never finished one, then those who are quiet since their last answer, of each the longest quiet. So sockets that say
//! nothing shut nobody out, and nobody who waits for an answer is cut.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

/// So long everybody may be quiet, however many wait: a caller who has just come needs a while to say something.
const GRACE: Duration = Duration::from_secs(1);

pub(super) struct Places {
    most: usize,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    taken: usize,
    /// Those without a request in hand; the first is the first to go.
    quiet: BTreeMap<Rank, CancellationToken>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    was_answered: bool,
    since: Instant,
    number: u64,
}

/// One connection's place; free again when it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    /// How it stands among the quiet, if it is.
    rank: Mutex<Option<Rank>>,
    cut: CancellationToken,
}

impl Places {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default(), freed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for somebody who has come, as soon as there is one.
    pub(super) async fn enter(self: &Arc<Self>) -> Place {
        loop {
            if let Some(place) = self.take() {
                return place;
            }
            self.make_room();
            let _ = timeout(GRACE, self.freed.notified()).await;
        }
    }

    fn take(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.state();
        if state.taken >= self.most {
            return None;
        }
        state.taken += 1;
        state.next += 1;
        let (number, cut) = (state.next, CancellationToken::new());
        let rank = Rank { was_answered: false, since: Instant::now(), number };
        state.quiet.insert(rank, cut.clone());
        Some(Place { places: self.clone(), number, rank: Mutex::new(Some(rank)), cut })
    }

    /// Sends one away, if there is one who was quiet for long enough.
    fn make_room(&self) {
        let state = self.state();
        let mut quiet = state.quiet.iter().filter(|(rank, cut)| rank.since.elapsed() >= GRACE && !cut.is_cancelled());
        if let Some((_, cut)) = quiet.next() {
            cut.cancel();
            metrics::counter!("intray_connections_cut_total").increment(1);
        }
    }
}

impl Place {
    /// When this one is to make room.
    pub(super) async fn is_cut(&self) {
        self.cut.cancelled().await;
    }

    /// A request is in hand: nobody is cut now.
    pub(super) fn is_busy(&self) {
        let mut rank = self.rank.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rank) = rank.take() {
            self.places.state().quiet.remove(&rank);
        }
    }

    /// Some of a request has come, and more is to come.
    pub(super) fn is_heard(&self) {
        self.rank(|was_answered| was_answered);
    }

    /// An answer is out.
    pub(super) fn is_answered(&self) {
        self.rank(|_| true);
    }

    fn rank(&self, was_answered: impl Fn(bool) -> bool) {
        let mut rank = self.rank.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.places.state();
        let old = rank.take();
        if let Some(old) = &old {
            state.quiet.remove(old);
        }
        let was_answered = was_answered(old.is_none_or(|old| old.was_answered));
        let new = Rank { was_answered, since: Instant::now(), number: self.number };
        state.quiet.insert(new, self.cut.clone());
        *rank = Some(new);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_busy();
        self.places.state().taken -= 1;
        self.places.freed.notify_one();
    }
}
