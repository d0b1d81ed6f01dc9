//! Whose turn it is to be first among queues that are served as one.

use std::{
    array,
    hash::{DefaultHasher, Hash, Hasher},
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::job::QueueName;

/// Who asks for other queues counts elsewhere: two who take turns with each other must not each meet every second queue
/// alone. Lists that share a counter by chance may, and are served all the same.
const COUNTERS: usize = 256;

pub(super) struct Turns([AtomicUsize; COUNTERS]);

impl Default for Turns {
    fn default() -> Self {
        Self(array::from_fn(|_| AtomicUsize::new(0)))
    }
}

impl Turns {
    /// The same queues in the same order round, behind another one each time.
    pub(super) fn next(&self, mut queues: Vec<QueueName>) -> Vec<QueueName> {
        let mut hasher = DefaultHasher::new();
        queues.hash(&mut hasher);
        let turn = self.0[hasher.finish() as usize % COUNTERS].fetch_add(1, Ordering::Relaxed);
        let length = queues.len().max(1);
        queues.rotate_left(turn % length);
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
        let turns = Turns::default();
        for round in 0..3 {
            for first in ["a b c", "b c a", "c a b"] {
                assert_eq!(turns.next(queues("a b c")), queues(first), "round {round}");
                turns.next(queues("d e"));
            }
        }
        assert!(turns.next(Vec::new()).is_empty());
    }
}
