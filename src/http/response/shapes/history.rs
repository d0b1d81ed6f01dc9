//! What was counted in a queue.

use serde::Serialize;

use super::Time;
use crate::store;

#[derive(Serialize)]
pub struct History<'a> {
    step: &'static str,
    spans: Vec<Span<'a>>,
    since: Option<Time>,
    next: Option<Time>,
    server_time: Time,
}

#[derive(Serialize)]
struct Span<'a> {
    at: Time,
    waiting: u64,
    reserved: u64,
    gained: &'a store::Totals,
}

impl<'a> History<'a> {
    /// The first so many of what was found.
    pub fn new(found: &'a store::QueueHistory, step: store::HistoryStep, limit: usize) -> Self {
        let page = &found.spans[..found.spans.len().min(limit)];
        let span = |span: &'a store::Span| {
            let store::Span { at, waiting, reserved, gained } = span;
            Span { at: (*at).into(), waiting: *waiting, reserved: *reserved, gained }
        };
        let next = page.last().filter(|_| page.len() < found.spans.len()).map(|last| last.at.into());
        let (spans, since) = (page.iter().map(span).collect(), found.since.map(Time::from));
        Self { step: step.word(), spans, since, next, server_time: found.now.into() }
    }
}
