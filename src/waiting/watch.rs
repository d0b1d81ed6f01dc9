//! Watches a queue that has waiting callers: reads it regularly, because hints may be lost and delayed jobs become due.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::WaitingState;
use crate::{
    job::{
        Line, QueueName,
        budget::{LINGER, TICK},
        chance::between,
    },
    store::Snapshot,
    waits::hurried,
};

/// The shortest pause between two regular reads.
const PAUSE: Duration = Duration::from_millis(20);
/// How many lines of the callers one read counts; the next reads count the others.
const MAX_LINES: usize = 100;

/// Watches the queue until it has had no caller for a while.
pub(super) async fn watch(inner: &Arc<WaitingState>, queue: QueueName) {
    let (ticks, left) = inner.table.notifies_of(&queue);
    // A name of no queue may be made up: it is dropped with its last caller.
    let is_known = Box::pin(inner.queues.exists(&queue)).await.unwrap_or(true);
    let mut empty_since = None;
    let (mut pause, mut counted) = (PAUSE, None);
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
        pause = Box::pin(look(inner, &queue, &mut counted)).await;
        if !inner.table.has_no_caller(&queue) {
            empty_since = None;
        } else if empty_since.get_or_insert_with(Instant::now).elapsed() >= hurried(LINGER)
            && inner.table.close_queue(&queue)
        {
            break;
        }
    }
    inner.wanted.remove(&queue);
}

/// Wakes as many callers as there are jobs. Returns when to read again. `counted` is the last line of the callers that a read
/// has counted; `None` after all of them.
async fn look(inner: &Arc<WaitingState>, queue: &QueueName, counted: &mut Option<Line>) -> Duration {
    // Up to a tenth earlier, so that the queues are not all read at once.
    let tick = hurried(Duration::from_millis(between(TICK.as_millis() as u64 * 9 / 10, TICK.as_millis() as u64)));
    let lines = inner.table.sleeping_lines(queue, counted.as_ref(), MAX_LINES);
    let (snapshot, in_lines) = match inner.queues.snapshot(queue, &lines).await {
        Ok((snapshot, in_lines)) => (Ok(snapshot), in_lines),
        Err(fault) => (Err(fault), Vec::new()),
    };
    let unanswered = inner.table.record(queue, snapshot.clone());
    match snapshot {
        Ok(Snapshot { next_ms: Some(0), .. }) => {
            // The sweep sends hints for the jobs it moves; the next read finds what it has left.
            let swept = inner.queues.sweep(queue).await;
            if swept.is_ok() { PAUSE } else { tick }
        }
        Ok(snapshot) => {
            let is_first = counted.is_none();
            *counted = lines.get(MAX_LINES - 1).filter(|_| snapshot.restricted > 0).cloned();
            // A caller without an answer tries first, and wakes the others when it is served.
            if !snapshot.paused && !unanswered {
                if is_first {
                    inner.table.wake(queue, snapshot.waiting);
                }
                inner.table.wake_lines(queue, &lines.into_iter().zip(in_lines).collect::<Vec<_>>());
            }
            if counted.is_some() {
                return PAUSE;
            }
            snapshot.next_ms.map_or(tick, |next| Duration::from_millis(next.max(1)).min(tick))
        }
        Err(_) => Duration::from_millis(between(250, 500)),
    }
}
