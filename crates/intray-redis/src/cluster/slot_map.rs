//! The slot map of a cluster, as nodes report it.

use redis::{Value, from_redis_value_ref};

use super::slot::SLOTS;

/// Consecutive slots and the address of their primary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlotRange {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) host: String,
    pub(super) port: u16,
}

/// The ranges in a reply to `CLUSTER SLOTS`. A node without a host is at `asked_host`, the one that was asked. `None` if there is
/// no range or the reply is invalid.
pub(super) fn parse(reply: &Value, asked_host: &str) -> Option<Vec<SlotRange>> {
    let Value::Array(entries) = reply else { return None };
    let mut ranges = entries.iter().map(|entry| range(entry, asked_host)).collect::<Option<Vec<_>>>()?;
    ranges.sort_by_key(|range| range.first);
    (!ranges.is_empty()).then_some(ranges)
}

/// `[first, last, [host, port, id, …], replicas…]`
fn range(entry: &Value, asked_host: &str) -> Option<SlotRange> {
    let Value::Array(parts) = entry else { return None };
    let [first, last, Value::Array(primary), ..] = parts.as_slice() else { return None };
    let [host, port, ..] = primary.as_slice() else { return None };
    let (first, last, port) = (number(first)?, number(last)?, number(port)?);
    let host: Option<String> = from_redis_value_ref(host).ok()?;
    let host = host_or(host.as_deref().unwrap_or_default(), asked_host).to_owned();
    (first <= last && usize::from(last) < SLOTS).then_some(SlotRange { first, last, host, port })
}

fn number(value: &Value) -> Option<u16> {
    from_redis_value_ref(value).ok()
}

/// The address in a redirection, `host:port`.
pub(super) fn address<'a>(text: &'a str, asked_host: &'a str) -> Option<(&'a str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    Some((host_or(host, asked_host), port.parse().ok()?))
}

fn host_or<'h>(host: &'h str, asked_host: &'h str) -> &'h str {
    if matches!(host, "" | "?") { asked_host } else { host }
}

/// The map that most nodes report; of several, the one with the most slots.
pub(super) fn majority_map(reported: Vec<Vec<SlotRange>>) -> Option<Vec<SlotRange>> {
    let votes = |map: &Vec<SlotRange>| reported.iter().filter(|other| *other == map).count();
    let covered =
        |map: &Vec<SlotRange>| map.iter().map(|range| usize::from(range.last - range.first) + 1).sum::<usize>();
    let best = reported.iter().max_by_key(|map| (votes(map), covered(map)))?.clone();
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(resp: &str) -> Option<Vec<SlotRange>> {
        let value = redis::parse_redis_value(resp.replace(' ', "\r\n").as_bytes()).expect("RESP");
        parse(&value, "asked")
    }

    fn range(first: u16, last: u16, host: &str, port: u16) -> SlotRange {
        SlotRange { first, last, host: host.to_owned(), port }
    }

    #[test]
    fn ranges_are_sorted_and_name_the_primary() {
        let reply = "*2 *4 :5 :9 *3 $1 b :7 $2 id *3 $1 r :8 $2 id *3 :0 :4 *4 $1 a :6 $2 id *0 ";
        assert_eq!(parsed(reply), Some(vec![range(0, 4, "a", 6), range(5, 9, "b", 7)]));
    }

    #[test]
    fn node_without_a_host_is_at_the_asked_host() {
        for host in ["$-1", "$1 ?", "$0 "] {
            let reply = format!("*1 *3 :0 :16383 *3 {host} :7 $2 id ");
            assert_eq!(parsed(&reply), Some(vec![range(0, 16_383, "asked", 7)]), "{host:?}");
        }
        assert_eq!(address(":7", "asked"), Some(("asked", 7)));
        assert_eq!(address("::1:7", "asked"), Some(("::1", 7)));
        assert_eq!(address("h", "asked"), None);
    }

    #[test]
    fn invalid_slot_map_is_rejected() {
        for reply in ["*0 ", ":1 ", "*1 *2 :0 :1 ", "*1 *3 :0 :16384 *2 $1 a :1 ", "*1 *3 :4 :3 *2 $1 a :1 "] {
            assert_eq!(parsed(reply), None, "{reply}");
        }
    }

    #[test]
    fn map_that_most_nodes_report_is_used() {
        let (old, new) = (vec![range(0, 16_383, "a", 1)], vec![range(0, 16_383, "b", 1)]);
        assert_eq!(majority_map(vec![old.clone(), new.clone(), new.clone()]), Some(new));
        let alone = vec![range(0, 9, "c", 1)];
        assert_eq!(majority_map(vec![alone, old.clone()]), Some(old));
        assert_eq!(majority_map(Vec::new()), None);
    }
}
