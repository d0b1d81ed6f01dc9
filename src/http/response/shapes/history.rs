//! The counts of a queue over time.

use serde::Serialize;

use super::Rfc3339;
use crate::store;

#[derive(Serialize)]
pub struct HistoryBody<'a> {
    step: &'static str,
    spans: Vec<SpanBody<'a>>,
    since: Option<Rfc3339>,
    next: Option<Rfc3339>,
    server_time: Rfc3339,
}

#[derive(Serialize)]
struct SpanBody<'a> {
    at: Rfc3339,
    waiting: u64,
    reserved: u64,
    gained: &'a store::Totals,
}

impl<'a> HistoryBody<'a> {
    /// The first `limit` spans.
    pub fn new(found: &'a store::QueueHistory, step: store::HistoryStep, limit: usize) -> Self {
        let page = &found.spans[..found.spans.len().min(limit)];
        let span = |span: &'a store::Span| {
            let store::Span { at, waiting, reserved, gained } = span;
            SpanBody { at: (*at).into(), waiting: *waiting, reserved: *reserved, gained }
        };
        let next = page.last().filter(|_| page.len() < found.spans.len()).map(|last| last.at.into());
        let (spans, since) = (page.iter().map(span).collect(), found.since.map(Rfc3339::from));
        Self { step: step.word(), spans, since, next, server_time: found.now.into() }
    }
}
