//! Which node has which slots, as a node tells it.

use redis::Value;

use super::slot::SLOTS;

/// A run of slots and where their primary is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) host: String,
    pub(super) port: u16,
}

/// What `CLUSTER SLOTS` said; a node that does not know its own name, or keeps it to itself, is where it was asked.
/// Nothing where it has no slot, or says what is none.
pub(super) fn read(answer: &Value, asked: &str) -> Option<Vec<Range>> {
    let Value::Array(entries) = answer else { return None };
    let mut ranges = entries.iter().map(|entry| range(entry, asked)).collect::<Option<Vec<_>>>()?;
    ranges.sort_by_key(|range| range.first);
    (!ranges.is_empty()).then_some(ranges)
}

/// `[first, last, [host, port, id, …], replicas…]`
fn range(entry: &Value, asked: &str) -> Option<Range> {
    let Value::Array(parts) = entry else { return None };
    let [first, last, Value::Array(primary), ..] = parts.as_slice() else { return None };
    let [host, port, ..] = primary.as_slice() else { return None };
    let slot = |value: &Value| match value {
        Value::Int(n) => u16::try_from(*n).ok().filter(|slot| usize::from(*slot) < SLOTS),
        _ => None,
    };
    let host = match host {
        Value::BulkString(host) => host_or(std::str::from_utf8(host).ok()?, asked),
        Value::SimpleString(host) => host_or(host, asked),
        Value::Nil => asked,
        _ => return None,
    };
    let Value::Int(port) = port else { return None };
    let (first, last) = (slot(first)?, slot(last)?);
    (first <= last).then(|| Some(Range { first, last, host: host.to_owned(), port: u16::try_from(*port).ok()? }))?
}

/// The address in a redirection, `host:port`.
pub(super) fn place<'p>(text: &'p str, asked: &'p str) -> Option<(&'p str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    Some((host_or(host, asked), port.parse().ok()?))
}

fn host_or<'h>(host: &'h str, asked: &'h str) -> &'h str {
    if matches!(host, "" | "?") { asked } else { host }
}

/// The one that most nodes tell; of several, the one with the most slots.
pub(super) fn agreed(told: Vec<Vec<Range>>) -> Option<Vec<Range>> {
    let votes = |map: &Vec<Range>| told.iter().filter(|other| *other == map).count();
    let covered = |map: &Vec<Range>| map.iter().map(|range| usize::from(range.last - range.first) + 1).sum::<usize>();
    let best = told.iter().max_by_key(|map| (votes(map), covered(map)))?.clone();
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(resp: &str) -> Option<Vec<Range>> {
        let value = redis::parse_redis_value(resp.replace(' ', "\r\n").as_bytes()).expect("RESP");
        read(&value, "asked")
    }

    fn range(first: u16, last: u16, host: &str, port: u16) -> Range {
        Range { first, last, host: host.to_owned(), port }
    }

    #[test]
    fn a_node_tells_who_has_which_slots() {
        let said = "*2 *4 :5 :9 *3 $1 b :7 $2 id *3 $1 r :8 $2 id *3 :0 :4 *4 $1 a :6 $2 id *0 ";
        assert_eq!(parsed(said), Some(vec![range(0, 4, "a", 6), range(5, 9, "b", 7)]));
    }

    #[test]
    fn who_does_not_say_its_host_is_where_it_was_asked() {
        for host in ["$-1", "$1 ?", "$0 "] {
            let said = format!("*1 *3 :0 :16383 *3 {host} :7 $2 id ");
            assert_eq!(parsed(&said), Some(vec![range(0, 16_383, "asked", 7)]), "{host:?}");
        }
        assert_eq!(place(":7", "asked"), Some(("asked", 7)));
        assert_eq!(place("::1:7", "asked"), Some(("::1", 7)));
        assert_eq!(place("h", "asked"), None);
    }

    #[test]
    fn what_is_no_map_is_none() {
        for said in ["*0 ", ":1 ", "*1 *2 :0 :1 ", "*1 *3 :0 :16384 *2 $1 a :1 ", "*1 *3 :4 :3 *2 $1 a :1 "] {
            assert_eq!(parsed(said), None, "{said}");
        }
    }

    #[test]
    fn the_map_that_most_tell_is_taken() {
        let (old, new) = (vec![range(0, 16_383, "a", 1)], vec![range(0, 16_383, "b", 1)]);
        assert_eq!(agreed(vec![old.clone(), new.clone(), new.clone()]), Some(new));
        let alone = vec![range(0, 9, "c", 1)];
        assert_eq!(agreed(vec![alone, old.clone()]), Some(old));
        assert_eq!(agreed(Vec::new()), None);
    }
}
