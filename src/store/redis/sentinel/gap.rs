//! How much of what one primary had taken the next one has not: by its history's name and the place in it that each has reached.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;

use super::{Behind, Sentinels, ask::config};

/// How often one looks how far the primary has come.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How far a primary has come.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reached {
    history: String,
    offset: u64,
    /// The history before its own, and where it left that.
    left: (String, u64),
}

impl Reached {
    fn read(info: &str) -> Option<Self> {
        let field = |name: &str| info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'));
        if field("role")? != "master" {
            return None;
        }
        // Where nothing was left, it says -1.
        let left = field("second_repl_offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
        Some(Self {
            history: field("master_replid")?.to_owned(),
            offset: field("master_repl_offset")?.parse().ok()?,
            left: (field("master_replid2")?.to_owned(), left),
        })
    }

    /// What it lacks of what another had: nothing, or so many bytes, or nobody knows.
    fn lacks(&self, other: &Self) -> Option<Option<u64>> {
        let has = if self.history == other.history {
            self.offset
        } else if self.left.0 == other.history {
            // It goes on behind the byte before.
            self.left.1.saturating_sub(1)
        } else {
            return Some(None);
        };
        (has < other.offset).then(|| Some(other.offset - has))
    }
}

impl Sentinels {
    /// Compares each primary with the one before.
    pub(super) async fn follow_offsets(&self) {
        let (mut seen, mut connection) = (None::<(u64, Reached)>, None::<(u64, MultiplexedConnection)>);
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let number = self.number();
            let Some(reached) = self.reached(number, &mut connection).await else { continue };
            if let Some((before, last)) = &seen
                && *before != number
            {
                self.compare(&reached, last);
            }
            seen = Some((number, reached));
        }
    }

    async fn reached(&self, number: u64, kept: &mut Option<(u64, MultiplexedConnection)>) -> Option<Reached> {
        let mut connection = match kept.take() {
            Some((of, connection)) if of == number => connection,
            Some(_) | None => {
                let (info, _) = self.primary().await.ok()?;
                let client = redis::Client::open(info).ok()?;
                client.get_multiplexed_async_connection_with_config(&config()).await.ok()?
            }
        };
        let info: String = redis::cmd("INFO").arg("replication").query_async(&mut connection).await.ok()?;
        *kept = Some((number, connection));
        Reached::read(&info)
    }

    /// What was lost once stays lost, however well the next ones follow.
    fn compare(&self, reached: &Reached, last: &Reached) {
        let Some(bytes) = reached.lacks(last) else { return };
        metrics::gauge!("intray_redis_missing_bytes").set(bytes.map_or(f64::NAN, |bytes| bytes as f64));
        self.now.send_modify(|now| now.behind = Some(Behind { since: Instant::now(), bytes }));
        if let Some(line) = self.lacks() {
            tracing::error!(primary = self.name(), "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(history: &str, offset: u64, left: (&str, i64)) -> Reached {
        let (before, from) = left;
        let text = format!(
            "role:master\r\nmaster_replid:{history}\r\nmaster_replid2:{before}\r\nmaster_repl_offset:{offset}\r\nsecond_repl_offset:{from}\r\n"
        );
        Reached::read(&text).expect("a primary's")
    }

    #[test]
    fn a_primary_lacks_what_the_one_before_had_beyond_the_place_where_it_went_its_own_way() {
        let before = reached("a", 100, ("0", -1));
        assert_eq!(reached("b", 150, ("a", 101)).lacks(&before), None);
        assert_eq!(reached("b", 150, ("a", 61)).lacks(&before), Some(Some(40)));
        assert_eq!(reached("a", 100, ("0", -1)).lacks(&before), None, "the same, at another address");
        assert_eq!(reached("c", 900, ("b", 800)).lacks(&before), Some(None), "of another history");
        assert_eq!(Reached::read("role:slave\r\n"), None);
    }
}
