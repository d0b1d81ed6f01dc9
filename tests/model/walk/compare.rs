//! What lies in Redis, against the model.

use std::collections::{BTreeMap, BTreeSet};

use intray::job::{InternalTotal, State, Total};

use super::{
    Walk,
    recount::{self, ROUTED},
};
use crate::{
    fixtures::{Verdict, same},
    real::{
        keyspace::Keyspace,
        record::{Row, plain},
    },
    reference::Share,
};

/// An operation on so many asks which events are new.
const MANY_JOBS: usize = 200;

impl Walk<'_> {
    pub(super) fn compare(&mut self) -> Verdict {
        let found = self.real.look(&self.last_event)?;
        self.last_event.clone_from(&found.last_event);
        if let Some(promise) = self.model.broken.take() {
            return Err(promise);
        }
        let rows = found.rows()?;
        self.learn_jitter(&found)?;
        compare_rows(&rows, &self.model.rows())?;
        let held: Vec<_> = found.set("held").keys().map(|member| plain(member)).collect();
        same("who is in `held`", &held, &self.model.held_rows())?;
        same("the lines", &found.lines()?, &self.model.line_rows())?;
        let keys = found.hash("dedupe").iter().map(|(digest, ids)| (digest.clone(), plain(ids)));
        same("the dedupe keys", &keys.collect(), &self.model.key_rows())?;
        same("the batches", &found.batches()?, &self.model.batch_rows())?;
        let gates = found.hash("gates").iter().map(|(gate, use_of_it)| (plain(gate), use_of_it.clone()));
        same("the gates", &gates.collect::<BTreeMap<_, _>>(), &self.model.gate_rows())?;
        self.compare_order(&found)?;
        self.compare_totals(&found)?;
        let chosen: BTreeSet<_> =
            found.hash("settings").keys().map(|name| plain(name)).filter(|name| name != ROUTED).collect();
        same("the settings", &chosen, &self.model.chosen.iter().map(|name| (*name).to_owned()).collect())?;
        let registered = found.registry.get(self.real.queue.as_str()).copied();
        same("the registry", &(registered, found.registry.len()), &(self.model.registered, registered.iter().len()))?;
        self.compare_events(found.events.clone())?;
        recount::check(&found, &rows)
    }

    /// Two servers are compared with each other after each call, so the first is read only for what the model cannot know: delays with
    /// jitter, and where the events of many jobs end.
    pub(super) fn learn(&mut self) -> Verdict {
        self.model.events.clear();
        if let Some(promise) = self.model.broken.take() {
            return Err(promise);
        }
        if self.model.jobs.len() >= MANY_JOBS || self.model.jobs.values().any(|job| job.jitter > 0) {
            let found = self.real.look(&self.last_event)?;
            self.last_event.clone_from(&found.last_event);
            self.learn_jitter(&found)?;
        }
        Ok(())
    }

    /// A backoff has jitter: when such a job is due is read, and must be in its range.
    fn learn_jitter(&mut self, found: &Keyspace) -> Verdict {
        for (id, job) in self.model.jobs.iter_mut().filter(|(_, job)| job.jitter > 0) {
            let due = found.set("delayed").get(id.as_str().as_bytes()).copied();
            if let (State::Delayed, Some(due)) = (job.state, due) {
                if !(job.at..=job.at + job.jitter).contains(&due) {
                    return Err(format!("{} is due at {due}, not within {} of {}", id.as_str(), job.jitter, job.at));
                }
                job.at = due;
            }
            job.jitter = 0;
        }
        Ok(())
    }

    /// V, and the turns; a client with no job left has none.
    fn compare_order(&self, found: &Keyspace) -> Verdict {
        let tops = found.hash("tops").iter().map(|(priority, top)| (plain(priority), plain(top)));
        let expected = self.model.tops.iter().map(|(priority, top)| (priority.to_string(), top.to_string()));
        same("V", &tops.collect::<BTreeMap<_, _>>(), &expected.collect())?;
        let share = |((priority, client), share): (&(u8, &'static str), &Share)| {
            (format!("{priority} {client}"), (share.last_turn, share.jobs))
        };
        same("the turns", &found.turns()?, &self.model.turns.iter().map(share).collect())
    }

    /// At the end of a walk the metric of transitions equals the counts.
    pub(super) fn compare_metric(&self) -> Verdict {
        let counted = self.real.counted();
        let named = |name: &str| match name {
            _ if name == Total::HandedOut.word() => "reserved".to_owned(),
            _ if name == Total::Breached.word() => "sla-breached".to_owned(),
            _ if name == Total::HandedOver.word() => "handed-over".to_owned(),
            _ => name.to_owned(),
        };
        let ever = self.model.ever.iter().filter(|(name, _)| InternalTotal::parse(name).is_none());
        let expected: BTreeMap<_, _> = ever.map(|(name, n)| (named(name), *n)).collect();
        let of_totals = |(transition, _): &(String, i64)| Total::ALL.iter().any(|t| named(t.word()) == *transition);
        same("the metric of transitions", &counted.into_iter().filter(of_totals).collect(), &expected)
    }

    fn compare_totals(&self, found: &Keyspace) -> Verdict {
        let totals = found.hash("totals").iter().map(|(name, n)| (plain(name), plain(n)));
        // What the stream holds is no total.
        let totals: BTreeMap<_, _> = totals.filter(|(name, n)| n != "0" && name != "parts").collect();
        let expected = self.model.totals.iter().filter(|(_, n)| **n != 0);
        same("the totals", &totals, &expected.map(|(name, n)| ((*name).to_owned(), n.to_string())).collect())
    }

    /// Each job has the expected events, in order.
    fn compare_events(&mut self, mut found: Vec<crate::reference::Event>) -> Verdict {
        let mut expected = std::mem::take(&mut self.model.events);
        for event in &expected {
            let note = event.note.rsplit(' ').next().unwrap_or_default();
            let note = if ["expired", "grace", "late", "undelivered"].contains(&note) { note } else { "" };
            self.met(&format!("event {} {note}", event.kind));
        }
        found.sort_by(|a, b| a.job.cmp(&b.job));
        expected.sort_by(|a, b| a.job.cmp(&b.job));
        same("the events", &found, &expected)
    }
}

fn compare_rows(rows: &BTreeMap<String, Row>, expected: &BTreeMap<String, Row>) -> Verdict {
    for (id, row) in expected {
        same(&format!("the job {id}"), &rows.get(id), &Some(row))?;
    }
    let stray = rows.keys().find(|id| !expected.contains_key(*id));
    same("a job that should not be", &stray, &None)
}
