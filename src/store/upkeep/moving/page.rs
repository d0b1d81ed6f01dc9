//! Reads hashes and sorted sets in pages. An entry of both is a name with a value.

use std::collections::BTreeSet;

use intray_redis::Fault;
use redis::Value;

use crate::store::{
    handle::Queues,
    redis::read::{broken, word},
};

/// The approximate size of a page in bytes, and its maximum number of entries. One script writes a whole page.
const PAGE: usize = 512 * 1024;
const MOST: usize = 1_000;

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
        let scan = if self.kind == ValueKind::Hash { redis::cmd("HSCAN") } else { redis::cmd("ZSCAN") };
        let command = scan.clone().arg(self.key).arg(cursor).arg("COUNT").arg(self.count).to_owned();
        let Value::Array(parts) = self.queues.parts.runner.link.plain(&command).await? else {
            return Err(broken("a page"));
        };
        let mut parts = parts.into_iter();
        let (Some(Value::BulkString(cursor)), Some(Value::Array(flat))) = (parts.next(), parts.next()) else {
            return Err(broken("a page"));
        };
        self.cursor = (cursor != b"0").then_some(cursor);
        let entries = pairs(flat, self.kind)?;
        let size: usize = entries.iter().map(|(name, value)| name.len() + value.len()).sum();
        if !entries.is_empty() {
            self.count = (PAGE * entries.len() / size.max(1)).clamp(1, MOST);
        }
        Ok(Some(entries))
    }
}

fn pairs(flat: Vec<Value>, kind: ValueKind) -> Result<Vec<Entry>, Fault> {
    let (mut flat, mut entries) = (flat.into_iter(), Vec::new());
    while let Some(name) = flat.next() {
        let (Value::BulkString(name), Some(value)) = (name, flat.next()) else { return Err(broken("an entry")) };
        entries.push((name, value_of(value, kind)?.ok_or_else(|| broken("a value"))?));
    }
    Ok(entries)
}

/// Normalizes a score, because versions of Redis format it differently.
fn value_of(value: Value, kind: ValueKind) -> Result<Option<Vec<u8>>, Fault> {
    match (value, kind) {
        (Value::Nil, _) => Ok(None),
        (Value::BulkString(bytes), ValueKind::Hash) => Ok(Some(bytes)),
        (Value::BulkString(bytes), ValueKind::Zset) => {
            let score = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
            score.map(spelled).map(Some).ok_or_else(|| broken("a score"))
        }
        (Value::Double(score), ValueKind::Zset) => Ok(Some(spelled(score))),
        _ => Err(broken("a value")),
    }
}

fn spelled(score: f64) -> Vec<u8> {
    score.to_string().into_bytes()
}

/// Adds milliseconds to a score. Scores that are not current times are unchanged.
pub(super) fn later(score: &[u8], by_ms: i64) -> Vec<u8> {
    let score: Option<f64> = std::str::from_utf8(score).ok().and_then(|text| text.parse().ok());
    let moved = score.map(|score| if score >= 0.0 && score.is_finite() { score + by_ms as f64 } else { score });
    moved.map_or_else(Vec::new, spelled)
}

/// The values of the same names in another key; `None` for a missing name.
pub(super) async fn look_up(
    queues: &Queues,
    key: &str,
    kind: ValueKind,
    names: &[&[u8]],
) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    let mut command = if kind == ValueKind::Hash { redis::cmd("HMGET") } else { redis::cmd("ZMSCORE") };
    command.arg(key).arg(names);
    let Value::Array(values) = queues.parts.runner.link.plain(&command).await? else { return Err(broken("values")) };
    values.into_iter().map(|value| value_of(value, kind)).collect()
}

/// The number of entries.
pub(super) async fn size(queues: &Queues, key: &str, kind: ValueKind) -> Result<u64, Fault> {
    let mut command = if kind == ValueKind::Hash { redis::cmd("HLEN") } else { redis::cmd("ZCARD") };
    match queues.parts.runner.link.plain(command.arg(key)).await? {
        Value::Int(size) => u64::try_from(size).map_err(|_| broken("a size")),
        _ => Err(broken("a size")),
    }
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
    let kind = queues.parts.runner.link.plain(redis::cmd("TYPE").arg(key)).await?;
    word(&kind).map(|kind| kind != "none").ok_or_else(|| broken("a type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_have_one_spelling_and_only_current_times_move() {
        let score = |text: &str| value_of(Value::BulkString(text.into()), ValueKind::Zset).expect("a score");
        assert_eq!(score("7.0368744177664e+15"), Some(b"7036874417766400".to_vec()));
        assert_eq!(score("6966505673588736"), Some(b"6966505673588736".to_vec()));
        assert_eq!(
            value_of(Value::Double(7e15), ValueKind::Zset).expect("a score"),
            Some(b"7000000000000000".to_vec())
        );
        assert_eq!(later(b"1795312560000", -1_500), b"1795312558500");
        for kept in ["-1124104594280624", "inf"] {
            assert_eq!(later(kept.as_bytes(), 1_500), kept.as_bytes());
        }
    }
}
