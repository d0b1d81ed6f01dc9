//! A batch and the results of its jobs.

use serde::Serialize;

use crate::{
    job::{BatchId, BatchState, Millis, Name, Priority, QueueName},
    store,
};

#[derive(Serialize)]
pub struct BatchBody<'a> {
    id: &'a BatchId,
    queue: &'a QueueName,
    state: BatchState,
    concurrency: Option<u32>,
    priority: Priority,
    client: Option<&'a Name>,
    counts: BatchCountsBody<'a>,
    created_at: Millis,
    sealed_at: Option<Millis>,
    ended_at: Option<Millis>,
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
            id: &batch.id,
            queue: &batch.id.queue,
            state: batch.state,
            concurrency: batch.concurrency,
            priority: batch.priority,
            client: batch.client.as_ref(),
            counts: BatchCountsBody { states: &batch.counts, total: batch.total },
            created_at: batch.created_at,
            sealed_at: batch.sealed_at,
            ended_at: batch.ended_at,
        }
    }
}

/// The answer to the call that creates it.
#[derive(Serialize)]
pub struct CreatedBatchBody<'a> {
    #[serde(flatten)]
    batch: BatchBody<'a>,
    known: bool,
}

impl<'a> CreatedBatchBody<'a> {
    /// `known`: an earlier call with the same idempotency key has created it.
    pub fn new(batch: &'a store::Batch, known: bool) -> Self {
        Self { batch: BatchBody::new(batch), known }
    }
}

#[derive(Serialize)]
pub struct BatchPageBody<'a> {
    pub batches: Vec<BatchBody<'a>>,
    pub next: Option<store::Cursor>,
}

/// A batch with its opinions; `None`: it has no overlap.
#[derive(Serialize)]
pub struct JudgedBatchBody<'a> {
    #[serde(flatten)]
    batch: BatchBody<'a>,
    opinions: Option<&'a store::Opinions>,
}

impl<'a> JudgedBatchBody<'a> {
    pub fn new(judged: &'a store::JudgedBatch) -> Self {
        Self { batch: BatchBody::new(&judged.batch), opinions: judged.opinions.as_ref() }
    }
}

#[derive(Serialize)]
pub struct JudgedPageBody<'a> {
    pub batches: Vec<JudgedBatchBody<'a>>,
    pub next: Option<&'a store::Cursor>,
}

#[derive(Serialize)]
pub struct ResultPageBody<'a> {
    results: &'a [store::MemberResult],
    /// The index of the page's last result.
    next: Option<String>,
}

impl<'a> ResultPageBody<'a> {
    pub fn new(page: &'a store::ResultPage) -> Self {
        let next = page.next.and(page.results.last()).map(|last| last.index.to_string());
        Self { results: &page.results, next }
    }
}
