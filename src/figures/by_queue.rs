//! What is counted by queue. The busiest have a label each, all others one together, so that there are no more than somebody can
//! look at, and sums are right. What a queue did under one label stays there: a counter that fell would look like a restart.

use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::{Duration, Instant},
};

use foldhash::HashMap;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec};

use super::family;

/// The label of those that have none of their own. A queue of this name has none.
pub const OTHER: &str = "other";
/// So many have one, unless an operator says otherwise.
const DEFAULT_LABELS: usize = 200;
/// How often it is looked who they are.
const RANK_INTERVAL: Duration = Duration::from_secs(60);

/// The counters and histograms by queue.
pub struct QueueMetrics {
    transitions: IntCounterVec,
    wait: HistogramVec,
    held: HistogramVec,
    seats: RwLock<LabelledQueues>,
}

/// Who has a label.
struct LabelledQueues {
    max_labels: usize,
    named: HashMap<String, Series>,
    other: Series,
    busy: HashMap<String, Activity>,
    ranked: Option<Instant>,
}

/// What is counted under one label. To look a series up by its labels costs more than to count.
struct Series {
    label: String,
    transitions: RwLock<Vec<(&'static str, IntCounter)>>,
    wait: Histogram,
    held: Histogram,
}

/// What was last heard of a queue, and how much it did of late: each time half of what it was before, and what is new.
#[derive(Default)]
struct Activity {
    done: u64,
    lately: u64,
}

impl Default for QueueMetrics {
    fn default() -> Self {
        let transitions = family::counter("intray_transitions_total");
        let (wait, held) = (family::histogram("intray_wait_seconds"), family::histogram("intray_held_seconds"));
        let other = Series::new(OTHER, &wait, &held);
        let seats = LabelledQueues {
            max_labels: DEFAULT_LABELS,
            named: HashMap::default(),
            other,
            busy: HashMap::default(),
            ranked: None,
        };
        Self { transitions, wait, held, seats: RwLock::new(seats) }
    }
}

impl Series {
    fn new(label: &str, wait: &HistogramVec, held: &HistogramVec) -> Self {
        let (wait, held) = (wait.with_label_values(&[label]), held.with_label_values(&[label]));
        Self { label: label.to_owned(), transitions: RwLock::default(), wait, held }
    }

    fn count(&self, family: &IntCounterVec, transition: &'static str, n: u64) {
        let known = self.transitions.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counter)) = known.iter().find(|(word, _)| *word == transition) {
            return counter.inc_by(n);
        }
        drop(known);
        let counter = family.with_label_values(&[self.label.as_str(), transition]);
        counter.inc_by(n);
        self.transitions.write().unwrap_or_else(PoisonError::into_inner).push((transition, counter));
    }
}

impl QueueMetrics {
    /// So many queues have a label of their own.
    pub fn label(&self, most: usize) {
        self.write().max_labels = most;
    }

    pub fn count(&self, queue: &str, transition: &'static str, n: u64) {
        self.of(queue, |series| series.count(&self.transitions, transition, n));
    }

    /// Anybody may invent a queue: what has none is counted under none.
    pub fn count_lost(&self, transition: &'static str) {
        self.transitions.with_label_values(&["", transition]).inc();
    }

    /// How long a job stood in line until somebody had it.
    pub fn record_wait(&self, queue: &str, seconds: f64) {
        self.of(queue, |series| series.wait.observe(seconds));
    }

    /// How long somebody had a job that they completed.
    pub fn record_held(&self, queue: &str, seconds: f64) {
        self.of(queue, |series| series.held.observe(seconds));
    }

    /// The queues that have a label of their own.
    pub fn labelled(&self) -> HashSet<String> {
        self.read().named.keys().cloned().collect()
    }

    /// As Prometheus reads them.
    pub fn rendered(&self) -> String {
        family::rendered(&[&self.transitions, &self.wait, &self.held])
    }

    /// Hears of every queue how much was done in it since it came into being, by all instances, so that they come to the same
    /// labels; `None`: nobody knows at the moment. Now and then the labels go to the busiest, and those of queues that are gone
    /// are free.
    pub fn rank(&self, done: &[(&str, Option<u64>)]) {
        let is_due = |seats: &LabelledQueues| seats.ranked.is_none_or(|at| at.elapsed() >= RANK_INTERVAL);
        if is_due(&self.read()) {
            let mut seats = self.write();
            seats.ranked = Some(Instant::now());
            self.assign_labels(&mut seats, done);
        }
    }

    fn assign_labels(&self, seats: &mut LabelledQueues, done: &[(&str, Option<u64>)]) {
        let there: HashSet<&str> = done.iter().map(|(queue, _)| *queue).collect();
        seats.busy.retain(|queue, _| there.contains(queue.as_str()));
        for (queue, now) in done {
            let busy = seats.busy.entry((*queue).to_owned()).or_default();
            let now = now.unwrap_or(busy.done);
            busy.lately = busy.lately / 2 + now.saturating_sub(busy.done);
            busy.done = now;
        }
        let gone: Vec<_> = seats.named.keys().filter(|queue| !there.contains(queue.as_str())).cloned().collect();
        gone.iter().for_each(|queue| self.remove_label(seats, queue));
        for (out, new) in seats.changes() {
            if let Some(out) = out {
                self.remove_label(seats, &out);
            }
            let series = Series::new(&new, &self.wait, &self.held);
            seats.named.insert(new, series);
        }
    }

    fn remove_label(&self, seats: &mut LabelledQueues, queue: &str) {
        let Some(series) = seats.named.remove(queue) else { return };
        for (transition, _) in series.transitions.into_inner().unwrap_or_else(PoisonError::into_inner) {
            // Where it is not there any more, all is well.
            let _ = self.transitions.remove_label_values(&[queue, transition]);
        }
        let _ = (self.wait.remove_label_values(&[queue]), self.held.remove_label_values(&[queue]));
    }

    fn of(&self, queue: &str, count: impl FnOnce(&Series)) {
        let seats = self.read();
        if let Some(series) = seats.named.get(queue) {
            return count(series);
        }
        if !seats.has_room_for(queue) {
            return count(&seats.other);
        }
        drop(seats);
        let mut seats = self.write();
        if seats.has_room_for(queue) {
            let series = || Series::new(queue, &self.wait, &self.held);
            count(seats.named.entry(queue.to_owned()).or_insert_with(series));
        } else {
            count(&seats.other);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, LabelledQueues> {
        self.seats.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, LabelledQueues> {
        self.seats.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LabelledQueues {
    fn has_room_for(&self, queue: &str) -> bool {
        self.named.len() < self.max_labels && queue != OTHER
    }

    /// Who gets a label, each with who gives one up for it. A label goes to somebody else only where they do more than twice as
    /// much: figures that change places all the time tell nobody anything.
    fn changes(&self) -> Vec<(Option<String>, String)> {
        let lately = |queue: &str| self.busy.get(queue).map_or(0, |busy| busy.lately);
        let mut seated: Vec<_> = self.named.keys().map(|queue| (lately(queue), queue)).collect();
        seated.sort_unstable_by(|one, other| other.cmp(one));
        let is_new = |queue: &&String| !self.named.contains_key(*queue) && *queue != OTHER;
        let mut waiting: Vec<_> = self.busy.keys().filter(is_new).map(|queue| (lately(queue), queue)).collect();
        waiting.sort_unstable_by(|one, other| other.cmp(one));
        let (mut free, mut changes) = (self.max_labels.saturating_sub(seated.len()), Vec::new());
        for (busy, queue) in waiting {
            if free > 0 {
                free -= 1;
                changes.push((None, queue.clone()));
            } else if let Some((_, out)) = seated.pop_if(|(least, _)| busy > *least * 2) {
                changes.push((Some(out.clone()), queue.clone()));
            } else {
                break;
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests;
