//! Whether the users of both sides have the rights of a move, which are more than a service's. They are tried before the first
//! change, because a missing right in the middle would close queues in vain.

use super::{
    super::rights::{HERE, Trial, at, cost, granted, needed_rights},
    halt::Halt,
    untouched,
};
use crate::{handle::Queues, upkeep::migrate::LayoutError};

/// What the source needs beyond the rights of a service.
const LEAVING: [Trial; 7] = [
    ("TYPE", &[HERE]),
    ("GETRANGE", &[HERE, "0", "0"]),
    ("HLEN", &[HERE]),
    ("HSCAN", &[HERE, "0"]),
    ("ZSCAN", &[HERE, "0"]),
    ("RENAME", &[HERE, HERE]),
    ("DEL", &[HERE]),
];
/// The same at the target.
const ARRIVING: [Trial; 6] = [
    ("HLEN", &[HERE]),
    ("HSCAN", &[HERE, "0"]),
    ("ZSCAN", &[HERE, "0"]),
    ("RENAME", &[HERE, HERE]),
    ("DEL", &[HERE]),
    ("XSETID", &[HERE, "0-0"]),
];

/// Fails with the missing rights of both sides, and with the lines that give them.
pub(super) async fn expect(source: &Queues, target: &Queues) -> Result<(), LayoutError> {
    let leaving =
        missing(source, &LEAVING, "where the queues are").await.map_err(|fault| untouched(Halt::Source(fault)))?;
    let arriving =
        missing(target, &ARRIVING, "where they are to go").await.map_err(|fault| untouched(Halt::Target(fault)))?;
    let all: Vec<_> = leaving.into_iter().chain(arriving).collect();
    if all.is_empty() {
        return Ok(());
    }
    Err(LayoutError::Refused(format!("{}; nothing was moved", all.join("; "))))
}

async fn missing(queues: &Queues, more: &[Trial], side: &str) -> Result<Option<String>, intray_redis::Fault> {
    let (mut lacking, places) = queues.lacking(more).await?;
    lacking.retain(|name| cost(name).is_none() || more.iter().any(|(needed, _)| needed == name));
    if lacking.is_empty() {
        return Ok(None);
    }
    let runner = &queues.parts.runner;
    let line = needed_rights(runner.keys.prefix(), runner.link.is_cluster());
    let more = granted(more.iter().map(|(name, _)| *name));
    let (what, at) = (lacking.join(", "), at(&places));
    Ok(Some(format!("{side}{at}, the user of Redis may not {what}, which a move needs: {line}{more}")))
}

#[cfg(test)]
mod tests {
    use super::{super::super::rights::TRIALS, *};

    #[test]
    fn page_on_moving_names_the_rights_of_both_sides() {
        let page = include_str!("../../../../../docs/move.md");
        for trials in [&LEAVING[..], &ARRIVING] {
            let words = granted(trials.iter().map(|(name, _)| *name));
            assert!(page.contains(&format!("`{}`", words.trim())), "{words}");
            let of_a_move =
                trials.iter().map(|(name, _)| *name).filter(|name| TRIALS.iter().all(|(own, _)| own != name));
            let words = granted(of_a_move);
            assert!(page.contains(&format!("`{}`", words.trim().replace('+', "-"))), "to take them away: {words}");
        }
    }
}
