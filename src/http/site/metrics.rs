//! What is shown to Prometheus: what was counted as it happened, and what is looked up when somebody asks.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use metrics_exporter_prometheus::PrometheusHandle;
use metrics_process::Collector;
use prometheus::GaugeVec;
use tokio::sync::Mutex;

use crate::{
    access::{Caller, Pattern},
    figures::{OTHER, family},
    http::{
        request::reader::Reader,
        response::{counted, problem::Problem},
    },
    job::{QueueName, State as JobState, Total},
    store::{QueueInfo, QueuePage, Queues, StateCounts},
    waiting::Waiting,
};

/// How the label of a queue begins.
const QUEUE: &str = "queue=\"";

/// From when on a look is long, and how many times its length it is good for.
const LONG: Duration = Duration::from_millis(200);
const LASTS: u32 = 5;

/// `GET /metrics`
pub async fn metrics(State(figures): State<Figures>, caller: Caller, reader: Reader) -> Result<Response, Problem> {
    let turn = reader.look().await?;
    let of_queues = figures.look().await;
    let mut all = figures.metrics.render();
    all.push_str(&of_queues);
    let seen = if caller.covers(&Pattern::all()) { all } else { of_callers_queues(&all, &caller) };
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, text)], counted::body(turn, seen.into())).into_response())
}

/// The figures without those of queues that are none of the caller's business, and of those summed with them.
fn of_callers_queues(all: &str, caller: &Caller) -> String {
    let queue = |line: &str| {
        let labels = line.split_once('{')?.1;
        let value = labels.strip_prefix(QUEUE).or_else(|| Some(labels.split_once(&format!(",{QUEUE}"))?.1))?;
        Some(value.split_once('"')?.0.to_owned()).filter(|name| !name.is_empty())
    };
    let sees = |name: &str| name != OTHER && QueueName::parse(name).is_ok_and(|queue| caller.may_see(&queue));
    all.split_inclusive('\n').filter(|line| queue(line).is_none_or(|name| sees(&name))).collect()
}

/// All figures.
#[derive(Clone)]
pub struct Figures {
    queues: Queues,
    waiting: Waiting,
    metrics: PrometheusHandle,
    process: Collector,
    /// The queues that were there when Redis last answered.
    known: Arc<std::sync::Mutex<BTreeSet<QueueName>>>,
    /// Held while the queues are looked at: a crowd that scrapes waits for one look.
    looked: Arc<Mutex<Option<Looked>>>,
}

/// What was seen of queues last.
struct Looked {
    begun: Instant,
    took: Duration,
    text: String,
}

impl Looked {
    /// A look that was long is good for some of its length: scrapes take a part of Redis's time, however many there are.
    fn is_good_since(&self, since: Instant) -> bool {
        self.begun >= since || self.took >= LONG && self.begun.elapsed() < self.took * LASTS
    }
}

impl Figures {
    pub fn new(queues: Queues, waiting: Waiting, metrics: PrometheusHandle) -> Self {
        Self { queues, waiting, metrics, process: Collector::default(), known: Arc::default(), looked: Arc::default() }
    }

    /// What is of queues, as it was seen since this was asked.
    async fn look(&self) -> String {
        let since = Instant::now();
        let mut looked = self.looked.lock().await;
        if let Some(looked) = looked.as_ref().filter(|looked| looked.is_good_since(since)) {
            return looked.text.clone();
        }
        let begun = Instant::now();
        let text = self.look_up().await;
        *looked = Some(Looked { begun, took: begun.elapsed(), text: text.clone() });
        text
    }

    /// Looks up what nobody counts, and renders what is of queues.
    async fn look_up(&self) -> String {
        self.process.collect();
        let (open, most) = self.queues.connections();
        metrics::gauge!("intray_redis_connections").set(open as f64);
        metrics::gauge!("intray_redis_connections_max").set(most as f64);
        metrics::gauge!("intray_waiters").set(self.waiting.count() as f64);
        metrics::gauge!("intray_build_info", "version" => env!("CARGO_PKG_VERSION"), "commit" => env!("BUILT_COMMIT"))
            .set(1.0);
        if let Some(bytes) = crate::memory::allocated() {
            metrics::gauge!("intray_allocated_bytes").set(bytes as f64);
        }
        let page = self.queues.queues().await;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Of what is away nobody knows now, and old figures would look like new ones.
        let (there, away) = match page {
            Ok(QueuePage { queues, unavailable, .. }) => {
                *known = queues.iter().map(|queue| queue.name.clone()).chain(unavailable.iter().cloned()).collect();
                self.queues.figures().rank(&done(&queues, &unavailable));
                (queues, unavailable)
            }
            Err(_) => (Vec::new(), known.iter().cloned().collect()),
        };
        let figures = self.queues.figures();
        figures.rendered() + &now(&figures.labelled(), &there, &away)
    }
}

/// How much was done in each queue since it came into being, as its busiest are found by.
fn done<'q>(queues: &'q [QueueInfo], unavailable: &'q [QueueName]) -> Vec<(&'q str, Option<u64>)> {
    let of = |queue: &QueueInfo| queue.totals.get(Total::Enqueued) + queue.totals.get(Total::HandedOut);
    let there = queues.iter().map(|queue| (queue.name.as_str(), Some(of(queue))));
    there.chain(unavailable.iter().map(|queue| (queue.as_str(), None))).collect()
}

/// What is so at this moment: those without a label of their own together, of whom the oldest job is anybody's.
fn now(named: &HashSet<String>, there: &[QueueInfo], away: &[QueueName]) -> String {
    let (jobs, oldest) = (family::gauge("intray_jobs"), family::gauge("intray_oldest_waiting_seconds"));
    let label = |queue: &QueueName| named.get(queue.as_str()).map_or(OTHER, String::as_str).to_owned();
    for queue in there {
        let name = label(&queue.name);
        for state in JobState::ALL {
            jobs.with_label_values(&[&name, state.word()]).add(count(&queue.counts, state) as f64);
        }
        let age = oldest.with_label_values(&[&name]);
        age.set(age.get().max(queue.oldest_waiting_ms.unwrap_or(0) as f64 / 1e3));
    }
    away.iter().for_each(|queue| unknown(&jobs, &oldest, &label(queue)));
    family::rendered(&[&jobs, &oldest])
}

/// A sum of which a part is not known is not known.
fn unknown(jobs: &GaugeVec, oldest: &GaugeVec, label: &str) {
    for state in JobState::ALL {
        jobs.with_label_values(&[label, state.word()]).set(f64::NAN);
    }
    oldest.with_label_values(&[label]).set(f64::NAN);
}

fn count(counts: &StateCounts, state: JobState) -> u64 {
    match state {
        JobState::Waiting => counts.waiting,
        JobState::Blocked => counts.blocked,
        JobState::Delayed => counts.delayed,
        JobState::Reserved => counts.reserved,
        JobState::Completed => counts.completed,
        JobState::Dead => counts.dead,
        JobState::Cancelled => counts.cancelled,
    }
}
