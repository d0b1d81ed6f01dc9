//! Jobs that expire: nobody is given, holds or completes one at its expiry or later, and none expires before.

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
    let mut expiry = None;
    trace.events.iter().filter_map(move |event| {
        let at = event.position.0;
        let is_over = expiry.is_some_and(|expiry| at >= expiry);
        let is_wrong = match EventKind::parse(&event.kind)? {
            EventKind::Enqueued => {
                expiry = expires_ms.map(|ms| at + ms);
                false
            }
            EventKind::Reserved | EventKind::Resumed | EventKind::Extended | EventKind::Completed => is_over,
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
        is_wrong.then(|| format!("{} at {at}, and it expires at {expiry:?}", event.kind))
    })
}
