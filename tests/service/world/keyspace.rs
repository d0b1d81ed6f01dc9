//! What is in Redis, read directly: the records as the scripts pack them, the sets, the events.

use std::collections::{BTreeMap, HashMap};

use super::{engine::Engine, records};

/// Every key that a queue may have, with its type.
pub const KEYS: [(&str, &str); 33] = [
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
];
/// Belong to no queue.
const COMMON: [(&str, &str); 5] = [
    ("intray:2:queues", "zset"),
    ("intray:2:webhooks", "hash"),
    ("intray:2:libraries", "zset"),
    ("intray:layout", "string"),
    ("intray:epoch", "string"),
];

/// Each node of a cluster has one, with a number.
const RESTART_MARKER: &str = "intray:{restart-";

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
            let key = format!("intray:{{{queue}}}:2:{name}");
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
        // The background task may have emptied it meanwhile.
        if lives == -2 || kind == "none" {
            continue;
        }
        assert_eq!(lives, -1, "{key} would vanish by itself");
        let own = key.strip_prefix("intray:{").and_then(|rest| rest.split_once("}:2:"));
        let known = match own {
            Some((_, name)) => KEYS.contains(&(name, &kind)),
            None => COMMON.contains(&(&key, &kind)) || key.starts_with(RESTART_MARKER) && kind == "hash",
        };
        assert!(known, "{key} ({kind}) is a stray key");
        queues.extend(own.map(|(queue, _)| queue.to_owned()));
    }
    queues.sort();
    queues.dedup();
    queues
}

/// The fields of a job's header that the check needs.
#[derive(Debug)]
pub struct Header {
    pub is_stub: bool,
    pub is_apart: bool,
    pub is_member: bool,
    pub digest: Option<Bytes>,
    pub locks: Vec<Bytes>,
    pub client: String,
    /// When it was enqueued, by the queue's own clock.
    pub stamp: Bytes,
}

impl Header {
    pub fn read(raw: &[u8]) -> Self {
        let records::Header { is_stub, is_apart, is_member, digest, locks, client, stamp, .. } =
            records::Header::read(raw).expect("a header");
        let locks = locks.into_iter().map(String::into_bytes).collect();
        Self { is_stub, is_apart, is_member, digest, locks, client, stamp: six(stamp) }
    }

    /// The gates of a job: its batch, then its locks.
    pub fn gates(&self, id: &[u8]) -> Vec<Bytes> {
        let batch = self.is_member.then(|| [b"\0", &id[..22], b"0000"].concat());
        batch.into_iter().chain(self.locks.iter().cloned()).collect()
    }
}

/// The fields of a job's live record that the check needs.
#[derive(Debug)]
pub struct Live {
    pub state: &'static str,
    pub score: f64,
    /// Orders jobs with equal scores.
    pub arrival: Bytes,
    /// Not reserved since it got its place.
    pub unserved: bool,
    pub late: usize,
    /// `worker NUL nonce` of the reservation that is out.
    pub holder: Option<Bytes>,
    /// Its worker has completed it and may take that back.
    pub is_closing: bool,
    /// Where it is parked.
    pub gate: Bytes,
}

impl Live {
    pub fn read(raw: &[u8]) -> Self {
        let live = records::Live::read(raw).expect("a live record");
        let holder = |hold: &records::Hold| [hold.worker.as_bytes(), b"\0", &hold.nonce].concat();
        Self {
            state: live.state.word(),
            score: live.place.map_or(-1.0, |place| place as f64),
            arrival: six(live.arrival),
            unserved: live.is_unserved,
            late: live.late.into(),
            gate: live.gate.into_bytes(),
            is_closing: live.hold.as_ref().is_some_and(|hold| hold.marks & records::CLOSING != 0),
            holder: live.hold.as_ref().map(holder),
        }
    }
}

/// A time of the queue's own clock, as keys and records have it.
fn six(stamp: u64) -> Bytes {
    stamp.to_be_bytes()[2..].to_vec()
}

/// The record of a batch.
#[derive(Debug)]
pub struct Batch {
    pub stage: u8,
    pub total: u32,
    pub concurrency: u32,
    /// By state: waiting, blocked, delayed, reserved, completed, dead, cancelled.
    pub counts: [u32; 7],
}

impl Batch {
    pub const OPENING: u8 = 2;
    pub const SEALED: u8 = 4;
    pub const REMOVING: u8 = 8;

    pub fn read(raw: &[u8]) -> Self {
        let number = |at: usize| u32::from_be_bytes(raw[at..at + 4].try_into().expect("four bytes"));
        let counts = std::array::from_fn(|state| number(38 + 4 * state));
        Self { stage: raw[1], total: number(26), concurrency: number(34), counts }
    }
}

/// A transition, as the event stream shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: String,
    pub job: String,
    pub worker: String,
    pub client: String,
    pub note: String,
}

pub async fn events(engine: &Engine, queue: &str) -> Vec<Event> {
    marked_events(engine, queue).await.into_iter().map(|(_, event, _)| event).collect()
}

/// Whether events were deleted from the middle of the stream because they named a worker. Trimming it counts as no such deletion.
pub async fn has_erased_events(engine: &Engine, queue: &str) -> bool {
    let key = format!("intray:{{{queue}}}:2:events");
    if engine.run::<u64>(&format!("EXISTS {key}")).await == 0 {
        return false;
    }
    let info: HashMap<String, redis::Value> = engine.run(&format!("XINFO STREAM {key}")).await;
    let deleted = info.get("max-deleted-entry-id").cloned().map(redis::from_redis_value::<String>);
    deleted.is_some_and(|id| id.expect("an id") != "0-0")
}

/// The events, each with its time in ms, and with what its note says besides: that an abandon skips the job, or how a late completion
/// has ended its reservation.
pub async fn marked_events(engine: &Engine, queue: &str) -> Vec<(u64, Event, String)> {
    let entries: Vec<(String, Vec<(Bytes, Bytes)>)> =
        engine.run(&format!("XRANGE intray:{{{queue}}}:2:events - +")).await;
    let mut events = Vec::new();
    for (at, (count, packed)) in entries.into_iter().filter_map(|(at, fields)| Some((at, fields.into_iter().next()?))) {
        let at_ms = at.split('-').next().and_then(|ms| ms.parse().ok()).expect("the id of an entry");
        let before = events.len();
        let mut rest = packed.as_slice();
        while !rest.is_empty() {
            // The first bit says that the job belongs to a batch.
            let length = cut(&mut rest, 1)[0] & 127;
            let kind = text(cut(&mut rest, length.into()));
            let job = text(cut(&mut rest, 26));
            let (worker, client) = (short(&mut rest), short(&mut rest));
            let length = u16::from_be_bytes(cut(&mut rest, 2).try_into().expect("two bytes"));
            let (mut note, mut mark) = (text(cut(&mut rest, length.into())), String::new());
            if kind == "abandoned" && note.starts_with(['\u{1}', '\u{2}']) {
                mark = note.remove(0).to_string();
            }
            if kind == "completed" {
                // Before it stands since when the job was held, and how long.
                note = note.splitn(3, ' ').nth(2).unwrap_or_default().to_owned();
                if let Some((late, cause)) = note.clone().split_once(' ') {
                    (note, mark) = (late.to_owned(), cause.to_owned());
                }
            }
            let job = format!("{queue}-{job}");
            events.push((at_ms, Event { kind, job, worker, client, note }, mark));
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
