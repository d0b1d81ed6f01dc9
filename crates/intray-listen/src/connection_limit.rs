//! Who is connected. When all places are taken and somebody new comes, one goes who has no request in hand: first those who
//! never finished one, then those who are quiet since their last answer, of each the longest quiet. So sockets that say
//! nothing shut nobody out, and nobody who waits for an answer is cut. Who is quiet for too long goes anyway.

mod callers;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// So long everybody may be quiet, however many wait: a caller who has just come needs a while to say something.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// For the first request's head.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// For a connection that is idle behind an answer. Longer than the proxies in front keep theirs, nginx and AWS for 60 s: a POST
/// that meets the closing is not sent again.
const IDLE_TIME: Duration = Duration::from_secs(90);
/// How often it is looked who has been quiet for that long: one clock for all, where hyper would set one for each request.
const LOOK: Duration = Duration::from_secs(1);

pub(super) struct Places {
    most: usize,
    /// Everybody is to go.
    stop: CancellationToken,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    taken: usize,
    /// Those without a request in hand; the first is the first to go.
    quiet: BTreeMap<Rank, Arc<Seat>>,
    /// How many connections are whose, of those that have shown a credential.
    by_payer: HashMap<Arc<str>, usize>,
    /// Of all of them: those that are new and have said nothing yet take from nobody.
    paid: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    was_answered: bool,
    since: Instant,
    number: u64,
}

/// What is asked of a connection by others than itself.
struct Seat {
    cut: CancellationToken,
    /// A request has begun: how long its body may take, its reader knows.
    has_head: AtomicBool,
    /// The last call was refused, because its caller has too many.
    is_refused: AtomicBool,
    /// Who has shown a credential on it last. It is changed while the state is held.
    payer: Mutex<Option<Arc<str>>>,
}

impl Seat {
    fn payer(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        self.payer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's place; free again when it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    /// How it stands among the quiet, if it is.
    rank: Mutex<Option<Rank>>,
    seat: Arc<Seat>,
}

impl Places {
    pub(super) fn new(most: usize, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self { most, stop, state: Mutex::default(), freed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a permit for a new connection.
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
        let number = state.next;
        let (has_head, is_refused, payer) = Default::default();
        let seat = Arc::new(Seat { cut: self.stop.child_token(), has_head, is_refused, payer });
        let rank = Rank { was_answered: false, since: Instant::now(), number };
        state.quiet.insert(rank, seat.clone());
        Some(Place { places: self.clone(), number, rank: Mutex::new(Some(rank)), seat })
    }

    /// Sends away those whose request does not come, for as long as it is polled.
    pub(super) async fn mind(&self) {
        loop {
            sleep(LOOK).await;
            self.cut_overdue(Instant::now());
        }
    }

    fn cut_overdue(&self, now: Instant) {
        for (rank, seat) in &self.state().quiet {
            let patience = if rank.was_answered { IDLE_TIME } else { HEAD_TIME };
            if now.duration_since(rank.since) >= patience - LOOK && !seat.has_head.load(Ordering::Relaxed) {
                seat.cut.cancel();
            }
        }
    }

    /// Sends one away, if there is one who was quiet for long enough.
    pub(super) fn make_room(&self) {
        let state = self.state();
        let mut quiet =
            state.quiet.iter().filter(|(rank, seat)| rank.since.elapsed() >= GRACE && !seat.cut.is_cancelled());
        if let Some((_, seat)) = quiet.next() {
            seat.cut.cancel();
            metrics::counter!("intray_connections_cut_total").increment(1);
        }
    }
}

impl Place {
    /// When this one is to make room, or everybody is to go.
    pub(super) async fn is_cut(&self) {
        self.seat.cut.cancelled().await;
    }

    /// This one is to go, whatever it has in hand.
    pub(super) fn leave(&self) {
        self.seat.cut.cancel();
    }

    /// The head of a request is there.
    pub(super) fn has_head(&self) {
        self.seat.has_head.store(true, Ordering::Relaxed);
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
        self.seat.has_head.store(false, Ordering::Relaxed);
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
        state.quiet.insert(new, self.seat.clone());
        *rank = Some(new);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_busy();
        let mut state = self.places.state();
        state.taken -= 1;
        let payer = self.seat.payer().take();
        state.forget(payer);
        drop(state);
        self.places.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (Arc<Places>, Place) {
        let places = Places::new(2, CancellationToken::new());
        let place = places.take().expect("there is room");
        (places, place)
    }

    /// Whether it is cut when it is looked after so many seconds.
    fn is_cut_after(places: &Places, place: &Place, seconds: u64) -> bool {
        places.cut_overdue(Instant::now() + Duration::from_secs(seconds));
        place.seat.cut.is_cancelled()
    }

    /// Of HTTP/1 and of HTTP/2, whose last stream has ended.
    #[test]
    fn idle_connections_live_longer_than_proxies_keep_them() {
        let (places, place) = place();
        place.has_head();
        place.is_busy();
        assert!(!is_cut_after(&places, &place, 1_000), "a request is in hand");
        place.is_answered();
        for seconds in [1, 30, 60, 75, 85] {
            assert!(!is_cut_after(&places, &place, seconds), "{seconds}");
        }
        assert!(is_cut_after(&places, &place, IDLE_TIME.as_secs()));
    }

    #[test]
    fn connections_without_a_request_are_cut_after_thirty_seconds() {
        let (places, place) = place();
        assert!(!is_cut_after(&places, &place, 25));
        assert!(is_cut_after(&places, &place, 30));
    }

    #[test]
    fn idle_connections_make_room_when_none_is_left() {
        let places = Places::new(1, CancellationToken::new());
        let place = places.take().expect("there is room");
        place.is_busy();
        place.is_answered();
        assert!(places.take().is_none());
        places.make_room();
        assert!(!place.seat.cut.is_cancelled(), "a second is everybody's");
        let mut rank = place.rank.lock().expect("nobody panics");
        let old = rank.take().expect("quiet");
        places.state().quiet.remove(&old);
        let earlier = Rank { since: old.since.checked_sub(GRACE).expect("the clock runs"), ..old };
        places.state().quiet.insert(earlier, place.seat.clone());
        *rank = Some(earlier);
        drop(rank);
        places.make_room();
        assert!(place.seat.cut.is_cancelled());
    }
}
