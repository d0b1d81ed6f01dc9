//! Expiries and SLAs: only a job with something to come has an alarm, and no reservation reaches beyond the expiry of its job.

use super::{Check, route::Route};

/// Flag of a job's record.
const ROUTED: u16 = 2048;

impl Check<'_> {
    pub(super) fn alarms_are_a_recount(&self) {
        let (routes, alarms) = (self.keyspace.hash("routes"), self.keyspace.set("alarms"));
        for (&id, record) in &self.records {
            let name = self.name(id);
            let route = routes.get(id).map_or_else(Route::default, |raw| Route::read(raw));
            let raw = &self.keyspace.hash("jobs")[id];
            let is_routed = u16::from_be_bytes([raw[7], raw[8]]) & ROUTED != 0;
            assert!(is_routed || !routes.contains_key(id), "{name} has a route and no flag");
            let has_ended =
                record.live.as_ref().is_some_and(|live| matches!(live.state, "completed" | "cancelled" | "dead"));
            let is_held = record.live.as_ref().is_some_and(|live| live.state == "reserved");
            let expected = if has_ended { None } else { route.alarm(is_held) };
            assert_eq!(alarms.get(id).copied(), expected, "the alarm of {name}");
            let deadline = self.keyspace.set("reserved").get(id).copied().unwrap_or(0.0);
            assert!(route.expires.is_none_or(|expires| deadline <= expires), "{name} is held beyond its expiry");
        }
        for id in alarms.keys() {
            assert!(self.records.contains_key(id.as_slice()), "{} has an alarm and is gone", self.name(id));
        }
    }
}
