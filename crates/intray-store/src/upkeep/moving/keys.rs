//! The names of a queue's keys during a move.

use crate::job::QueueName;
use crate::keys::{HINTS, KEYS, KeyNames};

/// Every key of a queue with its type, without the channel.
pub(super) fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.iter().copied().filter(|(name, _)| *name != HINTS)
}

/// The names in normal use.
pub(super) fn own(keys: &KeyNames, queue: &QueueName) -> Vec<String> {
    kinds().map(|(name, _)| keys.of(queue, name)).collect()
}

/// The name at the source while the queue is closed.
pub(super) fn aside(keys: &KeyNames, queue: &QueueName, name: &str) -> String {
    keys.of(queue, &format!("{name}:left"))
}

/// The name at the target before the queue is published.
pub(super) fn staged(keys: &KeyNames, queue: &QueueName, name: &str) -> String {
    keys.of(queue, &format!("{name}:coming"))
}

pub(super) fn all_aside(keys: &KeyNames, queue: &QueueName) -> Vec<String> {
    kinds().map(|(name, _)| aside(keys, queue, name)).collect()
}

pub(super) fn all_staged(keys: &KeyNames, queue: &QueueName) -> Vec<String> {
    kinds().map(|(name, _)| staged(keys, queue, name)).collect()
}

/// The key at the target that holds which move brings the queue.
pub(super) fn claim(keys: &KeyNames, queue: &QueueName) -> String {
    keys.of(queue, "coming")
}
