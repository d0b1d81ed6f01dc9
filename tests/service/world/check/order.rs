//! Turns, recounted.

use std::collections::BTreeMap;

use super::{super::records::SPAN, Check, Record};

impl Check<'_> {
    /// A client has an entry while it has a job that was never reserved, and its last turn is after all of them.
    pub(super) fn turns_are_a_recount(&self) {
        let mut expected: BTreeMap<Vec<u8>, (u32, u64)> = BTreeMap::new();
        for (&id, record) in &self.records {
            if let Some(score) = self.unserved_at(id, record) {
                let share = expected.entry(format!("{} {}", score / SPAN, record.header.client).into_bytes());
                let (jobs, turn) = share.or_default();
                (*jobs, *turn) = (*jobs + 1, (*turn).max(score % SPAN));
            }
        }
        for (client, (jobs, last)) in &expected {
            let kept = self.keyspace.hash("turns").get(client).map(|raw| read(raw));
            let is_right = kept.is_some_and(|kept| kept.0 == *jobs && kept.1 >= *last);
            assert!(is_right, "{}: {client:?} has {jobs} jobs up to {last}, not {kept:?}", self.queue);
        }
        let leftover = self.keyspace.hash("turns").keys().find(|client| !expected.contains_key(*client));
        assert_eq!(leftover, None, "{}: a client without a job has a turn", self.queue);
    }

    fn unserved_at(&self, id: &[u8], record: &Record) -> Option<u64> {
        let score = match &record.live {
            Some(live) => live.unserved.then_some(live.score),
            None if record.header.is_stub => None,
            None => Some(self.keyspace.set("inbound")[&record.member(id)]),
        };
        score.map(|score| score as u64)
    }
}

/// How many jobs, and the last turn.
fn read(raw: &[u8]) -> (u32, u64) {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    (number(&raw[6..]) as u32, number(&raw[..6]))
}
