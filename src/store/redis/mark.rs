//! What stands in the registry's place when its queues leave this Redis: how far they are, and where they go.

use crate::store::fault::{MOVED, MOVING};

/// How far a move is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The queues are closed here, and compared. It may be called off.
    Leaving,
    /// From one to the next they become the target's.
    Switching,
    Left,
}

/// The first line of the text: stage, run, epoch of the target, its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) stage: Stage,
    pub(crate) target: String,
    pub(crate) place: String,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Leaving, Self::Switching, Self::Left];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Leaving => "leaving",
            Self::Switching => "switching",
            Self::Left => "left",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.word() == word)
    }
}

impl Mark {
    /// So much of the text is enough to see where they go.
    pub(super) const HEAD: usize = 1_000;

    /// `None` for a text that stands there for another reason.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.splitn(4, ' ');
        let stage = Stage::parse(words.next()?)?;
        let _run = words.next()?;
        Some(Self { stage, target: words.next()?.to_owned(), place: words.next()?.to_owned() })
    }

    /// For whoever asks for one of the queues here.
    pub(crate) fn says(&self) -> String {
        let begin = if self.stage == Stage::Left { MOVED } else { MOVING };
        format!("{begin}{}", self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_how_far_they_are_and_where_they_go() {
        let mark = Mark::parse("switching R1 E2 unix:///a folder/redis.sock\n1 default\n2 other").expect("a mark");
        assert_eq!((mark.stage, mark.target.as_str()), (Stage::Switching, "E2"));
        assert_eq!(mark.says(), "the queues are being moved to unix:///a folder/redis.sock");
        let moved = Mark::parse("left R1 E2 redis+cluster://a:1,b:2").expect("a mark");
        assert_eq!(moved.says(), "the queues have moved to redis+cluster://a:1,b:2");
        for other in ["", "left", "moved to layout 2: see intray migrate", "nonsense"] {
            assert_eq!(Mark::parse(other), None, "{other}");
        }
    }
}
