//! Who waits for a job of a queue.

use super::Waiting;
use crate::{
    job::{Line, QueueName, limits},
    store::RecentWorkers,
};

impl Waiting {
    /// Adds the names and skills of the calls that wait for a job of the queue, of the first lines by name.
    pub fn add_callers(&self, queue: &QueueName, found: &mut RecentWorkers) {
        for line in self.inner.table.lines(queue, limits::RECENT) {
            match line {
                Line::Worker(name) => _ = found.names.insert(name),
                Line::Skill(skill) => _ = found.skills.insert(skill),
            }
        }
    }
}
