//! A waiting job stands in `inbound`, or in `restricted` and the lines of those that it is for.

use std::collections::BTreeSet;

use super::{Check, route::Route};

impl Check<'_> {
    pub(super) fn lines_are_a_recount(&self) {
        let mut expected = BTreeSet::new();
        for (&id, record) in &self.records {
            let route = self.keyspace.hash("routes").get(id).map_or_else(Route::default, |raw| Route::read(raw));
            let (member, name) = (record.member(id), self.name(id));
            let lines = route.lines();
            assert!(lines.is_empty() || !self.keyspace.set("inbound").contains_key(&member), "{name} is for {lines:?}");
            let Some(score) = self.keyspace.set("restricted").get(&member) else { continue };
            assert!(!lines.is_empty(), "{name} is for everybody");
            assert!(record.live.is_some(), "{name} has no live record");
            for line in lines {
                let place = format!("{line}\0{:016x}\0", *score as u64);
                expected.insert([place.as_bytes(), &member].concat());
            }
        }
        let found: BTreeSet<_> = self.keyspace.set("lines").keys().cloned().collect();
        assert_eq!(found, expected, "{}: its lines", self.queue);
        let is_marked = self.keyspace.hash("settings").contains_key(b"routed".as_slice());
        assert!(is_marked || expected.is_empty(), "{}: its settings must say that there are lines", self.queue);
    }
}
