//! Rotates lists of queues that are served as one.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::job::QueueName;

/// Lists that are remembered. Above this many all are forgotten, which costs each list at most one turn.
const MAX_LISTS: usize = 1_000;

/// How often each list of queues was requested. Each list has its own counter: two lists with a common counter that take
/// turns would each meet only every second queue first.
#[derive(Default)]
pub(super) struct QueueRotation(Mutex<HashMap<Vec<QueueName>, usize>>);

impl QueueRotation {
    /// The same queues, rotated one place further each time.
    pub(super) fn next(&self, mut queues: Vec<QueueName>) -> Vec<QueueName> {
        let mut turns = self.0.lock();
        if turns.len() >= MAX_LISTS && !turns.contains_key(&queues) {
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
    fn queues_rotate_independently_of_other_lists() {
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
