//! sweep: what time brings about, in bounded steps.

use crate::job::{QueueName, Tally, limits};
use crate::queue::{Fault, Inner, Queues, lanes, meter, redis::link::Args, redis::read::Fields};

/// What a sweep moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Reservations past their deadline; those whose job died of it included.
    pub expired: u64,
    pub due: u64,
    pub dead: u64,
    pub forgotten: u64,
    /// There may be more to do at once.
    pub more: bool,
    /// When there will be something to do again; `None`: never, as things are.
    pub next_ms: Option<u64>,
}

impl Queues {
    /// Steps until nothing is overdue, or as many as one call may make.
    ///
    /// # Errors
    /// When Redis is not well; what was swept until then stays swept.
    pub async fn sweep(&self, queue: &QueueName) -> Result<Swept, Fault> {
        let mut swept = Swept::default();
        for _ in 0..limits::STEPS {
            let step = self.inner.sweep_step(queue).await?;
            swept.expired += step.expired;
            swept.due += step.due;
            swept.dead += step.dead;
            swept.forgotten += step.forgotten;
            (swept.more, swept.next_ms) = (step.more, step.next_ms);
            if !step.more {
                break;
            }
        }
        Ok(swept)
    }
}

impl Queues {
    /// One bounded step.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn sweep_once(&self, queue: &QueueName) -> Result<Swept, Fault> {
        self.inner.sweep_step(queue).await
    }

    /// When there will be something to sweep, 0 for now; `None`: never, as things are. It costs a fraction of a sweep.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn next_due(&self, queue: &QueueName) -> Result<Option<u64>, Fault> {
        Fields::of(self.run(&self.inner.scripts.due, queue, &Args::default()).await?)?.maybe()
    }
}

impl Inner {
    /// One bounded step.
    pub(crate) async fn sweep_step(&self, queue: &QueueName) -> Result<Swept, Fault> {
        let script = &self.scripts.sweep;
        let answer = lanes::run(self, script, queue, &self.keys_of(script, queue), &Args::default()).await?;
        let mut answer = Fields::of(answer)?;
        let (expired, due) = (answer.count()?, answer.count()?);
        let (dead, forgotten) = (answer.count()?, answer.count()?);
        let more = answer.flag()?;
        let (next_ms, lag_ms) = (answer.maybe()?, answer.count()?);
        meter::transitions(queue, Tally::Forgotten.word(), forgotten);
        if expired + due > 0 {
            metrics::histogram!("intray_sweep_lag_seconds").record(lag_ms as f64 / 1e3);
        }
        Ok(Swept { expired, due, dead, forgotten, more, next_ms })
    }
}
