//! What is in Redis, read directly: the records as the scripts pack them, the sets, the events.

use std::collections::{BTreeMap, HashMap};

use super::engine::Engine;

/// Every key that a queue may have, with its type.
const KEYS: [(&str, &str); 21] = [
    ("inbound", "zset"),
    ("reserved", "zset"),
    ("delayed", "zset"),
    ("dead", "zset"),
    ("ended", "zset"),
    ("parked", "zset"),
    ("held", "zset"),
    ("turns", "zset"),
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
    ("events", "stream"),
];
/// Belong to no queue.
const COMMON: [(&str, &str); 2] = [("intray:queues", "zset"), ("intray:layout", "string")];

type Bytes = Vec<u8>;

/// One queue, as it lies in Redis.
#[derive(Debug, Default)]
pub struct Keyspace {
    pub zsets: HashMap<&'static str, BTreeMap<Bytes, f64>>,
    pub hashes: HashMap<&'static str, BTreeMap<Bytes, Bytes>>,
}

impl Keyspace {
    pub async fn read(engine: &Engine, queue: &str) -> Self {
        let mut found = Self::default();
        for (name, kind) in KEYS {
            let key = format!("intray:{{{queue}}}:{name}");
            match kind {
                "zset" => {
                    let members: Vec<(Bytes, f64)> = engine.run(&format!("ZRANGE {key} 0 -1 WITHSCORES")).await;
                    found.zsets.insert(name, members.into_iter().collect());
                }
                "hash" => {
                    found.hashes.insert(name, engine.run(&format!("HGETALL {key}")).await);
                }
                _ => {}
            }
        }
        found
    }

    pub fn set(&self, name: &str) -> &BTreeMap<Bytes, f64> {
        &self.zsets[name]
    }

    pub fn hash(&self, name: &str) -> &BTreeMap<Bytes, Bytes> {
        &self.hashes[name]
    }

    pub fn total(&self, name: &str) -> i64 {
        let total = self.hash("totals").get(name.as_bytes());
        total.map_or(0, |text| String::from_utf8_lossy(text).parse().expect("a number"))
    }
}

/// The queues that have keys. Panics at a key that should not be, has the wrong type or a time to live.
pub async fn queues(engine: &Engine) -> Vec<String> {
    let mut queues = Vec::new();
    let keys: Vec<String> = engine.run("KEYS *").await;
    for key in keys {
        let kind: String = engine.run(&format!("TYPE {key}")).await;
        let lives: i64 = engine.run(&format!("PTTL {key}")).await;
        assert_eq!(lives, -1, "{key} would vanish by itself");
        let own = key.strip_prefix("intray:{").and_then(|rest| rest.split_once("}:"));
        let known = match own {
            Some((_, name)) => KEYS.contains(&(name, &kind)),
            None => COMMON.contains(&(&key, &kind)),
        };
        assert!(known, "{key} ({kind}) is a stray key");
        queues.extend(own.map(|(queue, _)| queue.to_owned()));
    }
    queues.sort();
    queues.dedup();
    queues
}

/// What enqueue said; of that, what the check needs.
#[derive(Debug)]
pub struct Header {
    pub is_stub: bool,
    pub is_apart: bool,
    pub digest: Option<Bytes>,
}

impl Header {
    pub fn read(raw: &[u8]) -> Self {
        let flags = u16::from_be_bytes([raw[7], raw[8]]);
        let mut at = 10;
        if flags & 2 != 0 {
            at += 1 + usize::from(raw[at]);
        }
        let digest = (flags & 4 != 0).then(|| raw[at..at + 16].to_vec());
        Self { is_stub: flags & 256 != 0, is_apart: flags & 1 != 0, digest }
    }
}

/// All of a job that changes; of that, what the check needs.
#[derive(Debug)]
pub struct Live {
    pub state: &'static str,
    pub score: f64,
    pub late: usize,
    /// `worker NUL nonce` of the reservation that is out.
    pub holder: Option<Bytes>,
}

impl Live {
    pub fn read(raw: &[u8]) -> Self {
        const STATES: [&str; 7] = ["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"];
        let hold = &raw[38..38 + usize::from(raw[37])];
        Self {
            state: STATES[usize::from(raw[1]) - 1],
            score: f64::from_be_bytes(raw[2..10].try_into().expect("eight bytes")),
            late: usize::from(u16::from_be_bytes([raw[35], raw[36]])),
            holder: (!hold.is_empty()).then(|| [&hold[66..], b"\0", &hold[34..50]].concat()),
        }
    }
}

/// A transition, as the stream tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: String,
    pub job: String,
    pub worker: String,
    pub client: String,
    pub note: String,
}

pub async fn events(engine: &Engine, queue: &str) -> Vec<Event> {
    let entries: Vec<(String, Vec<(Bytes, Bytes)>)> =
        engine.run(&format!("XRANGE intray:{{{queue}}}:events - +")).await;
    let mut events = Vec::new();
    for (count, packed) in entries.into_iter().flat_map(|(_, fields)| fields) {
        let before = events.len();
        let mut rest = packed.as_slice();
        while !rest.is_empty() {
            let kind = short(&mut rest);
            let job = text(cut(&mut rest, 26));
            let (worker, client) = (short(&mut rest), short(&mut rest));
            let length = u16::from_be_bytes(cut(&mut rest, 2).try_into().expect("two bytes"));
            let note = text(cut(&mut rest, length.into()));
            events.push(Event { kind, job: format!("{queue}-{job}"), worker, client, note });
        }
        assert_eq!(text(&count), (events.len() - before).to_string(), "an entry says how many transitions it holds");
    }
    events
}

fn cut<'b>(rest: &mut &'b [u8], length: usize) -> &'b [u8] {
    let (head, tail) = rest.split_at(length);
    *rest = tail;
    head
}

fn short(rest: &mut &[u8]) -> String {
    let length = cut(rest, 1)[0];
    text(cut(rest, length.into()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
