//! The counts of a queue over time.

use serde::Serialize;

use crate::{job::Millis, store};

#[derive(Serialize)]
pub struct HistoryBody<'a> {
    step: &'static str,
    spans: &'a [store::Span],
    since: Option<Millis>,
    next: Option<Millis>,
    server_time: Millis,
}

impl<'a> HistoryBody<'a> {
    /// The first `limit` spans.
    pub fn new(found: &'a store::QueueHistory, step: store::HistoryStep, limit: usize) -> Self {
        let page = &found.spans[..found.spans.len().min(limit)];
        let next = page.last().filter(|_| page.len() < found.spans.len()).map(|last| last.at);
        Self { step: step.word(), spans: page, since: found.since, next, server_time: found.now }
    }
}
