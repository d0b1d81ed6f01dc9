//! The background task: it puts back what is overdue. Every instance runs it, once a second by default; its steps are
//! idempotent, so instances need no leader. It survives any error.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::{
    job::QueueName,
    queue::{Fault, Queues, between},
};

/// The longest that a queue goes unvisited, whoever uses it.
const IDLE: Duration = Duration::from_secs(10);
/// How often queues that nobody uses any more are looked for.
const RETIRE: Duration = Duration::from_secs(600);

/// Sweeps once a period, jittered, until it is stopped.
pub async fn run(queues: Queues, period: Duration, stop: CancellationToken) {
    let mut sweeper = Sweeper::new(queues);
    while stop.run_until_cancelled(tokio::time::sleep(jittered(period))).await.is_some() {
        // A step that is under way is finished: it is bounded, and half of it would be done anyway.
        if let Err(fault) = sweeper.tick().await {
            tracing::warn!(%fault, "the sweep goes on with its next turn");
        }
    }
}

/// Up to a tenth earlier or later, so that instances do not move in step.
fn jittered(period: Duration) -> Duration {
    let ms = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(between(ms - ms / 10, ms.saturating_add(ms / 10)))
}

/// Knows when each queue is to be visited next.
pub struct Sweeper {
    queues: Queues,
    visits: HashMap<QueueName, Instant>,
    listed: Option<Instant>,
    retired: Instant,
}

impl Sweeper {
    pub fn new(queues: Queues) -> Self {
        Self { queues, visits: HashMap::new(), listed: None, retired: Instant::now() }
    }

    /// Visits the queues that are due: those with jobs moved by this instance each time, others when they said that
    /// something falls due, and all of them every ten seconds.
    ///
    /// # Errors
    /// When Redis is not well; the queues that were not visited stay due.
    pub async fn tick(&mut self) -> Result<(), Fault> {
        let start = Instant::now();
        if self.listed.is_none_or(|at| at.elapsed() >= IDLE) {
            self.list().await?;
        }
        for queue in self.queues.stirred() {
            self.visits.insert(queue, start);
        }
        let due: Vec<_> = self.visits.iter().filter(|(_, at)| **at <= start).map(|(queue, _)| queue.clone()).collect();
        for queue in due {
            let wait = match self.queues.sweep(&queue).await {
                Ok(swept) => swept.next_ms.map_or(IDLE, Duration::from_millis).min(IDLE),
                Err(fault @ Fault::Unavailable { .. }) => return Err(fault),
                // What is wrong with one queue is no reason to leave the others.
                Err(fault) => {
                    tracing::error!(%queue, %fault, "a queue cannot be swept");
                    IDLE
                }
            };
            self.visits.insert(queue, Instant::now() + wait);
        }
        metrics::histogram!("intray_sweep_duration_seconds").record(start.elapsed().as_secs_f64());
        if self.retired.elapsed() >= RETIRE {
            self.retired = Instant::now();
            self.queues.retire_unseen().await?;
        }
        Ok(())
    }

    async fn list(&mut self) -> Result<(), Fault> {
        let names = self.queues.names_and_ours().await?;
        self.visits.retain(|queue, _| names.binary_search(queue).is_ok());
        for queue in names {
            self.visits.entry(queue).or_insert_with(Instant::now);
        }
        self.listed = Some(Instant::now());
        Ok(())
    }
}
