//! The workers who have had a job of a batch with an overlap, held against its jobs.

use std::collections::BTreeSet;

use super::Check;

/// The tags of a route: the overlap of a job, and the parts of a batch.
const OVERLAP: u8 = 10;
const PARTS: u8 = 11;
const HELD: u8 = 1;
const DONE: u8 = 2;
const MAX_PARTS: usize = 16;

struct Part {
    how: u8,
    id: Vec<u8>,
    worker: Vec<u8>,
}

impl Check<'_> {
    /// Each held or completed job has its worker, each worker one job.
    pub(super) fn parts_are_a_recount(&self) {
        let routes = self.keyspace.hash("routes");
        let mut expected = BTreeSet::new();
        for (&id, record) in &self.records {
            let is_shared = routes.get(id).is_some_and(|raw| value(raw, OVERLAP).is_some());
            let state = record.live.as_ref().map_or("waiting", |live| live.state);
            if is_shared && matches!(state, "reserved" | "completed") {
                expected.insert((if state == "reserved" { HELD } else { DONE }, id.to_vec()));
            }
        }
        let mut found = BTreeSet::new();
        for code in self.keyspace.hash("batches").keys() {
            let parts = routes.get(code).and_then(|raw| value(raw, PARTS)).map_or_else(Vec::new, read);
            let workers: BTreeSet<_> = parts.iter().map(|part| &part.worker).collect();
            assert!(workers.len() == parts.len() && parts.len() <= MAX_PARTS, "{}: one part each", self.name(code));
            for part in parts {
                assert_eq!(part.id[..22], code[..22], "{}: a part of another batch", self.name(code));
                if part.how == HELD {
                    let live = self.records.get(&part.id[..]).and_then(|record| record.live.as_ref());
                    let by = live.and_then(|live| live.holder.as_deref()?.split(|byte| *byte == 0).next());
                    assert_eq!(by, Some(&*part.worker), "{}: its holder", self.name(&part.id));
                }
                if part.how <= DONE {
                    assert!(found.insert((part.how, part.id.clone())), "{}: two parts", self.name(&part.id));
                }
            }
        }
        assert_eq!(found, expected, "{}: parts of held and completed jobs", self.queue);
    }
}

/// The value after a tag of a route.
fn value(mut raw: &[u8], wanted: u8) -> Option<&[u8]> {
    while let [tag, high, low, rest @ ..] = raw {
        let (value, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        if *tag == wanted {
            return Some(value);
        }
        raw = rest;
    }
    None
}

fn read(mut list: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    while !list.is_empty() {
        let (length, rest) = (usize::from(list[27]), &list[28..]);
        parts.push(Part { how: list[0], id: list[1..27].to_vec(), worker: rest[..length].to_vec() });
        list = &rest[length..];
    }
    parts
}
