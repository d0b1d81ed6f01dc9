//! Jobs that expire: no worker is given, holds or completes one at its expiry or later, and none expires before. A completion that
//! could be taken back is final then.

use intray::job::EventKind;

use super::index::{Index, JobTrace};

pub fn in_time(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let Some(n) = trace.n else { continue };
        let tried = index.tries.get(&n).and_then(|tries| tries.first());
        found.extend(wrong(trace, tried.and_then(|tried| tried.job.expires_ms)).map(|what| format!("{id}: {what}")));
    }
    found
}

/// The times are Redis's, as the ids of the stream.
fn wrong<'h>(trace: &'h JobTrace<'h>, expires_ms: Option<u64>) -> impl Iterator<Item = String> + 'h {
    let (mut expiry, mut is_closing) = (None, false);
    trace.events.iter().filter_map(move |event| {
        let at = event.position.0;
        let is_over = expiry.is_some_and(|expiry| at >= expiry);
        let kind = EventKind::parse(&event.kind)?;
        let is_wrong = match kind {
            EventKind::Enqueued => {
                expiry = expires_ms.map(|ms| at + ms);
                false
            }
            EventKind::Reserved | EventKind::Resumed | EventKind::Extended | EventKind::Closing | EventKind::Undone => {
                is_over
            }
            EventKind::Completed => is_over && !is_closing,
            EventKind::Cancelled => event.reason.as_deref() == Some("expired") && !is_over,
            EventKind::Due
            | EventKind::Blocked
            | EventKind::Abandoned
            | EventKind::Released
            | EventKind::Expired
            | EventKind::Failed
            | EventKind::Dead
            | EventKind::Requeued
            | EventKind::Changed
            | EventKind::Paused
            | EventKind::Unpaused
            | EventKind::BatchCompleted
            | EventKind::SlaBreached
            | EventKind::HandedOver
            | EventKind::Fallback => false,
        };
        is_closing = kind == EventKind::Closing || is_closing && kind != EventKind::Undone;
        is_wrong.then(|| format!("{} at {at}, and it expires at {expiry:?}", event.kind))
    })
}
