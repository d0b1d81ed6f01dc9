//! Which servers to leave alone for the rest of a round.

use std::collections::HashSet;

use crate::{
    job::QueueName,
    store::{Fault, Queues},
};

/// The servers that did not answer in this round.
#[derive(Default)]
pub(super) struct Unreachable {
    shards: HashSet<u16>,
    pub(super) why: Option<Fault>,
}

impl Unreachable {
    pub(super) fn has(&self, queues: &Queues, queue: &QueueName) -> bool {
        queues.is_lost(queue) || !self.shards.is_empty() && self.shards.contains(&queues.shard(queue))
    }

    /// Records a fault. A broken queue does not stop the others, and an unavailable server only its own queues.
    pub(super) fn record<T>(&mut self, queues: &Queues, queue: &QueueName, answer: Result<T, Fault>) -> Option<T> {
        match answer {
            Ok(answer) => return Some(answer),
            Err(fault @ Fault::Unavailable { .. }) => {
                self.shards.insert(queues.shard(queue));
                self.why = Some(fault);
            }
            Err(fault @ (Fault::Full(_) | Fault::Broken(_))) => {
                queues.log_failure(queue_failed, "a queue", format!("{queue}: {fault}"));
            }
        }
        None
    }
}

fn queue_failed(_: &'static str, fault: &str, times: u64) {
    tracing::error!(fault, times, "a queue cannot be swept");
}
