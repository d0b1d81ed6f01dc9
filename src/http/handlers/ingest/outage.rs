//! Refuses lines for a queue whose server failed a moment ago without trying them, so that lines for other queues do
//! not wait for them.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{LineFault, Problem, QueueName};

/// A server is tried again after this time, which the refusals name too.
const RETRY_AFTER: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Outages {
    queues: HashMap<QueueName, (Instant, Problem)>,
}

impl Outages {
    pub fn record(&mut self, trouble: &LineFault) {
        let Some(problem) = &trouble.untried else { return };
        self.queues.retain(|_, (since, _)| since.elapsed() < RETRY_AFTER);
        // A line that was not tried proves nothing new.
        self.queues.entry(trouble.queue.clone()).or_insert_with(|| (Instant::now(), problem.clone()));
    }

    pub fn of(&self, queue: &QueueName) -> Option<(Problem, LineFault)> {
        let (_, problem) = self.queues.get(queue).filter(|(since, _)| since.elapsed() < RETRY_AFTER)?;
        let trouble = LineFault { queue: queue.clone(), untried: Some(problem.clone()), is_of_all: false };
        Some((problem.clone(), trouble))
    }
}
