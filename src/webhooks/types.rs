//! The types of events that a webhook is for.

use crate::job::EventKind;

/// A set of event kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Types(u64);

/// The word for every kind of event, also those that a later version adds.
const ALL: &str = "all";

impl Types {
    /// Parses `all`, or a comma list of the words of events.
    ///
    /// # Errors
    /// The rule, without the text: a secret may stand in the wrong place.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == ALL {
            return Ok(Self(sendable().fold(0, |set, kind| set | bit(kind))));
        }
        let parse = |word| EventKind::parse(word).filter(|kind| kind.is_for_webhooks());
        let parsed = text.split(',').map(parse).try_fold(0, |set, kind| Some(set | bit(kind?)));
        parsed.map(Self).ok_or_else(|| {
            let words = sendable().map(EventKind::word).collect::<Vec<_>>().join(", ");
            format!("must be {ALL}, or a comma list without spaces of: {words}")
        })
    }

    pub fn wants(self, kind: EventKind) -> bool {
        self.0 & bit(kind) != 0
    }

    /// Its words, in the order of the contract.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        EventKind::ALL.into_iter().filter(move |kind| self.wants(*kind)).map(EventKind::word)
    }
}

/// The kinds that a webhook can be for.
fn sendable() -> impl Iterator<Item = EventKind> {
    EventKind::ALL.into_iter().filter(|kind| kind.is_for_webhooks())
}

fn bit(kind: EventKind) -> u64 {
    1 << kind as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_types_are_wanted_and_no_others() {
        let types = Types::parse("dead,completed,batch-completed,dead").expect("types");
        assert_eq!(types.words().collect::<Vec<_>>(), ["completed", "dead", "batch-completed"]);
        assert!(
            types.wants(EventKind::Dead)
                && !types.wants(EventKind::Cancelled)
                && types.wants(EventKind::BatchCompleted)
        );
        assert!(!Types::parse("completed").expect("types").wants(EventKind::BatchCompleted));
        let all = Types::parse("all").expect("types");
        assert!(EventKind::ALL.into_iter().all(|kind| all.wants(kind) == kind.is_for_webhooks()));
    }

    #[test]
    fn unknown_types_are_refused_with_the_known_ones() {
        for wrong in ["", "done", "Completed", "completed,", "completed, dead", "all,dead", "whsec_hunter2"] {
            let rule = Types::parse(wrong).expect_err(wrong);
            assert!(rule.contains("completed, dead, cancelled") && !rule.contains("hunter2"), "{rule}");
        }
    }
}
