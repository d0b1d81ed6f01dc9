//! Batches: the states of their jobs, and one end each.

use std::collections::{BTreeMap, HashMap, HashSet};

use intray::job::{BatchState, EventKind, State};

use super::index::{Index, Outcome};
use crate::record::{Ask, ReportedItem, batch_of};

pub fn ends(index: &Index) -> Vec<String> {
    let mut streamed: HashMap<&str, Vec<&str>> = HashMap::new();
    for event in index.history.events.iter().filter(|event| event.kind == EventKind::BatchCompleted.word()) {
        let batch = event.batch.as_deref().unwrap_or_default();
        streamed.entry(batch).or_default().push(event.reason.as_deref().unwrap_or_default());
    }
    let several = streamed.iter().filter(|(_, reasons)| reasons.len() > 1);
    let mut found: Vec<_> = several.map(|(batch, reasons)| format!("{batch} ended as {reasons:?}")).collect();
    let members = members(index);
    for batch in index.history.ends.iter().flat_map(|end| &end.batches) {
        found.extend(recount(batch, members.get(&batch.id).unwrap_or(&BTreeMap::new())));
        let reasons = streamed.get(batch.id.as_str()).map_or(&[][..], Vec::as_slice);
        let is_over = BatchState::parse(&batch.state).is_some_and(BatchState::is_over);
        let expected = if is_over { vec![batch.state.as_str()] } else { Vec::new() };
        if reasons != expected {
            found.push(format!("{} is {}, and its end events are {reasons:?}", batch.id, batch.state));
        }
    }
    found.extend(lost(index));
    found
}

/// By batch, the final number of jobs in each state.
fn members(index: &Index) -> HashMap<String, BTreeMap<String, u64>> {
    let mut members: HashMap<String, BTreeMap<String, u64>> = HashMap::new();
    for job in index.history.ends.iter().flat_map(|end| &end.jobs).filter(|job| job.batch.is_some()) {
        *members.entry(batch_of(&job.id)).or_default().entry(job.state.clone()).or_default() += 1;
    }
    members
}

fn recount(batch: &ReportedItem, states: &BTreeMap<String, u64>) -> Vec<String> {
    let counts = batch.counts.clone().unwrap_or_default();
    let item = |state: &str| counts.get(state).copied().unwrap_or(0);
    let counted = |state: &str| states.get(state).copied().unwrap_or(0);
    let is_wrong = State::ALL.iter().any(|state| item(state.word()) != counted(state.word()));
    let is_short = item("total") != states.values().sum::<u64>();
    (is_wrong || is_short).then(|| format!("{} counts {counts:?}, of {states:?}", batch.id)).into_iter().collect()
}

/// Created batches and appended jobs that are missing although nothing is removed.
fn lost(index: &Index) -> Vec<String> {
    let ends: HashSet<&str> = index.history.ends.iter().map(|end| end.queue.as_str()).collect();
    let there: HashSet<&str> =
        index.history.ends.iter().flat_map(|end| &end.batches).map(|it| it.id.as_str()).collect();
    let mut found = Vec::new();
    for call in &index.history.calls {
        if let (Ask::CreateBatch { queue, .. }, [item]) = (&call.ask, call.shown())
            && index.keeps(queue)
            && ends.contains(queue.as_str())
            && !there.contains(item.id.as_str())
        {
            found.push(format!("{} was created, and is missing", item.id));
        }
    }
    let named: HashSet<u64> = index.jobs.values().filter_map(|trace| trace.n).collect();
    for one in index.tries.values().flatten().filter(|one| !one.is_alone && index.keeps(&one.job.queue)) {
        let is_done = matches!(one.outcome, Outcome::Done(_)) && ends.contains(one.job.queue.as_str());
        if is_done && !named.contains(&one.job.n) && !is_cancelled(index, one.outcome) {
            found.push(format!("{} was added to a batch, and is missing", one.job.n));
        }
    }
    found
}

/// A cancelled job has no payload, so it cannot be identified.
fn is_cancelled(index: &Index, outcome: Outcome) -> bool {
    let Some(batch) = outcome.done() else { return false };
    let jobs = index.jobs.iter().filter(|(id, trace)| trace.n.is_none() && batch_of(id) == batch.id);
    jobs.into_iter().any(|(_, trace)| trace.events.iter().any(|event| event.kind == EventKind::Cancelled.word()))
}
