//! The background task: it puts back what is overdue. Every instance runs it, once a second by default; its steps are
//! idempotent, so instances need no leader. It survives any error.

mod minute;
mod scales;

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use self::{minute::Minute, scales::Scales};
use crate::{
    job::{QueueName, chance::between},
    store::{Entered, Fault, Queues, Swept},
};

/// The longest that a queue goes without a look, whoever uses it.
const IDLE: Duration = Duration::from_secs(10);
/// The longest that it goes without a sweep, due or not: events and order of an empty queue go with nothing that is due.
const THOROUGH_MS: u64 = 600_000;
/// How often queues and libraries of functions that nobody uses any more are looked for.
const RETIRE: Duration = Duration::from_secs(600);
/// So many calls that moved jobs make a sweep worth it, whether or not anything is due: it is what trims the events.
const BUSY: u32 = 256;
/// So many queues are looked at together: pipelined, and yet no burst that would hold others up.
const LOOKS: usize = 64;

/// Sweeps once a period, jittered, and as long as there is more to do, until it is stopped.
pub async fn run(queues: Queues, period: Duration, stop: CancellationToken) {
    let (mut sweeper, mut pause) = (Sweeper::new(queues, period), jittered(period));
    while stop.run_until_cancelled(until_next(&mut sweeper, pause)).await.is_some() {
        // A round that is under way is finished: it is bounded, and half of it would be done anyway.
        pause = match sweeper.round().await {
            Ok(true) => Duration::ZERO,
            Ok(false) => jittered(period),
            Err(fault) => {
                tracing::warn!(%fault, "the sweep goes on with its next turn");
                jittered(period)
            }
        };
    }
}

/// A pause. A call that meets a full Redis cuts it short, if memory is what is short.
async fn until_next(sweeper: &mut Sweeper, pause: Duration) {
    let end = tokio::time::Instant::now() + pause;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end) => return,
            () = sweeper.queues.room_is_wanted() => {}
        }
        sweeper.scales.weigh(&sweeper.queues, true).await;
        if sweeper.queues.is_memory_short() {
            return;
        }
        sweeper.queues.end_round(true, |_| false);
    }
}

/// Up to a tenth earlier or later, so that instances do not move in step.
fn jittered(period: Duration) -> Duration {
    let ms = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(between(ms - ms / 10, ms.saturating_add(ms / 10)))
}

/// When a queue is to be looked at, and when it is swept whatever the look says.
#[derive(Clone, Copy)]
struct Visit {
    look: Instant,
    sweep: Instant,
    /// Calls of this instance that have moved jobs of it since it was swept.
    moved: u32,
    /// When what was counted of it is to be entered into its history.
    record: Option<Instant>,
}

impl Visit {
    /// As of a queue that has just been heard of, or swept.
    fn new(look: Instant, sweep: Instant) -> Self {
        Self { look, sweep, moved: 0, record: None }
    }
}

/// Knows when each queue is to be visited next.
pub struct Sweeper {
    queues: Queues,
    period: Duration,
    visits: HashMap<QueueName, Visit>,
    listed: Option<Instant>,
    asked: Option<Instant>,
    retired: Instant,
    tidied: Option<Instant>,
    minute: Minute,
    scales: Scales,
}

impl Sweeper {
    pub fn new(queues: Queues, period: Duration) -> Self {
        let retired = Instant::now();
        Self {
            queues,
            period,
            visits: HashMap::new(),
            listed: None,
            asked: None,
            retired,
            tidied: None,
            minute: Minute::default(),
            scales: Scales::default(),
        }
    }

    /// A few steps of each queue in which something is due, so that one with much to do keeps no other waiting. Those with
    /// jobs moved by this instance are looked at once a period, others when they said that something falls due. All are
    /// looked at every ten seconds, for another instance may have died. Answers whether there is more to do at once.
    ///
    /// # Errors
    /// When Redis is not well; the queues that were not visited stay due.
    pub async fn round(&mut self) -> Result<bool, Fault> {
        let (start, is_room_wanted) = (Instant::now(), self.queues.is_room_wanted());
        self.scales.weigh(&self.queues, is_room_wanted).await;
        if self.listed.is_none_or(|at| at.elapsed() >= IDLE) {
            self.list().await?;
        }
        if self.asked.is_none_or(|at| at.elapsed() >= self.period / 2) {
            self.asked = Some(start);
            for (queue, moved) in self.queues.take_active() {
                let visit = self.visits.entry(queue).or_insert_with(|| Visit::new(start, start + thorough()));
                (visit.look, visit.moved) = (start, visit.moved.saturating_add(moved));
                visit.record.get_or_insert(self.minute.end(start));
                if visit.moved >= BUSY {
                    visit.sweep = start;
                }
            }
        }
        let (mut more, mut away, mut forgot_in) = (false, Unreachable::default(), HashSet::new());
        for queue in self.due(start, &mut away).await {
            more |= self.step(queue, &mut away, &mut forgot_in).await;
        }
        more |= self.forget_earlier(is_room_wanted, &forgot_in);
        self.record(&mut away).await;
        metrics::histogram!("intray_sweep_duration_seconds").record(start.elapsed().as_secs_f64());
        if self.retired.elapsed() >= RETIRE {
            self.retired = Instant::now();
            self.queues.retire_unseen().await?;
        }
        if self.tidied.is_none_or(|at| at.elapsed() >= RETIRE) {
            self.tidied = Some(Instant::now());
            self.queues.tidy_libraries().await?;
        }
        match away.why {
            Some(fault) if !more => Err(fault),
            _ => Ok(more),
        }
    }

    /// The queues to sweep. One whose time for a look has come is asked first whether it needs more.
    async fn due(&mut self, start: Instant, away: &mut Unreachable) -> Vec<QueueName> {
        let (mut sweeps, mut looks) = (Vec::new(), Vec::new());
        for (queue, visit) in &self.visits {
            if visit.sweep <= start {
                sweeps.push(queue.clone());
            } else if visit.look <= start {
                looks.push(queue.clone());
            }
        }
        for some in looks.chunks(LOOKS) {
            let there: Vec<_> = some.iter().filter(|queue| !away.has(&self.queues, queue)).collect();
            let answers = futures_util::future::join_all(there.iter().map(|queue| self.queues.next_due(queue))).await;
            for (queue, answer) in there.into_iter().zip(answers) {
                match away.record(&self.queues, queue, answer) {
                    Some(Some(0)) => sweeps.push(queue.clone()),
                    // It stays due.
                    None if away.has(&self.queues, queue) => {}
                    next_ms => {
                        let look = look_at(Instant::now(), next_ms.flatten());
                        self.visits.entry(queue.clone()).and_modify(|visit| visit.look = look);
                    }
                }
            }
        }
        sweeps
    }

    /// Where memory is short and all that was to be forgotten is gone, younger jobs are next. Answers whether there is more to
    /// do at once.
    fn forget_earlier(&mut self, was_wanted: bool, forgot_in: &HashSet<u16>) -> bool {
        let tightened = self.queues.end_round(was_wanted, |shard| forgot_in.contains(&shard));
        if !tightened.is_empty() {
            let now = Instant::now();
            let is_there = |queue: &QueueName| tightened.contains(&self.queues.shard(queue));
            self.visits.iter_mut().filter(|(queue, _)| is_there(queue)).for_each(|(_, visit)| visit.look = now);
        }
        !tightened.is_empty() || self.queues.is_room_wanted()
    }

    async fn step(&mut self, queue: QueueName, away: &mut Unreachable, forgot_in: &mut HashSet<u16>) -> bool {
        if away.has(&self.queues, &queue) {
            return false;
        }
        let (next_ms, more) = match away.record(&self.queues, &queue, self.queues.sweep_a_turn(&queue).await) {
            Some(Swept { next_ms, more, forgotten, .. }) => {
                if more || forgotten > 0 {
                    forgot_in.insert(self.queues.shard(&queue));
                }
                (next_ms, more)
            }
            None if away.has(&self.queues, &queue) => return false,
            None => (None, false),
        };
        let now = Instant::now();
        let (sweep, look) = (if more { now } else { now + thorough() }, look_at(now, next_ms));
        // What it moved is counted; and what an instance has counted that is gone, another enters.
        let end = self.minute.end(now);
        self.visits.entry(queue).and_modify(|visit| {
            let record = visit.record.or(Some(end));
            *visit = Visit { record, ..Visit::new(look, sweep) };
        });
        more
    }

    /// Enters what was counted into the history of each queue whose minute is over.
    async fn record(&mut self, away: &mut Unreachable) {
        let now = Instant::now();
        let is_over = |visit: &Visit| visit.record.is_some_and(|at| at <= now);
        let over = self.visits.iter().filter(|(queue, visit)| is_over(visit) && !away.has(&self.queues, queue));
        let over: Vec<_> = over.map(|(queue, _)| queue.clone()).collect();
        for some in over.chunks(LOOKS) {
            let answers = futures_util::future::join_all(some.iter().map(|queue| self.queues.record(queue))).await;
            for (queue, answer) in some.iter().zip(answers) {
                let entered = away.record(&self.queues, queue, answer);
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
            // Not all at once when an instance starts.
            let sweep = || now + Duration::from_millis(between(1, THOROUGH_MS));
            self.visits.entry(queue).or_insert_with(|| Visit::new(now, sweep()));
        }
        self.listed = Some(now);
        Ok(())
    }
}

fn thorough() -> Duration {
    jittered(Duration::from_millis(THOROUGH_MS))
}

fn look_at(now: Instant, next_ms: Option<u64>) -> Instant {
    now + next_ms.map_or(IDLE, Duration::from_millis).min(IDLE)
}

/// The servers that did not answer in this round: the one there is, or some of a cluster's.
#[derive(Default)]
struct Unreachable {
    shards: HashSet<u16>,
    why: Option<Fault>,
}

impl Unreachable {
    fn has(&self, queues: &Queues, queue: &QueueName) -> bool {
        queues.is_lost(queue) || !self.shards.is_empty() && self.shards.contains(&queues.shard(queue))
    }

    /// What is wrong with one queue is no reason to leave the others; where its server is away, those of other servers.
    fn record<T>(&mut self, queues: &Queues, queue: &QueueName, answer: Result<T, Fault>) -> Option<T> {
        match answer {
            Ok(answer) => return Some(answer),
            Err(fault @ Fault::Unavailable { .. }) => {
                self.shards.insert(queues.shard(queue));
                self.why = Some(fault);
            }
            Err(fault @ (Fault::Full | Fault::Broken(_))) => {
                tracing::error!(%queue, %fault, "a queue cannot be swept");
            }
        }
        None
    }
}
