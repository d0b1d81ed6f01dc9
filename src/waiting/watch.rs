//! Watches a queue that has waiting callers: reads it regularly, because hints may be lost and delayed jobs become due.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::WaitingState;
use crate::{
    job::{
        QueueName,
        budget::{LINGER, TICK},
        chance::between,
    },
    store::Snapshot,
};

/// The shortest pause between two regular reads.
const PAUSE: Duration = Duration::from_millis(20);

/// Watches the queue until it has had no caller for a while.
pub(super) async fn watch(inner: &Arc<WaitingState>, queue: QueueName) {
    let (ticks, left) = inner.table.notifies_of(&queue);
    // A name of no queue may be made up: it is dropped with its last caller.
    let is_known = Box::pin(inner.queues.exists(&queue)).await.unwrap_or(true);
    let mut empty_since = None;
    let mut pause = PAUSE;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = ticks.notified() => {}
            () = left.notified(), if !is_known => {}
            () = inner.stop.cancelled() => break,
        }
        if !is_known && inner.table.close_queue(&queue) {
            break;
        }
        if let Some(rest) = inner.table.rest(&queue) {
            pause = rest;
            continue;
        }
        // Boxed, so that a watch that only waits takes little memory.
        pause = Box::pin(look(inner, &queue)).await;
        if !inner.table.has_no_caller(&queue) {
            empty_since = None;
        } else if empty_since.get_or_insert_with(Instant::now).elapsed() >= LINGER && inner.table.close_queue(&queue) {
            break;
        }
    }
    inner.wanted.remove(&queue);
}

/// Wakes as many callers as there are jobs. Returns when to read again.
async fn look(inner: &Arc<WaitingState>, queue: &QueueName) -> Duration {
    // Up to a tenth earlier, so that the queues are not all read at once.
    let tick = Duration::from_millis(between(TICK.as_millis() as u64 * 9 / 10, TICK.as_millis() as u64));
    let snapshot = inner.queues.snapshot(queue).await;
    let unanswered = inner.table.record(queue, snapshot.clone());
    match snapshot {
        Ok(Snapshot { next_ms: Some(0), .. }) => {
            // The sweep sends hints for the jobs it moves; the next read finds what it has left.
            let swept = inner.queues.sweep(queue).await;
            if swept.is_ok() { PAUSE } else { tick }
        }
        Ok(snapshot) => {
            // A caller without an answer tries first, and wakes the others when it is served.
            if !snapshot.paused && !unanswered {
                inner.table.wake(queue, snapshot.waiting);
            }
            snapshot.next_ms.map_or(tick, |next| Duration::from_millis(next.max(1)).min(tick))
        }
        Err(_) => Duration::from_millis(between(250, 500)),
    }
}
