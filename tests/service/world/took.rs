//! How long something took, on a machine that may stand still meanwhile.

use std::{
    fmt,
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The thread that notices when the machine stands still sleeps this long each time.
const NAP: Duration = Duration::from_millis(5);
/// A machine with much to do is later than this now and then, one that stands still always.
const STALL: Duration = Duration::from_millis(30);

/// When that thread should have run, and did not until later.
static LATE: LazyLock<Mutex<Late>> = LazyLock::new(|| {
    std::thread::spawn(nap_forever);
    Mutex::new(Late { due: Instant::now() + NAP, stalls: Vec::new() })
});

struct Late {
    /// When it should run next.
    due: Instant,
    stalls: Vec<Stall>,
}

#[derive(Clone, Copy)]
struct Stall {
    from: Instant,
    until: Instant,
}

impl Late {
    /// How much of a time it was late.
    fn during(&self, time: Took) -> Duration {
        let current = Stall { from: self.due, until: time.until };
        let first = self.stalls.partition_point(|stall| stall.until <= time.since);
        let parts = self.stalls[first..].iter().chain([&current]);
        parts.map(|stall| stall.until.min(time.until).saturating_duration_since(stall.from.max(time.since))).sum()
    }
}

fn nap_forever() {
    loop {
        std::thread::sleep(NAP);
        let mut late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, until) = (late.due, Instant::now());
        if until > from + STALL {
            late.stalls.push(Stall { from, until });
        }
        late.due = Instant::now() + NAP;
    }
}

/// Begins to notice when the machine stands still.
pub fn notice_stalls() {
    LazyLock::force(&LATE);
}

/// The time from one moment to another.
#[derive(Clone, Copy)]
pub struct Took {
    since: Instant,
    until: Instant,
}

impl Took {
    pub fn since(since: impl Into<Instant>) -> Self {
        Self::between(since, Instant::now())
    }

    /// Zero if the second moment is before the first.
    pub fn between(since: impl Into<Instant>, until: impl Into<Instant>) -> Self {
        Self { since: since.into(), until: until.into() }
    }

    /// By the clock on the wall.
    pub fn real(self) -> Duration {
        self.until.saturating_duration_since(self.since)
    }

    /// Without the times when a thread that slept should have run, and did not: the service's threads waited for a processor too. What a
    /// timer of the service has to be excluded by is [`Self::real`].
    pub fn running(self) -> Duration {
        let late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
        self.real().saturating_sub(late.during(self))
    }

    pub fn is_within(self, limit: Duration) -> bool {
        self.running() < limit
    }

    #[track_caller]
    pub fn assert_within(self, limit: Duration, what: impl fmt::Display) {
        assert!(self.is_within(limit), "{what}: {self:?}; at most {limit:?} of that");
    }
}

impl fmt::Debug for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, of which the machine ran {:?}", self.real(), self.running())
    }
}

#[test]
fn time_in_which_the_machine_stood_still_does_not_count() {
    let begin = Instant::now();
    let at = |ms| begin + Duration::from_millis(ms);
    let stall = |from, until| Stall { from: at(from), until: at(until) };
    let late = Late { due: at(950), stalls: vec![stall(0, 90), stall(200, 400), stall(500, 600), stall(800, 900)] };
    for (since, until, expected) in [
        (100, 190, 0),
        (100, 300, 100),
        (250, 550, 200),
        (100, 700, 300),
        (0, 940, 490),
        (900, 1_000, 50),
        (700, 700, 0),
    ] {
        let during = late.during(Took::between(at(since), at(until)));
        assert_eq!(during, Duration::from_millis(expected), "from {since} to {until}");
    }
}
