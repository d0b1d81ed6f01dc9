//! What lies in Redis, read in one go.

use std::collections::{BTreeMap, BTreeSet};

use intray::job::{Code, QueueName};
use redis::Value;

use super::{
    batch::BatchRow,
    record::{Bytes, Header, Live, Row, SPAN, plain},
    route::{read_parts, read_route},
};
use crate::reference::Event;

/// Every key that a queue may have, by type.
const SETS: [&str; 11] =
    ["inbound", "restricted", "lines", "reserved", "delayed", "dead", "ended", "parked", "held", "timers", "alarms"];
const HASHES: [&str; 14] = [
    "jobs", "payloads", "live", "results", "drafts", "dedupe", "gates", "batches", "turns", "tops", "settings",
    "totals", "history", "routes",
];
/// In which of the sets jobs are, by themselves.
const PLACES: [&str; 6] = ["inbound", "restricted", "reserved", "delayed", "dead", "ended"];

/// A job in line is the stamp of its arrival, and its id.
const ARRIVAL: usize = 6;
const IN_LINE: usize = ARRIVAL + Code::LEN;

pub struct Keyspace {
    sets: BTreeMap<&'static str, BTreeMap<Vec<u8>, u64>>,
    hashes: BTreeMap<&'static str, BTreeMap<Vec<u8>, Vec<u8>>>,
    pub registry: BTreeMap<String, u64>,
    pub keys: Vec<String>,
    /// Since the one before.
    pub events: Vec<Event>,
    /// Id of the last entry of the stream.
    pub last_event: String,
}

impl Keyspace {
    pub fn read(connection: &mut redis::Connection, queue: &QueueName, last_event: &str) -> Result<Self, String> {
        let key = |name: &str| format!("intray:{{{queue}}}:2:{name}");
        let mut pipe = redis::pipe();
        for set in SETS {
            pipe.cmd("ZRANGE").arg(key(set)).arg(0).arg(-1).arg("WITHSCORES");
        }
        for hash in HASHES {
            pipe.cmd("HGETALL").arg(key(hash));
        }
        pipe.cmd("ZRANGE").arg("intray:2:queues").arg(0).arg(-1).arg("WITHSCORES");
        pipe.cmd("XRANGE").arg(key("events")).arg(format!("({last_event}")).arg("+");
        pipe.cmd("KEYS").arg("*");
        let answers: Vec<Value> = pipe.query(connection).map_err(|e| format!("Redis: {e}"))?;
        let mut answers = answers.into_iter();
        let mut next = || items(answers.next());
        let mut found = Self {
            sets: SETS.into_iter().map(|set| (set, scores(next()))).collect(),
            hashes: HASHES.into_iter().map(|hash| (hash, pairs(next()).collect())).collect(),
            registry: numbers(next(), f64::abs).map(|(name, at)| (plain(&name), at)).collect(),
            keys: Vec::new(),
            events: Vec::new(),
            last_event: last_event.to_owned(),
        };
        for entry in next() {
            found.read_entry(items(Some(entry)))?;
        }
        for name in next().into_iter().map(|name| plain(&bytes(name))) {
            let own = name.strip_prefix(&key(""));
            let is_known = own.is_some_and(|own| own == "events" || SETS.contains(&own) || HASHES.contains(&own));
            found.keys.push(name.clone());
            if !is_known && name != "intray:2:queues" {
                return Err(format!("{name} is a stray key"));
            }
        }
        Ok(found)
    }

    /// One entry of the stream, which may tell of many transitions.
    fn read_entry(&mut self, mut entry: Vec<Value>) -> Result<(), String> {
        let fields = items(entry.pop());
        self.last_event = plain(&bytes(entry.pop().unwrap_or(Value::Nil)));
        for (count, packed) in pairs(fields) {
            let before = self.events.len();
            let mut rest = Bytes(&packed);
            while !rest.0.is_empty() {
                // The first bit says that the job belongs to a batch.
                let length = rest.uint(1)? as usize & 127;
                let kind = plain(rest.take(length)?);
                let job = plain(rest.take(Code::LEN)?);
                let (worker, client, note) = (rest.text(1)?, rest.text(1)?, rest.text(2)?);
                self.events.push(Event { job, kind, worker, client, note });
            }
            if plain(&count) != (self.events.len() - before).to_string() {
                return Err(format!("an entry says that it holds {} transitions", plain(&count)));
            }
        }
        Ok(())
    }

    pub fn set(&self, name: &str) -> &BTreeMap<Vec<u8>, u64> {
        &self.sets[name]
    }

    pub fn hash(&self, name: &str) -> &BTreeMap<Vec<u8>, Vec<u8>> {
        &self.hashes[name]
    }

    pub fn batches(&self) -> Result<BTreeMap<String, BatchRow>, String> {
        let row = |(code, raw): (&Vec<u8>, &Vec<u8>)| {
            let parts = self.hash("routes").get(code).map(|raw| read_parts(raw)).transpose()?.unwrap_or_default();
            Ok((plain(code), BatchRow::read(raw, self.set("timers").get(code).copied(), parts)?))
        };
        self.hash("batches").iter().map(row).collect()
    }

    /// What each client has in line: its last turn, and how many of its jobs nobody has had.
    pub fn turns(&self) -> Result<BTreeMap<String, (u64, u32)>, String> {
        let read = |(client, raw): (&Vec<u8>, &Vec<u8>)| {
            let mut bytes = Bytes(raw);
            Ok((plain(client), (bytes.uint(6)?, bytes.int()?)))
        };
        self.hash("turns").iter().map(read).collect()
    }

    /// Gate, place and job of each that is parked, in the order of the set.
    pub fn parked(&self) -> Result<Vec<(String, u64, String)>, String> {
        let read = |member: &Vec<u8>| {
            let (gate, place, _, id) = read_placed(member)?;
            Some((gate, place, id))
        };
        self.set("parked").keys().map(|member| read(member).ok_or(format!("{member:?} is parked"))).collect()
    }

    /// Line, place, arrival and job of each that waits in one.
    pub fn lines(&self) -> Result<BTreeSet<(String, u64, u64, String)>, String> {
        let scores = self.set("lines").values().find(|score| **score != 0);
        let read = |member: &Vec<u8>| read_placed(member).ok_or(format!("{member:?} is in a line"));
        match scores {
            None => self.set("lines").keys().map(read).collect(),
            Some(score) => Err(format!("a job in a line has the score {score}")),
        }
    }

    /// Every job and stub, with all that hangs on it.
    pub fn rows(&self) -> Result<BTreeMap<String, Row>, String> {
        let mut rows = BTreeMap::new();
        for (id, raw) in self.hash("jobs") {
            let header = Header::read(raw)?;
            let known = self.hash("live").get(id).map(|raw| Live::read(raw)).transpose()?;
            let arrival = known.as_ref().map_or(header.stamp, |live| live.arrival);
            let member = [&arrival.to_be_bytes()[8 - ARRIVAL..], id].concat();
            let score =
                |set| self.set(set).get(if ["inbound", "restricted"].contains(&set) { &member } else { id }).copied();
            let sets: Vec<_> = PLACES.iter().filter_map(|set| Some((*set, score(set)?))).collect();
            let live = known.unwrap_or_else(|| match score("inbound") {
                Some(place) => Live::untouched(Some(place), (place / SPAN) as u8, arrival),
                None => Live::untouched(None, header.priority, arrival),
            });
            let apart = self.hash("payloads").get(id).map(|payload| plain(payload));
            let own = self.hash("results").range(id.clone()..).take_while(|(field, _)| field.starts_with(id));
            let results = own.map(|(field, value)| (plain(&field[Code::LEN..]), value.clone())).collect();
            let draft = self.hash("drafts").get(id).map(|raw| read_draft(raw)).transpose()?;
            let route = self.hash("routes").get(id).map(|raw| read_route(raw)).transpose()?;
            let (route, overlap, uncut) = route.unwrap_or_default();
            let alarm = self.set("alarms").get(id).copied();
            rows.insert(plain(id), Row { sets, header, apart, live, results, draft, route, overlap, uncut, alarm });
        }
        for (_, place, id) in self.parked()? {
            rows.get_mut(&id).ok_or(format!("{id} is parked and no job"))?.sets.push(("parked", place));
        }
        Ok(rows)
    }
}

/// A gate or line, a place in 16 digits, an arrival and an id.
fn read_placed(member: &[u8]) -> Option<(String, u64, u64, String)> {
    let (rest, in_line) = member.split_at_checked(member.len().checked_sub(IN_LINE)?)?;
    let rest = plain(rest);
    let (name, place) = rest.strip_suffix('\0')?.rsplit_once('\0')?;
    let (place, arrival) = (u64::from_str_radix(place, 16).ok()?, Bytes(in_line).uint(ARRIVAL).ok()?);
    Some((name.to_owned(), place, arrival, plain(&in_line[ARRIVAL..])))
}

/// Whose, and what they typed.
fn read_draft(raw: &[u8]) -> Result<(String, String), String> {
    let mut bytes = Bytes(raw);
    Ok((bytes.text(1)?, plain(bytes.0)))
}

fn items(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn bytes(value: Value) -> Vec<u8> {
    match value {
        Value::BulkString(bytes) => bytes,
        _ => Vec::new(),
    }
}

fn pairs(values: Vec<Value>) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let mut values = values.into_iter().map(bytes);
    std::iter::from_fn(move || Some((values.next()?, values.next()?)))
}

/// Scores are whole numbers below 2^53. In `timers`, a batch that is over has when it ended, less this.
const OVER: f64 = (1_u64 << 50) as f64;

fn scores(values: Vec<Value>) -> BTreeMap<Vec<u8>, u64> {
    numbers(values, |score| if score < 0.0 { score + OVER } else { score }).collect()
}

/// Members with their scores as whole numbers. In the registry, a queue whose place is free has a score below 0.
fn numbers(values: Vec<Value>, whole: fn(f64) -> f64) -> impl Iterator<Item = (Vec<u8>, u64)> {
    let score = move |text: Vec<u8>| plain(&text).parse::<f64>().map_or(u64::MAX, |score| whole(score) as u64);
    pairs(values).map(move |(member, text)| (member, score(text)))
}
