//! Queues whose server was away a moment ago: their lines are refused for a while without being tried, so that those of other
//! queues do not wait behind them.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{Problem, QueueName, Trouble};

/// A server is tried again after this time, which is what the refusals say too.
const TRIED_AGAIN: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Away {
    queues: HashMap<QueueName, (Instant, Problem)>,
}

impl Away {
    pub fn note(&mut self, trouble: &Trouble) {
        let Some(problem) = &trouble.untried else { return };
        self.queues.retain(|_, (since, _)| since.elapsed() < TRIED_AGAIN);
        // A line that was not tried says nothing new.
        self.queues.entry(trouble.queue.clone()).or_insert_with(|| (Instant::now(), problem.clone()));
    }

    pub fn of(&self, queue: &QueueName) -> Option<(Problem, Trouble)> {
        let (_, problem) = self.queues.get(queue).filter(|(since, _)| since.elapsed() < TRIED_AGAIN)?;
        let trouble = Trouble { queue: queue.clone(), untried: Some(problem.clone()), is_of_all: false };
        Some((problem.clone(), trouble))
    }
}
