//! Batches: what became of their jobs, and that each ends once.

use std::collections::{BTreeMap, HashMap, HashSet};

use intray::job::{BatchState, EventKind, State};

use super::index::{Index, Outcome};
use crate::record::{Ask, Said, batch_of};

pub fn ends(index: &Index) -> Vec<String> {
    let mut told: HashMap<&str, Vec<&str>> = HashMap::new();
    for event in index.history.events.iter().filter(|event| event.kind == EventKind::BatchCompleted.word()) {
        let batch = event.batch.as_deref().unwrap_or_default();
        told.entry(batch).or_default().push(event.reason.as_deref().unwrap_or_default());
    }
    let several = told.iter().filter(|(_, reasons)| reasons.len() > 1);
    let mut found: Vec<_> = several.map(|(batch, reasons)| format!("{batch} ended as {reasons:?}")).collect();
    let members = members(index);
    for batch in index.history.ends.iter().flat_map(|end| &end.batches) {
        found.extend(recount(batch, members.get(&batch.id).unwrap_or(&BTreeMap::new())));
        let reasons = told.get(batch.id.as_str()).map_or(&[][..], Vec::as_slice);
        let is_over = BatchState::parse(&batch.state).is_some_and(BatchState::is_over);
        let expected = if is_over { vec![batch.state.as_str()] } else { Vec::new() };
        if reasons != expected {
            found.push(format!("{} is {}, and was told to have ended as {reasons:?}", batch.id, batch.state));
        }
    }
    found.extend(lost(index));
    found
}

/// By batch, how many of its jobs are in which state in the end.
fn members(index: &Index) -> HashMap<String, BTreeMap<String, u64>> {
    let mut members: HashMap<String, BTreeMap<String, u64>> = HashMap::new();
    for job in index.history.ends.iter().flat_map(|end| &end.jobs).filter(|job| job.batch.is_some()) {
        *members.entry(batch_of(&job.id)).or_default().entry(job.state.clone()).or_default() += 1;
    }
    members
}

fn recount(batch: &Said, states: &BTreeMap<String, u64>) -> Vec<String> {
    let counts = batch.counts.clone().unwrap_or_default();
    let said = |state: &str| counts.get(state).copied().unwrap_or(0);
    let counted = |state: &str| states.get(state).copied().unwrap_or(0);
    let is_wrong = State::ALL.iter().any(|state| said(state.word()) != counted(state.word()));
    let is_short = said("total") != states.values().sum::<u64>();
    (is_wrong || is_short).then(|| format!("{} counts {counts:?}, of {states:?}", batch.id)).into_iter().collect()
}

/// Batches that were made, and are not there though nothing is forgotten; and jobs of an append that are not.
fn lost(index: &Index) -> Vec<String> {
    let ends: HashSet<&str> = index.history.ends.iter().map(|end| end.queue.as_str()).collect();
    let there: HashSet<&str> =
        index.history.ends.iter().flat_map(|end| &end.batches).map(|it| it.id.as_str()).collect();
    let mut found = Vec::new();
    for call in &index.history.calls {
        if let (Ask::CreateBatch { queue, .. }, [said]) = (&call.ask, call.shown())
            && index.keeps(queue)
            && ends.contains(queue.as_str())
            && !there.contains(said.id.as_str())
        {
            found.push(format!("{} was made, and is not there", said.id));
        }
    }
    let named: HashSet<u64> = index.jobs.values().filter_map(|tale| tale.n).collect();
    for one in index.tries.values().flatten().filter(|one| !one.is_alone && index.keeps(&one.job.queue)) {
        let is_done = matches!(one.outcome, Outcome::Done(_)) && ends.contains(one.job.queue.as_str());
        if is_done && !named.contains(&one.job.n) && !is_cancelled(index, one.outcome) {
            found.push(format!("{} went into a batch, and nobody ever saw it", one.job.n));
        }
    }
    found
}

/// A cancelled job has no payload any more, so nobody sees which it was.
fn is_cancelled(index: &Index, outcome: Outcome) -> bool {
    let Some(batch) = outcome.done() else { return false };
    let jobs = index.jobs.iter().filter(|(id, tale)| tale.n.is_none() && batch_of(id) == batch.id);
    jobs.into_iter().any(|(_, tale)| tale.events.iter().any(|event| event.kind == EventKind::Cancelled.word()))
}
