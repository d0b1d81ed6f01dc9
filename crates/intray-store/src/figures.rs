//! Metrics by queue. The busiest queues have a label each and all others share one, which bounds the number of series and keeps
//! sums right. What was counted under a label stays there: a counter that fell would look like a restart.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use foldhash::HashMap;
use parking_lot::RwLock;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, core::Collector};

use crate::job::Tally;

/// The label that all other queues share. A queue of this name gets no label of its own.
pub const OTHER: &str = "other";
/// Labels unless `--metrics-queues` sets another number.
const DEFAULT_LABELS: usize = 200;
/// Time between two rankings of the queues.
const RANK_INTERVAL: Duration = Duration::from_secs(60);

/// The counters and histograms by queue.
pub struct QueueMetrics {
    transitions: IntCounterVec,
    wait: HistogramVec,
    held: HistogramVec,
    seats: RwLock<LabelledQueues>,
}

/// The queues that have a label.
struct LabelledQueues {
    max_labels: usize,
    named: HashMap<String, Series>,
    other: Series,
    busy: HashMap<String, Activity>,
    ranked: Option<Instant>,
}

/// The series of one label, kept because a lookup by labels costs more than the increment.
struct Series {
    label: String,
    transitions: RwLock<Vec<(&'static str, IntCounter)>>,
    wait: Histogram,
    held: Histogram,
}

/// The transitions of a queue so far, and its recent activity: at each ranking half of the previous value plus the new ones.
#[derive(Default)]
struct Activity {
    done: u64,
    lately: u64,
}

impl Default for QueueMetrics {
    fn default() -> Self {
        let transitions = intray_metrics::TRANSITIONS_TOTAL.create();
        let (wait, held) = (intray_metrics::WAIT_SECONDS.create(), intray_metrics::HELD_SECONDS.create());
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
        let known = self.transitions.read();
        if let Some((_, counter)) = known.iter().find(|(word, _)| *word == transition) {
            return counter.inc_by(n);
        }
        drop(known);
        let counter = family.with_label_values(&[self.label.as_str(), transition]);
        counter.inc_by(n);
        self.transitions.write().push((transition, counter));
    }
}

impl QueueMetrics {
    /// Sets how many queues have a label of their own.
    pub fn label(&self, max: usize) {
        self.seats.write().max_labels = max;
    }

    /// Counts transitions made by this instance.
    pub fn count(&self, queue: &str, transition: &'static str, n: u64) {
        if n > 0 {
            self.of(queue, |series| series.count(&self.transitions, transition, n));
        }
    }

    /// Counts a call without a valid reservation. A caller can invent a reservation and its queue, so the queue is no label.
    pub fn count_lost(&self) {
        self.transitions.with_label_values(&["", Tally::Lost.word()]).inc();
    }

    /// Records how long a job waited until its first reservation.
    pub fn record_wait(&self, queue: &str, seconds: f64) {
        self.of(queue, |series| series.wait.observe(seconds));
    }

    /// Records how long a completed job was reserved.
    pub fn record_held(&self, queue: &str, seconds: f64) {
        self.of(queue, |series| series.held.observe(seconds));
    }

    /// The queues that have a label of their own.
    pub fn labelled(&self) -> HashSet<String> {
        self.seats.read().named.keys().cloned().collect()
    }

    /// The Prometheus text of these metrics.
    pub fn rendered(&self) -> String {
        intray_metrics::rendered([self.transitions.collect(), self.wait.collect(), self.held.collect()].concat())
    }

    /// Ranks the queues at most once per [`RANK_INTERVAL`] and gives the labels to the busiest; labels of deleted queues are freed.
    /// `done` has the transitions of each queue by all instances since its creation, so that every instance chooses the same
    /// labels; `None`: unknown at the moment.
    pub fn rank(&self, done: &[(&str, Option<u64>)]) {
        let is_due = |seats: &LabelledQueues| seats.ranked.is_none_or(|at| at.elapsed() >= RANK_INTERVAL);
        if is_due(&self.seats.read()) {
            let mut seats = self.seats.write();
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
        for (transition, _) in series.transitions.into_inner() {
            // A series that is gone already is fine.
            let _ = self.transitions.remove_label_values(&[queue, transition]);
        }
        let _ = (self.wait.remove_label_values(&[queue]), self.held.remove_label_values(&[queue]));
    }

    fn of(&self, queue: &str, count: impl FnOnce(&Series)) {
        let seats = self.seats.read();
        if let Some(series) = seats.named.get(queue) {
            return count(series);
        }
        if !seats.has_room_for(queue) {
            return count(&seats.other);
        }
        drop(seats);
        let mut seats = self.seats.write();
        if seats.has_room_for(queue) {
            let series = || Series::new(queue, &self.wait, &self.held);
            count(seats.named.entry(queue.to_owned()).or_insert_with(series));
        } else {
            count(&seats.other);
        }
    }
}

impl LabelledQueues {
    fn has_room_for(&self, queue: &str) -> bool {
        self.named.len() < self.max_labels && queue != OTHER
    }

    /// The queues that get a label, each with the queue that loses one for it. A label changes hands only when the new queue is more
    /// than twice as busy: series that come and go all the time are useless.
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
