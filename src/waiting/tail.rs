//! What happens in a queue, read once an instance for all who watch it there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, broadcast, watch},
    time::Instant,
};

use super::{Waiting, WaitingState};
use crate::{
    job::{
        QueueName,
        budget::{ANSWER, LINGER, TICK},
    },
    store::{Applied, Event, EventLimit, Fault, Position},
};

/// Who is further behind than this does not catch up.
const BUFFER: usize = 4_096;
/// Until a look that failed is tried again.
pub(super) const RETRY_AFTER: Duration = Duration::from_millis(250);
/// What happens together is looked at together.
const COALESCE: Duration = Duration::from_millis(5);

#[derive(Default)]
pub(super) struct Tails(Mutex<HashMap<QueueName, Arc<Tail>>>);

struct Tail {
    updates: broadcast::Sender<Update>,
    news: Notify,
    /// It knows where the stream ended when it began.
    begun: watch::Sender<bool>,
    /// When it last told of anything: whoever looks later sees that.
    last_update: Mutex<Option<Instant>>,
}

/// What happens in a queue from now on.
pub struct Subscriber {
    updates: broadcast::Receiver<Update>,
    tail: Arc<Tail>,
}

/// What who follows a queue is told.
#[derive(Debug, Clone)]
pub enum Update {
    Event(Arc<Event>),
    /// Some of what happened in the queue is not kept any more, or the queue's past is another.
    Gap(QueueName),
    /// Its node is away: what happens there is told when it is back.
    Away(QueueName),
    /// Its node can be asked again.
    Back(QueueName),
}

/// The reader is too slow for what happens.
#[derive(Debug)]
pub struct TooSlow;

impl Subscriber {
    /// The next event.
    ///
    /// # Errors
    /// When some were missed.
    pub async fn next(&mut self) -> Result<Update, TooSlow> {
        self.updates.recv().await.map_err(|_| TooSlow)
    }

    /// Until something happens that matters, and answers since when a look sees it. What happened with it is passed over:
    /// one look sees it all.
    pub(super) async fn next_relevant(&mut self, matters: impl Fn(&Event) -> bool) -> Instant {
        while self.next().await.is_ok_and(|update| matches!(update, Update::Event(event) if !matters(&event))) {}
        tokio::time::sleep(COALESCE).await;
        self.updates = self.updates.resubscribe();
        self.tail.last_update().unwrap_or_else(Instant::now)
    }
}

impl Tail {
    fn last_update(&self) -> Option<Instant> {
        *self.last_update.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark_updated(&self) {
        *self.last_update.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Tails {
    pub(super) fn news(&self, queue: &QueueName) {
        if let Some(tail) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(queue) {
            tail.news.notify_one();
        }
    }

    /// Takes the tail away if nobody listens to it.
    fn close(&self, queue: &QueueName) -> bool {
        let mut tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let deserted = tails.get(queue).is_none_or(|tail| tail.updates.receiver_count() == 0);
        if deserted {
            tails.remove(queue);
        }
        deserted
    }
}

impl Waiting {
    /// Everything that happens in a queue after this is answered.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn follow(&self, queue: &QueueName) -> Result<Subscriber, Fault> {
        let (following, mut ready) = self.join_tail(queue);
        let in_time = tokio::time::timeout(ANSWER, ready.wait_for(|begun| *begun)).await;
        match in_time {
            Ok(Ok(_)) => Ok(following),
            _ => Err(Fault::Unavailable { applied: Applied::No, why: "the events cannot be read".to_owned() }),
        }
    }

    pub(super) fn join_tail(&self, queue: &QueueName) -> (Subscriber, watch::Receiver<bool>) {
        let mut tails = self.inner.tails.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Reads on until nobody has listened for a while.
async fn read(inner: &Arc<WaitingState>, tail: &Tail, queue: QueueName) {
    let (mut last, mut deserted) = (None, None);
    loop {
        let pause = match catch_up(inner, tail, &queue, &mut last).await {
            Ok(()) => TICK,
            Err(_) => RETRY_AFTER,
        };
        tokio::select! {
            () = tail.news.notified() => {}
            () = tokio::time::sleep(pause) => {}
            () = inner.stop.cancelled() => break,
        }
        if tail.updates.receiver_count() > 0 {
            deserted = None;
        } else if deserted.get_or_insert_with(Instant::now).elapsed() >= LINGER && inner.tails.close(&queue) {
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
                // Ahead of all there is: it goes on from here, and whoever listens looks for themselves at what is kept.
                position = inner.queues.last_event(queue).await?;
            }
            let _ = tail.updates.send(Update::Gap(queue.clone()));
        }
        for event in passage.events {
            position = event.at;
            let _ = tail.updates.send(Update::Event(Arc::new(event)));
        }
        *last = Some(position);
        if !passage.more {
            return Ok(());
        }
    }
}
