//! Every key name is made here. `docs/how-it-works.md` draws the same table, and a test compares them.
//!
//! A name holds the layout's number, so that a program of another layout finds nothing that it could take for its own.

use crate::job::QueueName;

/// The layout of all this; the records say it, too.
const LAYOUT: &str = "2";

/// What a queue keeps in Redis: a fixed set of keys that share one hash tag, with the type of each.
pub(crate) const KEYS: [(&str, &str); 23] = [
    ("inbound", "zset"),
    ("reserved", "zset"),
    ("delayed", "zset"),
    ("dead", "zset"),
    ("ended", "zset"),
    ("parked", "zset"),
    ("held", "zset"),
    ("turns", "hash"),
    ("jobs", "hash"),
    ("payloads", "hash"),
    ("live", "hash"),
    ("results", "hash"),
    ("drafts", "hash"),
    ("dedupe", "hash"),
    ("gates", "hash"),
    ("batches", "hash"),
    ("timers", "zset"),
    ("tops", "hash"),
    ("settings", "hash"),
    ("totals", "hash"),
    ("history", "hash"),
    ("events", "stream"),
    // No key, but named like one: on a cluster a channel belongs to a slot, too.
    (HINTS, "channel"),
];

/// Where hints are published.
pub(crate) const HINTS: &str = "hints";
/// The one key of scripts that work on no queue.
pub(crate) const REGISTRY: &str = "registry";

/// Makes names under a prefix.
#[derive(Debug, Clone)]
pub(crate) struct KeyNames {
    prefix: String,
}

impl KeyNames {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// `<prefix>:{<queue>}:2:<name>`: the braces make Redis Cluster keep a queue on one node.
    pub(crate) fn of(&self, queue: &QueueName, name: &str) -> String {
        self.parts(queue, name).concat()
    }

    /// The same in parts: a script has twenty keys, and writes them one behind the other.
    pub(crate) fn parts<'k>(&'k self, queue: &'k QueueName, name: &'k str) -> [&'k str; 7] {
        match name {
            REGISTRY => [&self.prefix, ":", LAYOUT, ":queues", "", "", ""],
            _ => [&self.prefix, ":{", queue.as_str(), "}:", LAYOUT, ":", name],
        }
    }

    /// The sorted set of queue names.
    pub(crate) fn registry(&self) -> String {
        format!("{}:{LAYOUT}:queues", self.prefix)
    }

    /// The sorted set of the libraries of functions that are in use.
    pub(crate) fn libraries(&self) -> String {
        format!("{}:{LAYOUT}:libraries", self.prefix)
    }

    /// As the first layout named it.
    pub(crate) fn first_of(&self, queue: &QueueName, name: &str) -> String {
        format!("{}:{{{queue}}}:{name}", self.prefix)
    }

    /// As the first layout named it.
    pub(crate) fn first_registry(&self) -> String {
        format!("{}:queues", self.prefix)
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A key that is never there; rights are tried on it.
    pub(crate) fn trial(&self) -> String {
        format!("{}:trial", self.prefix)
    }

    /// Says which Redis this is, from its first day until it is emptied.
    pub(crate) fn epoch(&self) -> String {
        format!("{}:epoch", self.prefix)
    }

    /// The version of the layout.
    pub(crate) fn layout(&self) -> String {
        format!("{}:layout", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::{KEYS, KeyNames};

    const PAGE: &str = include_str!("../../docs/how-it-works.md");

    #[test]
    fn the_page_of_how_it_works_draws_the_same_table() {
        let table = PAGE.lines().skip_while(|line| *line != "| key | type | holds |").skip(2);
        let rows = table.take_while(|line| line.starts_with('|')).map(|row| {
            let mut cells = row.split('|').map(|cell| cell.trim().trim_matches('`'));
            (cells.nth(1).unwrap_or_default(), cells.next().unwrap_or_default())
        });
        assert_eq!(rows.collect::<Vec<_>>(), KEYS);
    }

    #[test]
    fn it_names_the_keys_beside_the_table() {
        let keys = KeyNames::new("intray");
        for key in [keys.registry(), keys.libraries(), keys.layout(), keys.epoch()] {
            assert!(PAGE.contains(&format!("`{key}`")), "{key}");
        }
    }
}
