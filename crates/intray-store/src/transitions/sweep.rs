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
    transition::{Effect, Reply, Transition, run},
    transitions::expire::ExpireStep,
};

/// Steps of one turn. Each step is short, and other calls run between two of them.
const TURN: u32 = 6;

/// One bounded step.
enum Sweep {
    /// `kept_ms`: how long the queue keeps ended jobs without a setting of its own.
    All { kept_ms: u64 },
    /// Only expired leases and due jobs, not the removal of ended jobs.
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
}

/// A reply of the script.
pub(crate) struct SweepReply {
    swept: Swept,
    /// How late the oldest expired or due job was, if there was one.
    lag_ms: Option<u64>,
    /// A job has expired, or its SLA is breached.
    rings: bool,
    /// The queue keeps day sheets.
    has_sheets: bool,
}

impl Queues {
    /// Sweeps until nothing is overdue, or to the limit of one call.
    ///
    /// # Errors
    /// When Redis is not well. Steps before the fault keep their effect.
    pub async fn sweep(&self, queue: &QueueName) -> Result<Swept, Fault> {
        steps(&self.parts.runner, queue, &self.sweep_all(queue), limits::SWEEP_STEPS).await
    }

    /// One bounded step.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn sweep_once(&self, queue: &QueueName) -> Result<Swept, Fault> {
        self.run_alone(queue, &self.sweep_all(queue)).await.map(|reply| reply.swept)
    }

    /// One turn of steps, so that other queues get theirs.
    ///
    /// # Errors
    /// When Redis is not well. Steps before the fault keep their effect.
    pub async fn sweep_a_turn(&self, queue: &QueueName) -> Result<Swept, Fault> {
        steps(&self.parts.runner, queue, &self.sweep_all(queue), TURN).await
    }

    /// When there will be something to sweep, 0 for now; `None`: never, as the queue is now. It costs a fraction of a sweep.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn next_due(&self, queue: &QueueName) -> Result<Option<u64>, Fault> {
        let mut args = Args::default();
        args.number(self.parts.runner.retention_ms(queue));
        Fields::of(&self.run_view("due", queue, &args).await?)?.maybe()
    }

    fn sweep_all(&self, queue: &QueueName) -> Sweep {
        Sweep::All { kept_ms: self.parts.runner.retention_ms(queue) }
    }
}

/// A turn over the overdue jobs, for a call that met them.
pub(crate) fn turn<'s>(runner: &'s Arc<Runner>, queue: &'s QueueName) -> BoxFuture<'s, ()> {
    Box::pin(async move {
        // If it fails, the call meets the same fault.
        let _ = steps(runner, queue, &Sweep::Overdue, TURN).await;
    })
}

async fn steps(runner: &Arc<Runner>, queue: &QueueName, sweep: &Sweep, most: u32) -> Result<Swept, Fault> {
    let mut swept = Swept::default();
    for _ in 0..most {
        let SweepReply { swept: step, rings, has_sheets, .. } = run(runner, queue, sweep).await?;
        if has_sheets {
            runner.note_sheets(queue, true);
        }
        swept.expired += step.expired;
        swept.due += step.due;
        swept.dead += step.dead;
        swept.forgotten += step.forgotten;
        (swept.more, swept.next_ms) = (step.more, step.next_ms);
        if step.more {
            continue;
        }
        if !rings || matches!(sweep, Sweep::Overdue) {
            break;
        }
        run(runner, queue, &ExpireStep).await?;
        swept.more = true;
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
            Self::All { kept_ms } => args.push("all").number(*kept_ms),
            Self::Overdue => args.push("overdue").push(""),
        };
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<SweepReply, Fault> {
        let mut fields = reply.fields()?;
        let (expired, due) = (fields.count()?, fields.count()?);
        let (dead, forgotten) = (fields.count()?, fields.count()?);
        let more = fields.flag()?;
        let (next_ms, lag_ms) = (fields.maybe()?, fields.count()?);
        let lag_ms = (expired + due > 0).then_some(lag_ms);
        let (rings, has_sheets) = (fields.flag()?, fields.flag()?);
        let swept = Swept { expired, due, dead, forgotten, more, next_ms };
        Ok(SweepReply { swept, lag_ms, rings, has_sheets })
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
