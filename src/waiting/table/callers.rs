//! The callers of a queue that are asleep, or those that are awake, the oldest first: all, and by the lines that each may look
//! into. Both are ordered, so the number of other callers does not matter when one of them is sought.

use std::{
    collections::BTreeSet,
    ops::Bound::{Excluded, Unbounded},
};

use crate::job::Line;

#[derive(Default)]
pub(super) struct Callers {
    all: BTreeSet<u64>,
    by_line: BTreeSet<(Line, u64)>,
}

impl Callers {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn insert(&mut self, number: u64, lines: &[Line]) {
        if self.all.insert(number) {
            self.by_line.extend(lines.iter().map(|line| (line.clone(), number)));
        }
    }

    /// Returns whether it was among them.
    pub(super) fn remove(&mut self, number: u64, lines: &[Line]) -> bool {
        let was_there = self.all.remove(&number);
        if was_there {
            lines.iter().for_each(|line| _ = self.by_line.remove(&(line.clone(), number)));
        }
        was_there
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.all.contains(&number)
    }

    pub(super) fn from(&self, number: u64) -> impl Iterator<Item = u64> {
        self.all.range(number..).copied()
    }

    /// Those who may look into a line, from this number on.
    pub(super) fn in_line(&self, line: &Line, from: u64) -> impl Iterator<Item = u64> {
        self.by_line.range((line.clone(), from)..=(line.clone(), u64::MAX)).map(|(_, number)| *number)
    }

    /// Those who may look into any line; one with several lines comes several times.
    pub(super) fn in_any_line(&self) -> impl Iterator<Item = u64> {
        self.by_line.iter().map(|(_, number)| *number)
    }

    /// At most `max` lines that any of them may look into, in order, after this one.
    pub(super) fn lines(&self, after: Option<&Line>, max: usize) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        while lines.len() < max {
            let next = match lines.last().or(after) {
                Some(line) => self.by_line.range((Excluded((line.clone(), u64::MAX)), Unbounded)).next(),
                None => self.by_line.first(),
            };
            let Some((line, _)) = next else { break };
            lines.push(line.clone());
        }
        lines
    }
}
