//! Whose turn it is to be first among queues that are served as one.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::job::QueueName;

/// Lists that are remembered; beyond so many all begin again, which costs nobody more than a turn.
const MOST: usize = 1_000;

/// How often each list of queues was asked for. Each counts for itself: of two that share a counter and take turns, each
/// would meet every second queue alone.
#[derive(Default)]
pub(super) struct QueueRotation(Mutex<HashMap<Vec<QueueName>, usize>>);

impl QueueRotation {
    /// The same queues in the same order round, behind another one each time.
    pub(super) fn next(&self, mut queues: Vec<QueueName>) -> Vec<QueueName> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= MOST && !turns.contains_key(&queues) {
            turns.clear();
        }
        let turn = turns.entry(queues.clone()).or_default();
        let first = *turn % queues.len().max(1);
        *turn = first + 1;
        queues.rotate_left(first);
        queues
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(names: &str) -> Vec<QueueName> {
        names.split(' ').map(|name| QueueName::parse(name).expect("a name")).collect()
    }

    #[test]
    fn each_is_the_first_in_its_turn_whoever_asks_for_others_meanwhile() {
        let turns = QueueRotation::default();
        for round in 0..3 {
            for first in ["a b c", "b c a", "c a b"] {
                assert_eq!(turns.next(queues("a b c")), queues(first), "round {round}");
                turns.next(queues("d e"));
            }
        }
        assert!(turns.next(Vec::new()).is_empty());
    }
}
