//! A batch and the results of its jobs.

use serde::Serialize;

use super::{CompletedBy, Displayed, Rfc3339, name};
use crate::{
    job::{BatchId, BatchState, JobId, Priority, State},
    payload::Json,
    store,
};

#[derive(Serialize)]
pub struct BatchBody<'a> {
    id: Displayed<&'a BatchId>,
    queue: &'a str,
    state: BatchState,
    concurrency: Option<u32>,
    priority: Priority,
    client: Option<&'a str>,
    counts: BatchCountsBody<'a>,
    created_at: Rfc3339,
    sealed_at: Option<Rfc3339>,
    ended_at: Option<Rfc3339>,
}

/// Jobs by state, which sum to the total.
#[derive(Serialize)]
struct BatchCountsBody<'a> {
    #[serde(flatten)]
    states: &'a store::StateCounts,
    total: u64,
}

impl<'a> BatchBody<'a> {
    pub fn new(batch: &'a store::Batch) -> Self {
        Self {
            id: Displayed(&batch.id),
            queue: batch.id.queue.as_str(),
            state: batch.state,
            concurrency: batch.concurrency,
            priority: batch.priority,
            client: name(batch.client.as_ref()),
            counts: BatchCountsBody { states: &batch.counts, total: batch.total },
            created_at: batch.created_at.into(),
            sealed_at: batch.sealed_at.map(Rfc3339::from),
            ended_at: batch.ended_at.map(Rfc3339::from),
        }
    }
}

#[derive(Serialize)]
pub struct BatchPageBody<'a> {
    pub batches: Vec<BatchBody<'a>>,
    pub next: Option<Displayed<store::Cursor>>,
}

#[derive(Serialize)]
pub struct ResultPageBody<'a> {
    results: Vec<MemberResultBody<'a>>,
    /// The index of the page's last result.
    next: Option<Displayed<u32>>,
}

#[derive(Serialize)]
pub struct MemberResultBody<'a> {
    id: Displayed<&'a JobId>,
    index: u32,
    state: State,
    result: Option<&'a Json>,
    completed: Option<CompletedBy<'a>>,
}

impl<'a> ResultPageBody<'a> {
    pub fn new(page: &'a store::ResultPage) -> Self {
        let next = page.next.and(page.results.last()).map(|last| Displayed(last.index));
        Self { results: page.results.iter().map(MemberResultBody::new).collect(), next }
    }
}

impl<'a> MemberResultBody<'a> {
    fn new(member: &'a store::MemberResult) -> Self {
        let completed = member.completed.as_ref().map(CompletedBy::new);
        let (index, state, result) = (member.index, member.state, member.result.as_ref());
        Self { id: Displayed(&member.id), index, state, result, completed }
    }
}
