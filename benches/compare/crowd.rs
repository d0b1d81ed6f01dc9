//! A closed loop: each caller calls again when it has its answer. It measures the capacity of the machine, not the
//! waiting time of callers that keep arriving when the server slows down.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::{
    meter::{Meter, Used},
    numbers::{median, percentile},
    rig::{stock::Numbers, ways::Worker},
};

/// A caller with a connection of its own.
pub trait Caller {
    /// The whole life of a job. The number is unique.
    async fn cycle(&mut self, n: u64);
}

impl Caller for Worker {
    async fn cycle(&mut self, n: u64) {
        Worker::cycle(self, n).await;
    }
}

#[derive(Clone, Copy)]
pub struct Span {
    pub warm_up: Duration,
    pub measured: Duration,
}

/// One round, per cycle unless stated otherwise. Latencies in milliseconds, CPU time in microseconds.
#[derive(Clone, Copy)]
pub struct Sample {
    pub per_s: f64,
    pub server: f64,
    pub redis: f64,
    pub own: f64,
    pub others: f64,
    pub scripts: f64,
    pub commands: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
}

impl Sample {
    pub fn new(used: &Used, mut latencies: Vec<f64>) -> Self {
        latencies.sort_by(f64::total_cmp);
        let n = latencies.len() as f64;
        Self {
            per_s: n / used.seconds,
            server: used.server / n,
            redis: used.redis / n,
            own: used.own / n,
            others: used.others,
            scripts: used.scripts / n,
            commands: used.commands / n,
            p50: percentile(&latencies, 0.5),
            p99: percentile(&latencies, 0.99),
            p999: percentile(&latencies, 0.999),
        }
    }

    /// The median of each figure over the rounds.
    pub fn of(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(&rounds.iter().map(figure).collect::<Vec<_>>());
        Self {
            per_s: of(|round| round.per_s),
            server: of(|round| round.server),
            redis: of(|round| round.redis),
            own: of(|round| round.own),
            others: of(|round| round.others),
            scripts: of(|round| round.scripts),
            commands: of(|round| round.commands),
            p50: of(|round| round.p50),
            p99: of(|round| round.p99),
            p999: of(|round| round.p999),
        }
    }
}

/// All callers run at once.
pub async fn round(callers: &mut [impl Caller], numbers: &Numbers, meter: &Meter<'_>, span: Span) -> Sample {
    let start = Instant::now();
    let (measuring, end) = (start + span.warm_up, start + span.warm_up + span.measured);
    let used = async {
        tokio::time::sleep_until(measuring.into()).await;
        let before = meter.read();
        tokio::time::sleep_until(end.into()).await;
        meter.since(&before)
    };
    let working = join_all(callers.iter_mut().map(|caller| work(caller, numbers, end)));
    let (used, cycles) = tokio::join!(used, working);
    // Only cycles that ended during the measurement: the meter may have been read late.
    let cycles = cycles.into_iter().flatten().filter(|(at, _)| used.between.contains(at));
    Sample::new(&used, cycles.map(|(_, latency)| latency).collect())
}

/// When each cycle ended, and how long it took.
async fn work(caller: &mut impl Caller, numbers: &Numbers, end: Instant) -> Vec<(Instant, f64)> {
    let mut cycles = Vec::new();
    loop {
        let start = Instant::now();
        if start >= end {
            return cycles;
        }
        caller.cycle(numbers.next()).await;
        cycles.push((Instant::now(), start.elapsed().as_secs_f64() * 1e3));
    }
}
