//! What a queue's keys are called while it is on its way.

use crate::job::QueueName;
use crate::store::keys::{HINTS, KEYS, KeyNames};

/// Every key of a queue with its type; the channel is none.
pub(super) fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.iter().copied().filter(|(name, _)| *name != HINTS)
}

/// As they are called where they are served.
pub(super) fn own(keys: &KeyNames, queue: &QueueName) -> Vec<String> {
    kinds().map(|(name, _)| keys.of(queue, name)).collect()
}

/// At the source, when it is closed.
pub(super) fn aside(keys: &KeyNames, queue: &QueueName, name: &str) -> String {
    keys.of(queue, &format!("{name}:left"))
}

/// At the target, until it is served.
pub(super) fn staged(keys: &KeyNames, queue: &QueueName, name: &str) -> String {
    keys.of(queue, &format!("{name}:coming"))
}

pub(super) fn all_aside(keys: &KeyNames, queue: &QueueName) -> Vec<String> {
    kinds().map(|(name, _)| aside(keys, queue, name)).collect()
}

pub(super) fn all_staged(keys: &KeyNames, queue: &QueueName) -> Vec<String> {
    kinds().map(|(name, _)| staged(keys, queue, name)).collect()
}

/// At the target, whose queue it is that comes.
pub(super) fn claim(keys: &KeyNames, queue: &QueueName) -> String {
    keys.of(queue, "coming")
}
