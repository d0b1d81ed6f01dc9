//! A queue that somebody waits for is looked at now and then, once for all of them: hints may be lost, and time itself
//! makes jobs ready.

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

/// At least this lies between two looks that nobody asked for.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until nobody has waited for a while.
pub(super) async fn watch(inner: &Arc<WaitingState>, queue: QueueName) {
    let (ticks, left) = inner.table.notifies_of(&queue);
    // A name that is no queue's may be anybody's invention: it is let go of with the last who waits for it.
    let is_known = Box::pin(inner.queues.exists(&queue)).await.unwrap_or(true);
    let mut deserted = None;
    let mut pause = PAUSE;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = ticks.notified() => {}
            () = left.notified(), if !is_known => {}
            () = inner.stop.cancelled() => break,
        }
        if !is_known && inner.table.close_line(&queue) {
            break;
        }
        if let Some(rest) = inner.table.rest(&queue) {
            pause = rest;
            continue;
        }
        // Apart, so that who only waits takes little of the memory.
        pause = Box::pin(look(inner, &queue)).await;
        if !inner.table.is_deserted(&queue) {
            deserted = None;
        } else if deserted.get_or_insert_with(Instant::now).elapsed() >= LINGER && inner.table.close_line(&queue) {
            break;
        }
    }
    inner.wanted.remove(&queue);
}

/// Wakes as many as there are jobs; answers when to look again.
async fn look(inner: &Arc<WaitingState>, queue: &QueueName) -> Duration {
    // Up to a tenth earlier, lest all queues are looked at in one moment.
    let tick = Duration::from_millis(between(TICK.as_millis() as u64 * 9 / 10, TICK.as_millis() as u64));
    let snapshot = inner.queues.snapshot(queue).await;
    let unanswered = inner.table.record(queue, snapshot.clone());
    match snapshot {
        Ok(Snapshot { next_ms: Some(0), .. }) => {
            // What the sweep makes ready, its own hint tells; what it leaves, the next look finds overdue again.
            let swept = inner.queues.sweep(queue).await;
            if swept.is_ok() { PAUSE } else { tick }
        }
        Ok(snapshot) => {
            // When one of the unanswered is served, it looks again.
            if !snapshot.paused && !unanswered {
                inner.table.wake(queue, snapshot.waiting);
            }
            snapshot.next_ms.map_or(tick, |next| Duration::from_millis(next.max(1)).min(tick))
        }
        Err(_) => Duration::from_millis(between(250, 500)),
    }
}
