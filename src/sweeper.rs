//! The background task: expires leases, makes delayed jobs due, and removes old jobs. Every instance runs it, once a second by
//! default; its steps are idempotent, so instances need no leader. It continues after any fault.

mod erasures;
mod memory_probe;
mod minute;
mod unreachable;

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use self::{erasures::Erasures, memory_probe::MemoryProbe, minute::Minute, unreachable::Unreachable};
use crate::{
    job::{QueueName, chance::between},
    sheets::Sheets,
    store::{Entered, Fault, Queues, Swept},
};

/// Each queue is checked at least this often, because another instance may have stopped.
const CHECK_EVERY: Duration = Duration::from_secs(10);
/// Each queue is swept at least this often, due or not: the events of an empty queue have no deadline.
const MAX_SWEEP_INTERVAL_MS: u64 = 600_000;
/// How often unused queues and function libraries are removed.
const TIDY_EVERY: Duration = Duration::from_secs(600);
/// A queue is swept after this many calls that moved jobs, due or not, because the sweep trims the events.
const SWEEP_AFTER_CALLS: u32 = 256;
/// How long a round waits for the tally of one queue.
const TALLY_TIME: Duration = Duration::from_millis(500);
/// Queues checked in one pipeline: few enough not to delay other calls.
const MAX_PIPELINED: usize = 64;

/// Sweeps once per period with jitter, and at once while there is more to do, until it is stopped.
pub async fn run(sheets: Sheets, period: Duration, stop: CancellationToken) {
    let (mut sweeper, mut pause) = (Sweeper::new(sheets, period), jittered(period));
    while stop.run_until_cancelled(until_next(&mut sweeper, pause)).await.is_some() {
        // A round that has begun is finished, because it is short.
        pause = match sweeper.round().await {
            Ok(true) => Duration::ZERO,
            Ok(false) => jittered(period),
            Err(fault) => {
                sweeper.queues.log_failure(sweep_failed, "the sweep", fault.to_string());
                jittered(period)
            }
        };
    }
}

fn sweep_failed(_: &'static str, fault: &str, times: u64) {
    tracing::warn!(fault, times, "the sweep failed and is retried in the next period");
}

/// Pauses. A call that was refused by a full Redis ends the pause early, if memory is short.
async fn until_next(sweeper: &mut Sweeper, pause: Duration) {
    let end = tokio::time::Instant::now() + pause;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end) => return,
            () = sweeper.queues.room_is_wanted() => {}
        }
        sweeper.memory.refresh(&sweeper.queues, true).await;
        if sweeper.queues.is_memory_short() {
            return;
        }
        sweeper.queues.end_round(true, |_| false);
    }
}

/// Up to a tenth earlier or later, so that instances do not sweep at the same moment.
fn jittered(period: Duration) -> Duration {
    let ms = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(between(ms - ms / 10, ms.saturating_add(ms / 10)))
}

/// When to check a queue, and when to sweep it in any case.
#[derive(Clone, Copy)]
struct Visit {
    look: Instant,
    sweep: Instant,
    /// Calls of this instance that have moved jobs since the last sweep.
    moved: u32,
    /// When to record its counts in its history.
    record: Option<Instant>,
}

impl Visit {
    /// The state after a sweep, or of a queue that was just found.
    fn new(look: Instant, sweep: Instant) -> Self {
        Self { look, sweep, moved: 0, record: None }
    }
}

/// The schedule of all queues.
pub struct Sweeper {
    queues: Queues,
    sheets: Sheets,
    period: Duration,
    visits: HashMap<QueueName, Visit>,
    listed: Option<Instant>,
    asked: Option<Instant>,
    retired: Instant,
    tidied: Option<Instant>,
    minute: Minute,
    memory: MemoryProbe,
    erasures: Erasures,
}

impl Sweeper {
    pub fn new(sheets: Sheets, period: Duration) -> Self {
        let retired = Instant::now();
        Self {
            queues: sheets.queues().clone(),
            sheets,
            period,
            visits: HashMap::new(),
            listed: None,
            asked: None,
            retired,
            tidied: None,
            minute: Minute::default(),
            memory: MemoryProbe::default(),
            erasures: Erasures::default(),
        }
    }

    /// Runs a few steps for each queue that is due, so that a large queue does not delay the others. A queue in which this
    /// instance has moved jobs is checked once per period, any other at its next deadline and at least every ten seconds, because
    /// another instance may have stopped. Returns whether there is more to do now.
    ///
    /// # Errors
    /// When Redis is not well. Queues that were not visited stay due.
    pub async fn round(&mut self) -> Result<bool, Fault> {
        let (start, is_room_wanted) = (Instant::now(), self.queues.is_room_wanted());
        self.memory.refresh(&self.queues, is_room_wanted).await;
        if self.listed.is_none_or(|at| at.elapsed() >= CHECK_EVERY) {
            self.list().await?;
        }
        if self.asked.is_none_or(|at| at.elapsed() >= self.period / 2) {
            self.asked = Some(start);
            for (queue, moved) in self.queues.take_active() {
                let visit = self.visits.entry(queue).or_insert_with(|| Visit::new(start, start + max_sweep_interval()));
                (visit.look, visit.moved) = (start, visit.moved.saturating_add(moved));
                visit.record.get_or_insert(self.minute.end(start));
                if visit.moved >= SWEEP_AFTER_CALLS {
                    visit.sweep = start;
                }
            }
        }
        let (mut more, mut unreachable, mut forgot_in) = (false, Unreachable::default(), HashSet::new());
        for queue in self.due(start, &mut unreachable).await {
            more |= self.step(queue, &mut unreachable, &mut forgot_in).await;
        }
        more |= self.shorten_retention(is_room_wanted, &forgot_in);
        self.record(&mut unreachable).await;
        self.erasures.visit(&self.queues, &mut unreachable).await;
        intray_metrics::SWEEP_DURATION_SECONDS.of(&[]).observe(start.elapsed().as_secs_f64());
        if self.retired.elapsed() >= TIDY_EVERY {
            self.retired = Instant::now();
            self.queues.retire_unseen().await?;
        }
        if self.tidied.is_none_or(|at| at.elapsed() >= TIDY_EVERY) {
            self.tidied = Some(Instant::now());
            self.queues.tidy_libraries().await?;
        }
        match unreachable.why {
            Some(fault) if !more => Err(fault),
            _ => Ok(more),
        }
    }

    /// The queues to sweep. A queue whose check is due is read first.
    async fn due(&mut self, start: Instant, unreachable: &mut Unreachable) -> Vec<QueueName> {
        let (mut sweeps, mut looks) = (Vec::new(), Vec::new());
        for (queue, visit) in &self.visits {
            if visit.sweep <= start {
                sweeps.push(queue.clone());
            } else if visit.look <= start {
                looks.push(queue.clone());
            }
        }
        for some in looks.chunks(MAX_PIPELINED) {
            let there: Vec<_> = some.iter().filter(|queue| !unreachable.has(&self.queues, queue)).collect();
            let answers = futures_util::future::join_all(there.iter().map(|queue| self.queues.next_due(queue))).await;
            for (queue, answer) in there.into_iter().zip(answers) {
                match unreachable.record(&self.queues, queue, answer) {
                    Some(Some(0)) => sweeps.push(queue.clone()),
                    // The queue stays due.
                    None if unreachable.has(&self.queues, queue) => {}
                    next_ms => {
                        let look = next_check(Instant::now(), next_ms.flatten());
                        self.visits.entry(queue.clone()).and_modify(|visit| visit.look = look);
                    }
                }
            }
        }
        sweeps
    }

    /// Shortens the retention where memory is short and no old job is left. Returns whether there is more to do now.
    fn shorten_retention(&mut self, was_wanted: bool, forgot_in: &HashSet<u16>) -> bool {
        let tightened = self.queues.end_round(was_wanted, |shard| forgot_in.contains(&shard));
        if !tightened.is_empty() {
            let now = Instant::now();
            let is_there = |queue: &QueueName| tightened.contains(&self.queues.shard(queue));
            self.visits.iter_mut().filter(|(queue, _)| is_there(queue)).for_each(|(_, visit)| visit.look = now);
        }
        !tightened.is_empty() || self.queues.is_room_wanted()
    }

    async fn step(&mut self, queue: QueueName, unreachable: &mut Unreachable, forgot_in: &mut HashSet<u16>) -> bool {
        if unreachable.has(&self.queues, &queue) {
            return false;
        }
        let (next_ms, more) = match unreachable.record(&self.queues, &queue, self.sweep(&queue).await) {
            Some(Swept { next_ms, more, forgotten, .. }) => {
                if more || forgotten > 0 {
                    forgot_in.insert(self.queues.shard(&queue));
                }
                (next_ms, more)
            }
            None if unreachable.has(&self.queues, &queue) => return false,
            None => (None, false),
        };
        let now = Instant::now();
        let (sweep, look) = (if more { now } else { now + max_sweep_interval() }, next_check(now, next_ms));
        // The sweep itself has counts to record, and possibly those of an instance that has stopped.
        let end = self.minute.end(now);
        self.visits.entry(queue).and_modify(|visit| {
            let record = visit.record.or(Some(end));
            *visit = Visit { record, ..Visit::new(look, sweep) };
        });
        more
    }

    /// One turn. A tally that is late counts before the events go.
    async fn sweep(&self, queue: &QueueName) -> Result<Swept, Fault> {
        let swept = self.queues.sweep_a_turn(queue, false).await?;
        if !swept.is_reader_late {
            return Ok(swept);
        }
        match tokio::time::timeout(TALLY_TIME, self.sheets.open(queue)).await {
            Ok(Ok(_)) => {}
            Ok(Err(fault @ Fault::Unavailable { .. })) => return Err(fault),
            Ok(Err(fault)) => self.sheets.log_failure(queue, &fault),
            // It continues from there in the next round, and until then nothing is deleted.
            Err(_) => return Ok(Swept { more: true, ..swept }),
        }
        let rest = self.queues.sweep_a_turn(queue, true).await?;
        Ok(Swept { more: swept.more || rest.more, forgotten: swept.forgotten + rest.forgotten, ..rest })
    }

    /// Records the counts in the history of each queue whose minute is over.
    async fn record(&mut self, unreachable: &mut Unreachable) {
        let now = Instant::now();
        let is_over = |visit: &Visit| visit.record.is_some_and(|at| at <= now);
        let over = self.visits.iter().filter(|(queue, visit)| is_over(visit) && !unreachable.has(&self.queues, queue));
        let over: Vec<_> = over.map(|(queue, _)| queue.clone()).collect();
        for some in over.chunks(MAX_PIPELINED) {
            let answers = futures_util::future::join_all(some.iter().map(|queue| self.queues.record(queue))).await;
            for (queue, answer) in some.iter().zip(answers) {
                let entered = unreachable.record(&self.queues, queue, answer);
                if let Some(Entered { minute_ms, .. }) = entered {
                    self.minute.learn(Instant::now(), minute_ms);
                }
                let waits = entered.is_none_or(|entered| entered.waits);
                let record = waits.then(|| self.minute.end(now));
                self.visits.entry(queue.clone()).and_modify(|visit| visit.record = record);
            }
        }
    }

    async fn list(&mut self) -> Result<(), Fault> {
        let names = self.queues.names_and_ours().await?;
        self.visits.retain(|queue, _| names.binary_search(queue).is_ok());
        let now = Instant::now();
        for queue in names {
            // Spread out, so that a new instance does not sweep all queues at once.
            let sweep = || now + Duration::from_millis(between(1, MAX_SWEEP_INTERVAL_MS));
            self.visits.entry(queue).or_insert_with(|| Visit::new(now, sweep()));
        }
        self.listed = Some(now);
        Ok(())
    }
}

fn max_sweep_interval() -> Duration {
    jittered(Duration::from_millis(MAX_SWEEP_INTERVAL_MS))
}

fn next_check(now: Instant, next_ms: Option<u64>) -> Instant {
    now + next_ms.map_or(CHECK_EVERY, Duration::from_millis).min(CHECK_EVERY)
}
