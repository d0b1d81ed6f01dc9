//! Locks and batches, recounted.

use std::collections::BTreeMap;

use super::{Check, id_in, keyspace::Batch};

impl Check<'_> {
    /// Overdue holders included until they are swept.
    pub(super) fn gates_are_a_recount(&self) {
        let mut used: BTreeMap<Vec<u8>, Vec<&[u8]>> = BTreeMap::new();
        for (&id, record) in &self.records {
            if record.live.as_ref().is_some_and(|live| live.state == "reserved") {
                for gate in record.header.gates(id) {
                    used.entry(gate).or_default().push(id);
                }
            }
        }
        for (gate, holders) in &used {
            let field = self.keyspace.hash("gates").get(gate);
            if gate[0] == 0 {
                let in_use = field.map(|field| u32::from_be_bytes(field[..4].try_into().expect("four bytes")));
                assert!(
                    in_use.is_none_or(|n| n as usize == holders.len()),
                    "{}: {in_use:?} of {holders:?}",
                    self.queue
                );
            } else {
                let [holder] = holders[..] else { panic!("{}: {} hold one lock", self.queue, holders.len()) };
                assert_eq!(field.map(Vec::as_slice), Some(holder), "{}: the holder of a lock", self.queue);
            }
        }
        for (gate, field) in self.keyspace.hash("gates") {
            let idle = gate[0] == 0 && field[..4] == [0; 4];
            assert!(used.contains_key(gate) || idle, "{}: {gate:?} has no holder", self.queue);
        }
    }

    /// Nothing is parked at a gate, or as many jobs in line need it as it has room.
    pub(super) fn no_job_is_stranded(&self) {
        let mut in_line: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for id in self.keyspace.set("inbound").keys().map(|member| id_in(member)) {
            for gate in self.records[id].header.gates(id) {
                *in_line.entry(gate).or_default() += 1;
            }
        }
        for member in self.keyspace.set("parked").keys() {
            let id = id_in(member);
            let live = self.records[id].live.as_ref().expect("a live record");
            let place = format!("{:016x}", live.score as u64);
            let expected = [live.gate.as_slice(), b"\0", place.as_bytes(), b"\0", &live.arrival, id].concat();
            assert_eq!(*member, expected, "{} is not parked in its place", self.name(id));
            let room = self.room_at(&live.gate);
            let ready = in_line.get(&live.gate).copied().unwrap_or(0);
            assert!(ready >= room, "{} is stranded: room for {room}, {ready} in line", self.name(id));
        }
    }

    fn room_at(&self, gate: &[u8]) -> u32 {
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
        match self.keyspace.hash("gates").get(gate) {
            None if gate[0] == 0 => u32::MAX,
            None => 1,
            Some(field) if gate[0] == 0 => number(&field[4..8]) - number(&field[..4]),
            Some(_) => 0,
        }
    }

    pub(super) fn batches_are_a_recount(&self) {
        const STATES: [&str; 7] = ["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"];
        let batches = self.keyspace.hash("batches");
        let timed: Vec<_> = self.keyspace.set("timers").keys().collect();
        assert_eq!(timed, batches.keys().collect::<Vec<_>>(), "{}: each batch has a timer", self.queue);
        for (code, raw) in batches {
            let (name, batch) = (self.name(code), Batch::read(raw));
            let mut counts = [0; 7];
            for (&id, record) in &self.records {
                if record.header.is_member && id[..22] == code[..22] {
                    let state = record.live.as_ref().map_or("waiting", |live| live.state);
                    counts[STATES.iter().position(|known| *known == state).expect("a state")] += 1;
                }
            }
            if batch.stage != Batch::REMOVING {
                assert_eq!(batch.counts, counts, "{name}: its counts");
                assert_eq!(batch.counts.iter().sum::<u32>(), batch.total, "{name}: its total");
            }
            let out: u32 = counts[..4].iter().sum();
            assert!(batch.stage < Batch::SEALED || (out == 0) == (batch.stage > Batch::SEALED), "{name}: {batch:?}");
            let gate = self.keyspace.hash("gates").contains_key(&[b"\0", code.as_slice()].concat());
            let over = batch.stage > Batch::SEALED && batch.stage != Batch::REMOVING;
            let limited = batch.stage <= Batch::OPENING || batch.concurrency > 0 && batch.stage <= Batch::SEALED;
            assert!(!(gate && over) && (gate || !limited), "{name}: its gate");
            assert!(batch.concurrency == 0 || counts[3] <= batch.concurrency, "{name}: {} are out", counts[3]);
        }
        for (&id, record) in &self.records {
            let code = [&id[..22], b"0000"].concat();
            assert!(!record.header.is_member || batches.contains_key(&code), "{} has no batch", self.name(id));
        }
    }
}
