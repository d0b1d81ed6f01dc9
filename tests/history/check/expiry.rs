//! Jobs that expire: no worker is given, holds or completes one at its expiry or later, and none expires before. A completion that
//! could be taken back is final then.

use intray::job::EventKind;

use super::index::{Index, JobTrace};

pub fn in_time(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let Some(expires_ms) = index.expires_ms(id) else { continue };
        found.extend(wrong(index, trace, expires_ms).into_iter().map(|what| format!("{id}: {what}")));
    }
    found
}

/// The times are Redis's, as the ids of the stream.
fn wrong(index: &Index, trace: &JobTrace, expires_ms: u64) -> Vec<String> {
    let (mut expiry, mut is_closing, mut found) = (None, false, Vec::new());
    for event in &trace.events {
        let (earliest, latest) = (index.earliest(event), event.position.0);
        // Whether it certainly comes at the expiry or later, and whether before.
        let is_over = expiry.is_some_and(|(_, last)| earliest >= last);
        let is_early = expiry.is_some_and(|(first, _)| latest < first);
        let Some(kind) = EventKind::parse(&event.kind) else { continue };
        let is_wrong = match kind {
            EventKind::Enqueued => {
                expiry = Some((earliest + expires_ms, latest + expires_ms));
                false
            }
            EventKind::Reserved | EventKind::Resumed | EventKind::Extended | EventKind::Closing | EventKind::Undone => {
                is_over
            }
            EventKind::Completed => is_over && !is_closing,
            EventKind::Cancelled => event.reason.as_deref() == Some("expired") && is_early,
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
        if is_wrong {
            found.push(format!("{} at {earliest} to {latest}, and it expires at {expiry:?}", event.kind));
        }
    }
    found
}
