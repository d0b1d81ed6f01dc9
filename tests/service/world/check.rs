//! The check of the world at the end of every test: the invariants of a queue.

mod alarms;
mod gates;
mod lines;
mod order;
mod parts;
mod route;

use std::collections::{BTreeMap, BTreeSet};

use intray::job::Total;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    engine::Engine,
    http::Client,
    keyspace::{self, Event, Header, Keyspace, Live},
};

/// State and the set that stands for it.
const SETS: [(&str, &str); 7] = [
    ("waiting", "inbound"),
    ("waiting", "restricted"),
    ("blocked", "parked"),
    ("reserved", "reserved"),
    ("delayed", "delayed"),
    ("dead", "dead"),
    ("ended", "ended"),
];

pub async fn check(engine: &Engine, client: &Client) {
    let registered: BTreeMap<String, f64> = engine.run("ZRANGE intray:2:queues 0 -1 WITHSCORES").await;
    // A recount may take longer than a connection may be idle, so all answers are read first.
    let mut answers = Vec::new();
    for queue in keyspace::queues(engine).await {
        assert!(registered.contains_key(&queue), "{queue} is not in the registry");
        let answer = client.get(&format!("/queues/{queue}")).await.is(200);
        answers.push((queue, answer));
    }
    for (queue, answer) in answers {
        let keyspace = Keyspace::read(engine, &queue).await;
        let check = Check { queue: &queue, records: records(&keyspace), keyspace: &keyspace };
        check.each_job_is_in_one_state();
        check.holders_match_held_set();
        check.gates_are_a_recount();
        check.no_job_is_stranded();
        check.turns_are_a_recount();
        check.batches_are_a_recount();
        check.dedupe_keys_point_at_live_jobs();
        check.form_is_the_one_that_is_named();
        check.alarms_are_a_recount();
        check.lines_are_a_recount();
        check.parts_are_a_recount();
        check.no_data_is_left_over();
        check.totals_are_a_recount();
        if !keyspace::has_erased_events(engine, &queue).await {
            check.events_match_totals(&keyspace::events(engine, &queue).await);
        }
        check.counts_match_answer(&answer);
    }
}

/// The members of some sets end in a job's id.
fn id_in(member: &[u8]) -> &[u8] {
    &member[member.len().saturating_sub(26)..]
}

struct Record {
    header: Header,
    live: Option<Live>,
    /// Which sets it is in.
    sets: Vec<&'static str>,
}

struct Check<'a> {
    queue: &'a str,
    keyspace: &'a Keyspace,
    records: BTreeMap<&'a [u8], Record>,
}

impl Record {
    /// How the job stands in line.
    fn member(&self, id: &[u8]) -> Vec<u8> {
        [self.live.as_ref().map_or(&self.header.stamp, |live| &live.arrival), id].concat()
    }
}

fn records(keyspace: &Keyspace) -> BTreeMap<&[u8], Record> {
    let parked: BTreeSet<_> = keyspace.set("parked").keys().map(|member| id_in(member)).collect();
    let is_in = |record: &Record, id: &[u8], set| match set {
        "parked" => parked.contains(id),
        "inbound" | "restricted" => keyspace.set(set).contains_key(&record.member(id)),
        _ => keyspace.set(set).contains_key(id),
    };
    let read = |(id, raw): (&'_ Vec<u8>, &Vec<u8>)| {
        let live = keyspace.hash("live").get(id).map(|raw| Live::read(raw));
        let mut record = Record { header: Header::read(raw), live, sets: Vec::new() };
        record.sets = SETS.iter().filter(|(_, set)| is_in(&record, id, set)).map(|&(state, _)| state).collect();
        record
    };
    keyspace.hash("jobs").iter().map(|(id, raw)| (id.as_slice(), read((id, raw)))).collect()
}

impl Check<'_> {
    fn name(&self, id: &[u8]) -> String {
        format!("{}-{}", self.queue, String::from_utf8_lossy(id))
    }

    fn each_job_is_in_one_state(&self) {
        for (&id, record) in &self.records {
            let name = self.name(id);
            let ended = record.live.as_ref().is_some_and(|live| matches!(live.state, "completed" | "cancelled"));
            if record.header.is_member && ended {
                assert!(record.sets.is_empty(), "{name} has ended and goes with its batch, not by {:?}", record.sets);
                continue;
            }
            let [set] = record.sets[..] else { panic!("{name} is in {:?}", record.sets) };
            if record.header.is_stub {
                assert!(set == "ended" && record.live.is_none(), "{name} is a stub and {set}");
                continue;
            }
            let Some(live) = &record.live else {
                assert_eq!(set, "waiting", "{name} has no live record");
                continue;
            };
            let state = if matches!(live.state, "completed" | "cancelled") { "ended" } else { live.state };
            assert_eq!(state, set, "the record of {name} has state {}", live.state);
            assert_eq!(live.holder.is_some(), set == "reserved", "{name} is {set}");
            if set == "waiting" {
                let member = record.member(id);
                let place = ["inbound", "restricted"].into_iter().find_map(|set| self.keyspace.set(set).get(&member));
                assert_eq!(place, Some(&live.score), "{name} is not in its place");
            }
        }
        for (_, set) in SETS {
            for id in self.keyspace.set(set).keys().map(|member| id_in(member)) {
                assert!(self.records.contains_key(id), "{set} has {}, which is no job", self.name(id));
            }
        }
    }

    /// A job whose completion may be taken back is reserved, and its worker does not hold it.
    fn holders_match_held_set(&self) {
        let held: BTreeSet<_> = self.keyspace.set("held").keys().cloned().collect();
        let is_closing = |record: &&Record| record.live.as_ref().is_some_and(|live| live.is_closing);
        let closing = self.records.values().filter(is_closing).count();
        let holds = |(id, record): (&&[u8], &Record)| {
            let live = record.live.as_ref().filter(|live| !live.is_closing)?;
            Some([live.holder.as_deref()?, b"\0", id].concat())
        };
        let holders: BTreeSet<_> = self.records.iter().filter_map(holds).collect();
        assert_eq!(held, holders, "{}: members of `held` and holders", self.queue);
        assert_eq!(held.len() + closing, self.keyspace.set("reserved").len());
    }

    fn dedupe_keys_point_at_live_jobs(&self) {
        let dedupe = self.keyspace.hash("dedupe");
        // The field of the digest with a `+` has all others that share the key.
        for (field, id) in dedupe.iter().flat_map(|(field, ids)| ids.chunks(26).map(move |id| (field, id))) {
            let name = self.name(id);
            let record = self.records.get(id).unwrap_or_else(|| panic!("a dedupe key points at {name}"));
            assert!(!matches!(record.sets[..], ["dead" | "ended"]), "{name} is {:?} and has a dedupe key", record.sets);
            assert_eq!(record.header.digest.as_deref(), Some(&field[..16]), "{name} has the dedupe key of another job");
        }
        let shared = dedupe.keys().filter(|field| field.len() > 16).count();
        assert_eq!(self.keyspace.total("shared"), shared as i64, "{}: dedupe keys that are shared", self.queue);
        for (&id, record) in &self.records {
            if let (Some(digest), false) = (&record.header.digest, matches!(record.sets[..], ["dead" | "ended"])) {
                assert!(dedupe.contains_key(digest), "{} is alive and its dedupe key is free", self.name(id));
            }
        }
    }

    fn form_is_the_one_that_is_named(&self) {
        let settings = self.keyspace.hash("settings");
        let named =
            settings.get(b"result_schema_sha256".as_slice()).map(|digest| String::from_utf8_lossy(digest).into_owned());
        let form = self.keyspace.hash("form").get(b"text".as_slice());
        let digest = form.map(|text| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        assert_eq!(digest, named, "the form of {}", self.queue);
    }

    fn no_data_is_left_over(&self) {
        for hash in ["payloads", "live", "results", "drafts", "routes"] {
            for field in self.keyspace.hash(hash).keys() {
                let is_of_batch = hash == "routes" && self.keyspace.hash("batches").contains_key(field);
                assert!(
                    is_of_batch || self.records.contains_key(&field[..26]),
                    "{hash} holds {}, which is gone",
                    self.name(field)
                );
            }
        }
        for (&id, record) in &self.records {
            let ended = record.sets == ["ended"];
            assert!(!ended || !self.keyspace.hash("drafts").contains_key(id), "{}: its draft", self.name(id));
            let apart = self.keyspace.hash("payloads").contains_key(id);
            assert_eq!(apart, record.header.is_apart, "{}: its payload", self.name(id));
            let apart =
                self.keyspace.hash("results").keys().filter(|key| key.len() > 26 && key.starts_with(id)).count();
            assert_eq!(
                apart,
                record.live.as_ref().map_or(0, |live| live.late.min(5) + usize::from(live.is_closing)),
                "{}: late results, and one that may be taken back",
                self.name(id)
            );
        }
    }

    fn totals_are_a_recount(&self) {
        let stubs = self.records.values().filter(|record| record.header.is_stub).count();
        assert_eq!(self.keyspace.total("stubs"), stubs as i64, "{}: stubs", self.queue);
        let kept = |total: &str, state: &str, of_batches: bool| {
            let is = |record: &&Record| {
                record.header.is_member == of_batches && record.live.as_ref().is_some_and(|live| live.state == state)
            };
            let count = self.records.values().filter(is).count();
            assert_eq!(self.keyspace.total(total), count as i64, "{}: {total}", self.queue);
        };
        kept("cancelled_kept", "cancelled", false);
        kept("batch_cancelled_kept", "cancelled", true);
        kept("batch_completed_kept", "completed", true);
    }

    fn count(&self, state: &str) -> i64 {
        let is = |record: &&Record| match &record.live {
            Some(live) => live.state == state,
            None => state == "waiting" && !record.header.is_stub,
        };
        self.records.values().filter(is).count() as i64
    }

    /// Only while no event was trimmed and the stream has not expired.
    fn events_match_totals(&self, events: &[Event]) {
        let counted: i64 = Total::ALL.into_iter().map(|total| self.keyspace.total(total.word())).sum();
        if events.is_empty() || events.len() > 9_000 || counted > 9_000 {
            return;
        }
        // A late completion counts an expiry, or the end of a grace, without an event.
        let late = events.iter().filter(|event| event.kind == "completed" && event.note == "late").count() as i64;
        for total in Total::ALL.into_iter().filter(|total| *total != Total::Expired).map(Total::word) {
            let kind = match total {
                _ if total == Total::HandedOut.word() => "reserved",
                _ if total == Total::Breached.word() => "sla-breached",
                _ if total == Total::HandedOver.word() => "handed-over",
                total => total,
            };
            let answers = events.iter().filter(|event| event.kind == kind && event.note != "undelivered").count();
            let missing = self.keyspace.total(total) - answers as i64;
            let max = if total == Total::Abandoned.word() { late } else { 0 };
            assert!((0..=max).contains(&missing), "{}: {answers} events {kind}, {missing} too few", self.queue);
        }
    }

    fn counts_match_answer(&self, queue: &Value) {
        for (state, count) in queue["counts"].as_object().expect("counts") {
            assert_eq!(count, self.count(state), "{}: {state}: {queue}", self.queue);
        }
    }
}
