//! sweep: expires leases, makes delayed jobs due, and removes old ended jobs, in bounded steps.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use intray_redis::{Args, Fault};
use serde::Serialize;

use crate::{
    figures::QueueMetrics,
    handle::Queues,
    job::{QueueName, Tally, limits},
    redis::read::Fields,
    runner::Runner,
    transition::{Effect, MAX_SWEEPS, Reply, Transition, run},
    transitions::expire::ExpireStep,
};

/// Steps of one turn. Each step is short, and other calls run between two of them.
const TURN: u32 = 6;

/// One bounded step.
enum Sweep {
    /// `kept_ms`: how long the queue keeps ended jobs without a setting of its own. `may_lose`: events go that a reader has left too
    /// long.
    All { kept_ms: u64, may_lose: bool },
    /// Only what is urgent: expired leases, due jobs and alarms, not the removal of ended jobs.
    Overdue,
}

/// The counts of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Expired reservations, including those whose job is dead now.
    pub expired: u64,
    pub due: u64,
    pub dead: u64,
    pub forgotten: u64,
    /// There may be more to do now.
    pub more: bool,
    /// When there will be something to do; `None`: never, as the queue is now.
    #[serde(skip)]
    pub next_ms: Option<u64>,
    /// A reader of the events is so far behind that it is about to lose some.
    #[serde(skip)]
    pub is_reader_late: bool,
}

/// A reply of the script.
pub(crate) struct SweepReply {
    swept: Swept,
    /// How late the oldest expired or due job was, if there was one.
    lag_ms: Option<u64>,
    /// More reservations or delays are overdue.
    is_overdue: bool,
    /// A job has expired, or its SLA is breached.
    alarms_due: bool,
    /// The queue keeps day sheets.
    has_sheets: bool,
}

impl Queues {
    /// Sweeps until nothing is overdue, or to the limit of one call.
    ///
    /// # Errors
    /// When Redis is not well. Steps before the fault keep their effect.
    pub async fn sweep(&self, queue: &QueueName) -> Result<Swept, Fault> {
        steps(&self.parts.runner, queue, &self.sweep_all(queue, false), limits::SWEEP_STEPS).await
    }

    /// One bounded step.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn sweep_once(&self, queue: &QueueName) -> Result<Swept, Fault> {
        self.run_alone(queue, &self.sweep_all(queue, false)).await.map(|reply| reply.swept)
    }

    /// One turn of steps, so that other queues get theirs. `may_lose`: events go that a reader has left too long.
    ///
    /// # Errors
    /// When Redis is not well. Steps before the fault keep their effect.
    pub async fn sweep_a_turn(&self, queue: &QueueName, may_lose: bool) -> Result<Swept, Fault> {
        steps(&self.parts.runner, queue, &self.sweep_all(queue, may_lose), TURN).await
    }

    /// When there will be something to sweep, 0 for now; `None`: never, as the queue is now. It costs a fraction of a sweep.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn next_due(&self, queue: &QueueName) -> Result<Option<u64>, Fault> {
        let mut args = Args::default();
        args.number(self.parts.runner.retention_ms(queue));
        let answered = self.run_view("due", queue, &args).await?;
        let mut fields = Fields::of(&answered)?;
        let next_ms = fields.maybe()?;
        self.note_erasures(queue, fields.flag()?);
        Ok(next_ms)
    }

    /// Lets time act on the jobs of a queue, for a call that decides by more of them than it names. Very many of them it leaves to the
    /// background sweep.
    pub(crate) async fn catch_up(&self, queue: &QueueName) -> Result<(), Fault> {
        let mut only_urgent = Args::default();
        only_urgent.push("");
        for _ in 0..MAX_SWEEPS {
            if Fields::of(&self.run_view("due", queue, &only_urgent).await?)?.maybe()? != Some(0) {
                break;
            }
            turn(&self.parts.runner, queue).await;
        }
        Ok(())
    }

    fn sweep_all(&self, queue: &QueueName, may_lose: bool) -> Sweep {
        Sweep::All { kept_ms: self.parts.runner.retention_ms(queue), may_lose }
    }
}

/// A turn over the overdue jobs, for a call that met them.
pub(crate) fn turn<'s>(runner: &'s Arc<Runner>, queue: &'s QueueName) -> BoxFuture<'s, ()> {
    Box::pin(async move {
        // If it fails, the call meets the same fault.
        let _ = steps(runner, queue, &Sweep::Overdue, TURN).await;
    })
}

async fn steps(runner: &Arc<Runner>, queue: &QueueName, sweep: &Sweep, max_steps: u32) -> Result<Swept, Fault> {
    let (mut swept, mut alarms_still_due) = (Swept::default(), false);
    for _ in 0..max_steps {
        let SweepReply { swept: step, is_overdue, alarms_due, has_sheets, .. } = run(runner, queue, sweep).await?;
        if has_sheets {
            runner.notices.sheets(queue, true);
        }
        swept.expired += step.expired;
        swept.due += step.due;
        swept.dead += step.dead;
        swept.forgotten += step.forgotten;
        (swept.more, swept.next_ms, swept.is_reader_late) = (step.more, step.next_ms, step.is_reader_late);
        alarms_still_due = alarms_due && is_overdue;
        // Work that is not urgent never delays an alarm.
        if alarms_due && !is_overdue {
            run(runner, queue, &ExpireStep).await?;
            swept.more = true;
        } else if !step.more {
            break;
        }
    }
    // Neither does a large amount of overdue work.
    if alarms_still_due {
        run(runner, queue, &ExpireStep).await?;
    }
    Ok(swept)
}

impl Transition for Sweep {
    type Outcome = SweepReply;
    const SCRIPT: &'static str = "sweep";
    /// The next sweep comes anyway.
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = Args::default();
        match self {
            Self::All { kept_ms, may_lose } => args.push("all").number(*kept_ms).number((*may_lose).into()),
            Self::Overdue => args.push("overdue").push("").number(0),
        };
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<SweepReply, Fault> {
        let mut fields = reply.fields()?;
        let (expired, due) = (fields.count()?, fields.count()?);
        let (dead, forgotten) = (fields.count()?, fields.count()?);
        let (more, is_overdue) = (fields.flag()?, fields.flag()?);
        let (next_ms, lag_ms) = (fields.maybe()?, fields.count()?);
        let lag_ms = (expired + due > 0).then_some(lag_ms);
        let (alarms_due, has_sheets) = (fields.flag()?, fields.flag()?);
        let is_reader_late = fields.flag()?;
        let swept = Swept { expired, due, dead, forgotten, more, next_ms, is_reader_late };
        Ok(SweepReply { swept, is_overdue, lag_ms, alarms_due, has_sheets })
    }

    /// The reply says already when the next sweep is due.
    fn effect(&self, reply: &SweepReply) -> Effect {
        Effect::Counted(Tally::Forgotten, reply.swept.forgotten)
    }

    fn measure(&self, reply: &SweepReply, _: &QueueName, _: &QueueMetrics) {
        if let Some(ms) = reply.lag_ms {
            intray_metrics::SWEEP_LAG_SECONDS.of(&[]).observe(ms as f64 / 1e3);
        }
    }
}
