//! All key names. `docs/how-it-works.md` has the same table, and a test compares the two.
//!
//! A name holds the number of the layout, so that a program with another layout cannot take these keys for its own.

use crate::job::QueueName;

/// The number of the layout. Records hold it too, as their first byte.
pub(crate) const LAYOUT: &str = "2";

/// The keys of a queue with their types. They share one hash tag.
pub(crate) const KEYS: [(&str, &str); 34] = [
    ("inbound", "zset"),
    ("reserved", "zset"),
    ("delayed", "zset"),
    ("dead", "zset"),
    ("ended", "zset"),
    ("parked", "zset"),
    ("held", "zset"),
    ("restricted", "zset"),
    ("lines", "zset"),
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
    ("routes", "hash"),
    ("alarms", "zset"),
    ("tops", "hash"),
    ("settings", "hash"),
    ("form", "hash"),
    ("totals", "hash"),
    ("history", "hash"),
    ("events", "stream"),
    ("cursors", "hash"),
    ("deliveries", "zset"),
    ("bodies", "hash"),
    ("actions", "hash"),
    ("sheets", "hash"),
    ("erasures", "hash"),
    // A channel, named like a key: on a cluster it belongs to a slot too.
    (HINTS, "channel"),
];

/// The channel of the hints.
pub(crate) const HINTS: &str = "hints";
/// The key of scripts that work on the registry.
pub(crate) const REGISTRY: &str = "registry";
/// The key of the script that works on the webhooks.
pub(crate) const WEBHOOKS: &str = "webhooks";
/// The keys that belong to no queue, as scripts name them, with their types.
pub(crate) const GLOBAL_KEYS: [(&str, &str); 2] = [(REGISTRY, "zset"), (WEBHOOKS, "hash")];

/// Makes key names under a prefix.
#[derive(Debug, Clone)]
pub(crate) struct KeyNames {
    prefix: String,
    layout: String,
}

impl KeyNames {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), layout: LAYOUT.to_owned() }
    }

    /// The names in another layout.
    pub(crate) fn of_layout(&self, layout: u32) -> Self {
        Self { layout: layout.to_string(), ..self.clone() }
    }

    /// `<prefix>:{<queue>}:2:<name>`: the braces make Redis Cluster keep a queue on one node.
    pub(crate) fn of(&self, queue: &QueueName, name: &str) -> String {
        self.parts(queue, name).concat()
    }

    /// The same in parts, so that twenty keys can be written into one buffer.
    pub(crate) fn parts<'k>(&'k self, queue: &'k QueueName, name: &'k str) -> [&'k str; 7] {
        match name {
            REGISTRY => [&self.prefix, ":", &self.layout, ":queues", "", "", ""],
            WEBHOOKS => [&self.prefix, ":", &self.layout, ":webhooks", "", "", ""],
            _ => [&self.prefix, ":{", queue.as_str(), "}:", &self.layout, ":", name],
        }
    }

    /// The sorted set of queue names.
    pub(crate) fn registry(&self) -> String {
        format!("{}:{}:queues", self.prefix, self.layout)
    }

    /// The hash of webhooks: since when each is known, and how it stands.
    pub(crate) fn webhooks(&self) -> String {
        format!("{}:{}:webhooks", self.prefix, self.layout)
    }

    /// The sorted set of the function libraries in use.
    pub(crate) fn libraries(&self) -> String {
        format!("{}:{}:libraries", self.prefix, self.layout)
    }

    /// The keys that belong to no queue, the registry first.
    pub(crate) fn common(&self) -> [String; 3] {
        [self.registry(), self.webhooks(), self.libraries()]
    }

    /// A name for the same content, on the same node of a cluster.
    pub(crate) fn beside(&self, key: &str) -> String {
        format!("{}:{{{key}}}", self.prefix)
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A key that never exists. Access rights are tested on it.
    pub(crate) fn trial(&self) -> String {
        format!("{}:trial", self.prefix)
    }

    /// The id of the data in Redis.
    pub(crate) fn store_id(&self) -> String {
        format!("{}:epoch", self.prefix)
    }

    /// What shows whether a restarted server has kept the changes of scripts. Each node of a cluster has one, whose number
    /// leads to it.
    pub(crate) fn restart_marker(&self, number: usize) -> String {
        format!("{}:{{restart-{number}}}", self.prefix)
    }

    /// The version of the layout.
    pub(crate) fn layout(&self) -> String {
        format!("{}:layout", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::{KEYS, KeyNames};

    const PAGE: &str = include_str!("../../../docs/how-it-works.md");

    #[test]
    fn how_it_works_has_the_same_table_of_keys() {
        let table = PAGE.lines().skip_while(|line| *line != "| key | type | holds |").skip(2);
        let rows = table.take_while(|line| line.starts_with('|')).map(|row| {
            let mut cells = row.split('|').map(|cell| cell.trim().trim_matches('`'));
            (cells.nth(1).unwrap_or_default(), cells.next().unwrap_or_default())
        });
        assert_eq!(rows.collect::<Vec<_>>(), KEYS);
    }

    #[test]
    fn how_it_works_names_keys_outside_the_table() {
        let keys = KeyNames::new("intray");
        for key in keys.common().into_iter().chain([keys.layout(), keys.store_id(), keys.restart_marker(0)]) {
            assert!(PAGE.contains(&format!("`{key}`")), "{key}");
        }
    }
}
