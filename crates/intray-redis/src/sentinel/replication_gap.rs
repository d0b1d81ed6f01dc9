//! How many bytes of changes the new primary lacks of the previous one's, by replication id and offset.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;

use super::{ReplicationGap, Sentinels};

/// How often the primary's offset is read.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// A primary's position in its replication history.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReplicationOffset {
    id: String,
    offset: u64,
    /// The id of the history that it followed before, and the first offset of its own.
    branched: (String, u64),
}

impl ReplicationOffset {
    fn read(info: &str) -> Option<Self> {
        let field = |name: &str| info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'));
        if field("role")? != "master" {
            return None;
        }
        // -1 if it has followed no other history.
        let branched_at = field("second_repl_offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
        Some(Self {
            id: field("master_replid")?.to_owned(),
            offset: field("master_repl_offset")?.parse().ok()?,
            branched: (field("master_replid2")?.to_owned(), branched_at),
        })
    }

    /// The bytes that it lacks of the other's: none, a number, or `Some(None)` if the two share no history.
    fn missing(&self, previous: &Self) -> Option<Option<u64>> {
        let has = if self.id == previous.id {
            self.offset
        } else if self.branched.0 == previous.id {
            // Its own history starts with the byte after the last shared one.
            self.branched.1.saturating_sub(1)
        } else {
            return Some(None);
        };
        (has < previous.offset).then(|| Some(previous.offset - has))
    }
}

impl Sentinels {
    /// Compares each new primary with the previous one.
    pub(super) async fn follow_offsets(&self) {
        let (mut seen, mut connection) = (None::<(u64, ReplicationOffset)>, None::<(u64, MultiplexedConnection)>);
        loop {
            tokio::time::sleep(POLL_EVERY).await;
            let Some((moves, current)) = self.offset(&mut connection).await else { continue };
            if let Some((earlier, last)) = &seen
                && *earlier != moves
            {
                self.record_gap(&current, last);
            }
            seen = Some((moves, current));
        }
    }

    /// The primary's offset, and how often the primary had moved when this one was asked.
    async fn offset(&self, kept: &mut Option<(u64, MultiplexedConnection)>) -> Option<(u64, ReplicationOffset)> {
        let (moves, mut connection) = match kept.take() {
            Some((opened_at, connection)) if opened_at == self.moves() => (opened_at, connection),
            Some(_) | None => {
                let (info, moves) = self.primary().await.ok()?;
                let client = redis::Client::open(info).ok()?;
                (moves, client.get_multiplexed_async_connection_with_config(&self.config()).await.ok()?)
            }
        };
        let info: String = redis::cmd("INFO").arg("replication").query_async(&mut connection).await.ok()?;
        *kept = Some((moves, connection));
        Some((moves, ReplicationOffset::read(&info)?))
    }

    /// A gap is never cleared: lost changes stay lost, even if later primaries follow without a gap.
    fn record_gap(&self, current: &ReplicationOffset, previous: &ReplicationOffset) {
        let Some(bytes) = current.missing(previous) else { return };
        intray_metrics::REDIS_MISSING_BYTES.of(&[]).set(bytes.map_or(f64::NAN, |bytes| bytes as f64));
        self.state.send_modify(|state| state.gap = Some(ReplicationGap { since: Instant::now(), bytes }));
        if let Some(line) = self.replication_gap() {
            tracing::error!(primary = self.name(), "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(id: &str, offset: u64, branched: (&str, i64)) -> ReplicationOffset {
        let (id2, offset2) = branched;
        let text = format!(
            "role:master\r\nmaster_replid:{id}\r\nmaster_replid2:{id2}\r\nmaster_repl_offset:{offset}\r\nsecond_repl_offset:{offset2}\r\n"
        );
        ReplicationOffset::read(&text).expect("a primary's INFO")
    }

    #[test]
    fn gap_is_counted_from_where_the_histories_branched() {
        let previous = offset("a", 100, ("0", -1));
        assert_eq!(offset("b", 150, ("a", 101)).missing(&previous), None);
        assert_eq!(offset("b", 150, ("a", 61)).missing(&previous), Some(Some(40)));
        assert_eq!(offset("a", 100, ("0", -1)).missing(&previous), None, "the same server at another address");
        assert_eq!(offset("c", 900, ("b", 800)).missing(&previous), Some(None), "no shared history");
        assert_eq!(ReplicationOffset::read("role:slave\r\n"), None);
    }
}
