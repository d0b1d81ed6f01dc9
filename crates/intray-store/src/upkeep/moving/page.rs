//! Reads hashes and sorted sets in pages. An entry of both is a name with a value.

use std::collections::BTreeSet;

use intray_redis::Fault;

use crate::handle::Queues;

/// The approximate size of a page in bytes, and its maximum number of entries. One script writes a whole page.
const PAGE: usize = 512 * 1024;
const MAX_ENTRIES: usize = 1_000;

pub(super) type Entry = (Vec<u8>, Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Hash,
    Zset,
}

/// Reads a key of any size.
pub(super) struct Pages<'m> {
    queues: &'m Queues,
    key: &'m str,
    kind: ValueKind,
    cursor: Option<Vec<u8>>,
    /// The number of entries of the next page.
    count: usize,
}

impl<'m> Pages<'m> {
    pub(super) fn of(queues: &'m Queues, key: &'m str, kind: ValueKind) -> Self {
        Self { queues, key, kind, cursor: Some(b"0".to_vec()), count: 10 }
    }

    /// The next page, which may be empty; `None` after the last. A large value makes the next page smaller.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Entry>>, Fault> {
        let Some(cursor) = self.cursor.take() else { return Ok(None) };
        let mut scan = redis::cmd(if self.kind == ValueKind::Hash { "HSCAN" } else { "ZSCAN" });
        scan.arg(self.key).arg(cursor).arg("COUNT").arg(self.count);
        let link = &self.queues.parts.runner.link;
        let (cursor, entries): (Vec<u8>, Vec<Entry>) = match self.kind {
            ValueKind::Hash => link.ask(&scan).await?,
            ValueKind::Zset => {
                let (cursor, scores): (_, Vec<(Vec<u8>, f64)>) = link.ask(&scan).await?;
                (cursor, scores.into_iter().map(|(name, score)| (name, format_score(score))).collect())
            }
        };
        self.cursor = (cursor != b"0").then_some(cursor);
        let size: usize = entries.iter().map(|(name, value)| name.len() + value.len()).sum();
        if !entries.is_empty() {
            self.count = (PAGE * entries.len() / size.max(1)).clamp(1, MAX_ENTRIES);
        }
        Ok(Some(entries))
    }
}

/// One spelling of a score, because versions of Redis format it differently.
fn format_score(score: f64) -> Vec<u8> {
    score.to_string().into_bytes()
}

/// Adds milliseconds to a score. Scores that are not current times are unchanged.
pub(super) fn later(score: &[u8], by_ms: i64) -> Vec<u8> {
    let score: Option<f64> = std::str::from_utf8(score).ok().and_then(|text| text.parse().ok());
    let moved = score.map(|score| if score >= 0.0 && score.is_finite() { score + by_ms as f64 } else { score });
    moved.map_or_else(Vec::new, format_score)
}

/// The values of the same names in another key; `None` for a missing name.
pub(super) async fn look_up(
    queues: &Queues,
    key: &str,
    kind: ValueKind,
    names: &[&[u8]],
) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    let link = &queues.parts.runner.link;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    if kind == ValueKind::Hash {
        return link.ask(redis::cmd("HMGET").arg(key).arg(names)).await;
    }
    let scores: Vec<Option<f64>> = link.ask(redis::cmd("ZMSCORE").arg(key).arg(names)).await?;
    Ok(scores.into_iter().map(|score| score.map(format_score)).collect())
}

/// The number of entries.
pub(super) async fn size(queues: &Queues, key: &str, kind: ValueKind) -> Result<u64, Fault> {
    let mut command = redis::cmd(if kind == ValueKind::Hash { "HLEN" } else { "ZCARD" });
    queues.parts.runner.link.ask(command.arg(key)).await
}

/// The arguments of the command that writes entries.
pub(super) fn write(kind: ValueKind, entries: &[&Entry]) -> Vec<Vec<u8>> {
    let verb: &[u8] = if kind == ValueKind::Hash { b"HSET" } else { b"ZADD" };
    let mut words = vec![verb.to_vec()];
    for (name, value) in entries {
        let pair = if kind == ValueKind::Hash { [name, value] } else { [value, name] };
        words.extend(pair.into_iter().cloned());
    }
    words
}

/// The arguments of the command that removes names.
pub(super) fn remove(kind: ValueKind, names: BTreeSet<Vec<u8>>) -> Vec<Vec<u8>> {
    let verb: &[u8] = if kind == ValueKind::Hash { b"HDEL" } else { b"ZREM" };
    std::iter::once(verb.to_vec()).chain(names).collect()
}

/// Whether the key exists.
pub(super) async fn is_there(queues: &Queues, key: &str) -> Result<bool, Fault> {
    queues.parts.runner.link.ask(redis::cmd("EXISTS").arg(key)).await
}

#[cfg(test)]
mod tests {
    use intray_redis::parse_reply;
    use redis::Value;

    use super::*;

    #[test]
    fn scores_have_one_spelling_and_only_current_times_move() {
        let score = |text: &str| format_score(parse_reply(Value::BulkString(text.into())).expect("a score"));
        assert_eq!(score("7.0368744177664e+15"), b"7036874417766400");
        assert_eq!(score("6966505673588736"), b"6966505673588736");
        assert_eq!(later(b"1795312560000", -1_500), b"1795312558500");
        for kept in ["-1124104594280624", "inf"] {
            assert_eq!(later(kept.as_bytes(), 1_500), kept.as_bytes());
        }
    }
}
