//! The marker that replaces the registry while `intray move` moves the queues to another Redis: the stage, and the target.

use intray_redis::{Fault, Links};

/// The prefixes of the reason why a call fails here; the target's address follows.
pub const MOVED: &str = "the queues have moved to ";
pub const MOVING: &str = "the queues are being moved to ";
/// The reason why a call fails while a newer program migrates the layout, and after.
const MIGRATED: &str =
    "the keys have another layout by now: run `intray migrate` of the newer intray to its end and serve with it";

/// The stage of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The queues are closed here and compared with their copies. The move can be cancelled.
    Draining,
    /// One queue after the other is handed to the target.
    Switching,
    Moved,
}

/// The first line of the marker: stage, run, the target's store id, its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MoveMarker {
    pub(crate) stage: Stage,
    pub(crate) target: String,
    pub(crate) place: String,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Draining, Self::Switching, Self::Moved];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Draining => "leaving",
            Self::Switching => "switching",
            Self::Moved => "left",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.word() == word)
    }
}

impl MoveMarker {
    /// The first line is shorter than this many bytes.
    const HEAD_BYTES: usize = 1_000;

    /// `None` for a text that is no marker.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.splitn(4, ' ');
        let stage = Stage::parse(words.next()?)?;
        let _run = words.next()?;
        Some(Self { stage, target: words.next()?.to_owned(), place: words.next()?.to_owned() })
    }

    /// The reason why a call for one of the queues fails here.
    pub(crate) fn reason(&self) -> String {
        let prefix = if self.stage == Stage::Moved { MOVED } else { MOVING };
        format!("{prefix}{}", self.place)
    }
}

/// No queue is served here: all are in another Redis, on their way there, or have another layout.
pub(crate) fn is_closed(fault: &Fault) -> bool {
    let has_prefix = |why: &str| [MOVED, MOVING, MIGRATED].iter().any(|prefix| why.starts_with(prefix));
    matches!(fault, Fault::Unavailable { why, .. } if has_prefix(why))
}

/// The same reason without the address, for callers; `None` for any other reason. The log names the address.
pub fn reason_without_place(why: &str) -> Option<&'static str> {
    let reasons =
        [(MOVED, "the queues have moved to another Redis"), (MOVING, "the queues are being moved to another Redis")];
    reasons.into_iter().find(|(prefix, _)| why.contains(prefix)).map(|(_, reason)| reason)
}

/// The true cause of a script's failure: where a program of another layout or a move has replaced every key, a script fails
/// at the first key that it reads.
pub(crate) async fn explain(links: &Links, fault: Fault, registry: &str) -> Fault {
    if !fault.is_wrong_type() {
        return fault;
    }
    let Err(wrong) = links.plain(redis::cmd("ZCARD").arg(registry)).await else { return fault };
    match read_marker(links, registry).await {
        Some(marker) => Fault::unavailable(&marker.reason()),
        None if wrong.is_wrong_type() => Fault::unavailable(&MIGRATED),
        None => fault,
    }
}

/// `None` also where the user may not read it.
async fn read_marker(links: &Links, registry: &str) -> Option<MoveMarker> {
    let mut command = redis::cmd("GETRANGE");
    let text: Vec<u8> = links.ask(command.arg(registry).arg(0).arg(MoveMarker::HEAD_BYTES)).await.ok()?;
    MoveMarker::parse(&String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_names_the_stage_and_the_target() {
        let mark =
            MoveMarker::parse("switching R1 E2 unix:///a folder/redis.sock\n1 default\n2 other").expect("a mark");
        assert_eq!((mark.stage, mark.target.as_str()), (Stage::Switching, "E2"));
        assert_eq!(mark.reason(), "the queues are being moved to unix:///a folder/redis.sock");
        let moved = MoveMarker::parse("left R1 E2 redis+cluster://a:1,b:2").expect("a mark");
        assert_eq!(moved.reason(), "the queues have moved to redis+cluster://a:1,b:2");
        for other in ["", "left", "moved to layout 3: see intray migrate", "nonsense"] {
            assert_eq!(MoveMarker::parse(other), None, "{other}");
        }
    }
}
