//! The new events of a queue, read once per instance for all subscribers.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, broadcast, watch},
    time::Instant,
};

use super::{Waiting, WaitingState};
use crate::{
    job::{
        QueueName,
        budget::{LINGER, TICK},
    },
    store::{Applied, Event, EventLimit, Fault, Position},
    waits::hurried,
};

/// Size of the broadcast buffer; slower readers are disconnected.
const BUFFER: usize = 4_096;
/// The pause after a failed read.
pub(super) const RETRY_AFTER: Duration = Duration::from_millis(250);
/// Coalesces bursts of events.
const COALESCE: Duration = Duration::from_millis(5);

#[derive(Default)]
pub(super) struct Tails(Mutex<HashMap<QueueName, Arc<Tail>>>);

struct Tail {
    updates: broadcast::Sender<TailUpdate>,
    news: Notify,
    /// Whether it knows the end of the stream, from which it reads.
    begun: watch::Sender<bool>,
    /// When it last sent an update: a read after that includes the update.
    last_update: Mutex<Option<Instant>>,
}

/// Receives the events of a queue from now on.
pub struct Subscriber {
    updates: broadcast::Receiver<TailUpdate>,
    tail: Arc<Tail>,
}

/// A message to the subscribers of a queue.
#[derive(Debug, Clone)]
pub enum TailUpdate {
    Event(Arc<Event>),
    /// Some events are no longer kept, or the stream was replaced.
    Gap(QueueName),
    /// The node is away; the events follow when it is back.
    Away(QueueName),
    /// The node is back.
    Back(QueueName),
}

impl TailUpdate {
    pub(super) fn queue(&self) -> &QueueName {
        match self {
            Self::Event(event) => &event.queue,
            Self::Gap(queue) | Self::Away(queue) | Self::Back(queue) => queue,
        }
    }
}

/// The reader is too slow.
#[derive(Debug)]
pub struct TooSlow;

impl Subscriber {
    /// The next event.
    ///
    /// # Errors
    /// When some were missed.
    pub async fn next(&mut self) -> Result<TailUpdate, TooSlow> {
        self.updates.recv().await.map_err(|_| TooSlow)
    }

    /// Waits for an event that `matters`. Returns the time from which a read includes it. Events in the same burst are dropped,
    /// because one read includes them all.
    pub(super) async fn next_relevant(&mut self, matters: impl Fn(&Event) -> bool) -> Instant {
        while self.next().await.is_ok_and(|update| matches!(update, TailUpdate::Event(event) if !matters(&event))) {}
        tokio::time::sleep(COALESCE).await;
        self.updates = self.updates.resubscribe();
        self.tail.last_update().unwrap_or_else(Instant::now)
    }
}

impl Tail {
    fn last_update(&self) -> Option<Instant> {
        *self.last_update.lock()
    }

    fn mark_updated(&self) {
        *self.last_update.lock() = Some(Instant::now());
    }
}

impl Tails {
    pub(super) fn news(&self, queue: &QueueName) {
        if let Some(tail) = self.0.lock().get(queue) {
            tail.news.notify_one();
        }
    }

    /// Removes the tail if it has no subscriber.
    fn close(&self, queue: &QueueName) -> bool {
        let mut tails = self.0.lock();
        let deserted = tails.get(queue).is_none_or(|tail| tail.updates.receiver_count() == 0);
        if deserted {
            tails.remove(queue);
        }
        deserted
    }
}

impl Waiting {
    /// Follows a queue: receives every event after this call returns.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn follow(&self, queue: &QueueName) -> Result<Subscriber, Fault> {
        let (following, mut ready) = self.join_tail(queue);
        let in_time = tokio::time::timeout(self.inner.queues.timeouts().answer(), ready.wait_for(|begun| *begun)).await;
        match in_time {
            Ok(Ok(_)) => Ok(following),
            _ => Err(Fault::Unavailable { applied: Applied::No, why: "the events cannot be read".to_owned() }),
        }
    }

    pub(super) fn join_tail(&self, queue: &QueueName) -> (Subscriber, watch::Receiver<bool>) {
        let mut tails = self.inner.tails.0.lock();
        let tail = tails.entry(queue.clone()).or_insert_with(|| {
            let tail = Arc::new(Tail {
                updates: broadcast::Sender::new(BUFFER),
                news: Notify::new(),
                begun: watch::Sender::new(false),
                last_update: Mutex::default(),
            });
            self.inner.wanted.add(queue);
            let (inner, tail_of, queue) = (self.inner.clone(), tail.clone(), queue.clone());
            self.inner.watches.spawn(async move { read(&inner, &tail_of, queue).await });
            tail
        });
        (Subscriber { updates: tail.updates.subscribe(), tail: tail.clone() }, tail.begun.subscribe())
    }
}

/// Reads the stream until it has had no subscriber for a while.
async fn read(inner: &Arc<WaitingState>, tail: &Tail, queue: QueueName) {
    let (mut last, mut deserted) = (None, None);
    loop {
        let pause = match catch_up(inner, tail, &queue, &mut last).await {
            Ok(()) => hurried(TICK),
            Err(_) => RETRY_AFTER,
        };
        tokio::select! {
            () = tail.news.notified() => {}
            () = tokio::time::sleep(pause) => {}
            () = inner.stop.cancelled() => break,
        }
        if tail.updates.receiver_count() > 0 {
            deserted = None;
        } else if deserted.get_or_insert_with(Instant::now).elapsed() >= hurried(LINGER) && inner.tails.close(&queue) {
            break;
        }
    }
    inner.wanted.remove(&queue);
}

async fn catch_up(
    inner: &WaitingState,
    tail: &Tail,
    queue: &QueueName,
    last: &mut Option<Position>,
) -> Result<(), Fault> {
    let mut position = match *last {
        Some(position) => position,
        None => inner.queues.last_event(queue).await?,
    };
    *last = Some(position);
    tail.begun.send_replace(true);
    loop {
        let passage = inner.queues.events_after(queue, position, EventLimit::LARGE).await?;
        if !passage.complete || !passage.events.is_empty() {
            tail.mark_updated();
        }
        if !passage.complete {
            if passage.events.is_empty() {
                // The position is after the last event: continue from the end, and let the subscribers read what is kept.
                position = inner.queues.last_event(queue).await?;
            }
            let _ = tail.updates.send(TailUpdate::Gap(queue.clone()));
        }
        for event in passage.events {
            position = event.at;
            let _ = tail.updates.send(TailUpdate::Event(Arc::new(event)));
        }
        *last = Some(position);
        if !passage.more {
            return Ok(());
        }
    }
}
