//! Slots of a cluster that no node serves, and the queues in them.

use std::{collections::BTreeSet, time::Duration};

use crate::{handle::Queues, job::QueueName};

/// The maximum number of slot ranges, and of queues, in the sentence.
const NAMED: usize = 10;
/// Timeout of the list of queues, which may be in such a slot itself. After it, the queues in use here are named.
const LIST: Duration = Duration::from_millis(250);

impl Queues {
    /// A sentence about the slots without a node; `None` if there are none.
    pub(super) async fn unserved(&self) -> Option<String> {
        let runner = &self.parts.runner;
        let (slots, of) = runner.link.unserved().await.ok()?;
        if slots.is_empty() {
            return None;
        }
        let names = tokio::time::timeout(LIST, self.names()).await;
        let mut names = names.ok().and_then(Result::ok).unwrap_or_else(|| self.parts.registry.in_use());
        names.retain(|queue| slots.binary_search(&runner.link.slot(&runner.keys.of(queue, "jobs"))).is_ok());
        Some(sentence(&slots, of, &names.into_iter().collect()))
    }
}

/// The text before the names of the queues.
pub const OF_QUEUES: &str = ", of the queues ";

fn sentence(slots: &[u16], of: usize, queues: &BTreeSet<QueueName>) -> String {
    let ranges = slots.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    });
    let text = format!("no node serves {} of {of} slots ({})", slots.len(), some(ranges));
    if queues.is_empty() { text } else { format!("{text}{OF_QUEUES}{}", some(queues.iter().map(ToString::to_string))) }
}

/// The first names, and the number of the others.
fn some(all: impl Iterator<Item = String>) -> String {
    let mut all: Vec<_> = all.collect();
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    let text = all.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_ranges_and_queues_are_listed() {
        let queues = |count: u8| (0..count).map(|n| QueueName::parse(&format!("q{n}")).expect("a name")).collect();
        let none = BTreeSet::new();
        assert_eq!(sentence(&[5061], 16_384, &none), "no node serves 1 of 16384 slots (5061)");
        let text = sentence(&[0, 1, 2, 9], 16_384, &queues(2));
        assert_eq!(text, "no node serves 4 of 16384 slots (0-2, 9), of the queues q0, q1");
        let apart: Vec<u16> = (0..30).map(|n| n * 2).collect();
        let text = sentence(&apart, 16_384, &queues(12));
        assert!(text.contains("16, 18 and 20 more)") && text.ends_with("q6, q7 and 2 more"), "{text}");
    }
}
