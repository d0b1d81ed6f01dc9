//! A batch, and what came of its jobs.

use serde::Serialize;

use super::{CompletedBy, Text, Time, name};
use crate::{
    job::{BatchId, BatchState, JobId, Priority, State},
    payload::Json,
    store,
};

#[derive(Serialize)]
pub struct Batch<'a> {
    id: Text<&'a BatchId>,
    queue: &'a str,
    state: BatchState,
    concurrency: Option<u32>,
    priority: Priority,
    client: Option<&'a str>,
    counts: Counts<'a>,
    created_at: Time,
    sealed_at: Option<Time>,
    ended_at: Option<Time>,
}

/// Of its jobs by state; they sum to the total.
#[derive(Serialize)]
struct Counts<'a> {
    #[serde(flatten)]
    states: &'a store::StateCounts,
    total: u64,
}

impl<'a> Batch<'a> {
    pub fn new(batch: &'a store::Batch) -> Self {
        Self {
            id: Text(&batch.id),
            queue: batch.id.queue.as_str(),
            state: batch.state,
            concurrency: batch.concurrency,
            priority: batch.priority,
            client: name(batch.client.as_ref()),
            counts: Counts { states: &batch.counts, total: batch.total },
            created_at: batch.created_at.into(),
            sealed_at: batch.sealed_at.map(Time::from),
            ended_at: batch.ended_at.map(Time::from),
        }
    }
}

#[derive(Serialize)]
pub struct BatchPage<'a> {
    pub batches: Vec<Batch<'a>>,
    pub next: Option<Text<store::Cursor>>,
}

#[derive(Serialize)]
pub struct ResultPage<'a> {
    results: Vec<MemberResult<'a>>,
    /// The index of the last one here.
    next: Option<Text<u32>>,
}

#[derive(Serialize)]
pub struct MemberResult<'a> {
    id: Text<&'a JobId>,
    index: u32,
    state: State,
    result: Option<&'a Json>,
    completed: Option<CompletedBy<'a>>,
}

impl<'a> ResultPage<'a> {
    pub fn new(page: &'a store::ResultPage) -> Self {
        let next = page.next.and(page.results.last()).map(|last| Text(last.index));
        Self { results: page.results.iter().map(MemberResult::new).collect(), next }
    }
}

impl<'a> MemberResult<'a> {
    fn new(member: &'a store::MemberResult) -> Self {
        let completed = member.completed.as_ref().map(CompletedBy::new);
        let (index, state, result) = (member.index, member.state, member.result.as_ref());
        Self { id: Text(&member.id), index, state, result, completed }
    }
}
