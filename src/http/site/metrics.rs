//! Metrics in Prometheus's format: counters, and gauges that are read from the store at each scrape.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use prometheus::{GaugeVec, core::Collector};
use tokio::sync::Mutex;

use crate::{
    access::{Caller, Pattern},
    figures::OTHER,
    http::{
        request::reader::ReadCall,
        response::{counted, problem::Problem},
    },
    job::{QueueName, State as JobState, Total},
    store::{QueueInfo, QueuePage, Queues, StateCounts},
    waiting::Waiting,
    webhooks::Dispatcher,
};

const WEBHOOK: &str = "webhook";
/// The start of a queue label.
const QUEUE: &str = "queue=\"";

/// A read of queues that takes this long is reused for `REUSE_FACTOR` times its duration.
const LONG_SCRAPE: Duration = Duration::from_millis(200);
const REUSE_FACTOR: u32 = 5;

/// `GET /metrics`
pub async fn metrics(
    State(figures): State<MetricsPage>,
    caller: Caller,
    reader: ReadCall,
) -> Result<Response, Problem> {
    let turn = reader.read_permit().await?;
    let of_queues = figures.look().await;
    let mut all = intray_metrics::gather();
    all.push_str(&of_queues);
    let hidden = figures.hidden_webhooks(&caller);
    let seen = if caller.covers(&Pattern::all()) { all } else { of_callers_queues(&all, &caller, &hidden) };
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, text)], counted::body(turn, seen.into())).into_response())
}

/// The metrics without those of queues and webhooks that the caller may not see, and without sums that include such queues.
fn of_callers_queues(all: &str, caller: &Caller, hidden: &[String]) -> String {
    let queue = |line: &str| {
        let labels = line.split_once('{')?.1;
        let value = labels.strip_prefix(QUEUE).or_else(|| Some(labels.split_once(&format!(",{QUEUE}"))?.1))?;
        Some(value.split_once('"')?.0.to_owned()).filter(|name| !name.is_empty())
    };
    let sees = |name: &str| name != OTHER && QueueName::parse(name).is_ok_and(|queue| caller.may_see(&queue));
    let is_shown = |line: &&str| {
        queue(line).is_none_or(|name| sees(&name)) && !hidden.iter().any(|label| line.contains(label.as_str()))
    };
    all.split_inclusive('\n').filter(is_shown).collect()
}

/// All metrics.
#[derive(Clone)]
pub struct MetricsPage {
    queues: Queues,
    waiting: Waiting,
    dispatcher: Dispatcher,
    /// The queues at the last successful read.
    known: Arc<parking_lot::Mutex<BTreeSet<QueueName>>>,
    /// Locked while queues are read, so that concurrent scrapes share one read.
    looked: Arc<Mutex<Option<RenderedQueues>>>,
}

/// The last rendered metrics of queues.
struct RenderedQueues {
    begun: Instant,
    took: Duration,
    text: String,
}

impl RenderedQueues {
    /// A slow read is reused for some time, so that scrapes take a bounded part of Redis's time.
    fn is_good_since(&self, since: Instant) -> bool {
        self.begun >= since || self.took >= LONG_SCRAPE && self.begun.elapsed() < self.took * REUSE_FACTOR
    }
}

impl MetricsPage {
    pub fn new(queues: Queues, waiting: Waiting, dispatcher: Dispatcher) -> Self {
        Self { queues, waiting, dispatcher, known: Arc::default(), looked: Arc::default() }
    }

    /// The metrics of queues, not older than this call.
    async fn look(&self) -> String {
        let since = Instant::now();
        let mut looked = self.looked.lock().await;
        if let Some(looked) = looked.as_ref().filter(|looked| looked.is_good_since(since)) {
            return looked.text.clone();
        }
        let begun = Instant::now();
        let text = self.look_up().await;
        *looked = Some(RenderedQueues { begun, took: begun.elapsed(), text: text.clone() });
        text
    }

    /// Reads gauges, and renders the metrics of queues.
    async fn look_up(&self) -> String {
        let (open, max) = self.queues.connections();
        intray_metrics::REDIS_CONNECTIONS.of(&[]).set(open as f64);
        intray_metrics::REDIS_CONNECTIONS_MAX.of(&[]).set(max as f64);
        intray_metrics::WAITERS.of(&[]).set(self.waiting.count() as f64);
        intray_metrics::BUILD_INFO.of(&[env!("CARGO_PKG_VERSION"), env!("BUILT_COMMIT")]).set(1.0);
        self.set_webhooks();
        if let Some(bytes) = crate::memory::allocated() {
            intray_metrics::ALLOCATED_BYTES.of(&[]).set(bytes as f64);
        }
        let page = self.queues.queues().await;
        let mut known = self.known.lock();
        // Removes the gauges of unreachable queues, because old values would look current.
        let (there, away) = match page {
            Ok(QueuePage { queues, unavailable, .. }) => {
                *known = queues.iter().map(|queue| queue.name.clone()).chain(unavailable.iter().cloned()).collect();
                self.queues.figures().rank(&done(&queues, &unavailable));
                (queues, unavailable)
            }
            Err(_) => (Vec::new(), known.iter().cloned().collect()),
        };
        let figures = self.queues.figures();
        intray_metrics::process() + &figures.rendered() + &now(&figures.labelled(), &there, &away)
    }

    /// Also removes those of webhooks that have left the file.
    fn set_webhooks(&self) {
        let all = self.dispatcher.last_counts();
        let is_there = |name: &str| all.iter().any(|(webhook, _)| webhook.name.as_str() == name);
        intray_metrics::WEBHOOK_DELIVERIES_TOTAL.retain(WEBHOOK, is_there);
        intray_metrics::WEBHOOK_LOST_TOTAL.retain(WEBHOOK, is_there);
        for gauge in [&intray_metrics::WEBHOOK_WAITING, &intray_metrics::WEBHOOK_OLDEST_SECONDS] {
            gauge.retain(WEBHOOK, is_there);
        }
        for (webhook, counts) in all {
            let name = &[webhook.name.as_str()];
            intray_metrics::WEBHOOK_WAITING.of(name).set(counts.waiting as f64);
            intray_metrics::WEBHOOK_OLDEST_SECONDS.of(name).set(counts.oldest.unwrap_or_default().as_secs_f64());
            let lost = intray_metrics::WEBHOOK_LOST_TOTAL.of(name);
            lost.inc_by(counts.lost.saturating_sub(lost.get()));
        }
    }

    /// The labels of webhooks that may send events of queues that the caller may not see.
    fn hidden_webhooks(&self, caller: &Caller) -> Vec<String> {
        let mut webhooks = self.dispatcher.all();
        webhooks.retain(|webhook| !caller.covers(&webhook.pattern));
        webhooks.iter().map(|webhook| format!("webhook=\"{}\"", webhook.name.as_str())).collect()
    }
}

/// Totals of each queue since it was created.
fn done<'q>(queues: &'q [QueueInfo], unavailable: &'q [QueueName]) -> Vec<(&'q str, Option<u64>)> {
    let of = |queue: &QueueInfo| queue.totals.get(Total::Enqueued) + queue.totals.get(Total::HandedOut);
    let there = queues.iter().map(|queue| (queue.name.as_str(), Some(of(queue))));
    there.chain(unavailable.iter().map(|queue| (queue.as_str(), None))).collect()
}

/// Gauges of queues; those without a label of their own are summed, and their oldest job is the oldest of all.
fn now(named: &HashSet<String>, there: &[QueueInfo], away: &[QueueName]) -> String {
    let (jobs, oldest) = (intray_metrics::JOBS.create(), intray_metrics::OLDEST_WAITING_SECONDS.create());
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
    intray_metrics::rendered([jobs.collect(), oldest.collect()].concat())
}

/// A sum with an unknown part is unknown.
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
