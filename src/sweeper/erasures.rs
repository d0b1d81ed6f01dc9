//! Deletes the events that name workers whose names were taken out of their queues, when their readers have passed.

use std::time::{Duration, Instant};

use super::unreachable::Unreachable;
use crate::store::Queues;

/// How often the queues with such events are visited. There are few, and none for most of the time.
const EVERY: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct Erasures {
    visited: Option<Instant>,
}

impl Erasures {
    /// What fails is tried again at the next visit.
    pub(super) async fn visit(&mut self, queues: &Queues, unreachable: &mut Unreachable) {
        if self.visited.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.visited = Some(Instant::now());
        for queue in queues.with_erasures() {
            if !unreachable.has(queues, &queue) {
                unreachable.record(queues, &queue, queues.expunge(&queue).await);
            }
        }
    }
}
