//! The events of several queues for one reader, from a position in each.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    pin::Pin,
    sync::Arc,
};

use futures_util::{
    Stream, StreamExt,
    stream::{self, SelectAll},
};
use tokio::sync::watch;

use super::{
    Subscriber, TailUpdate, TooSlow, Waiting,
    reads::{ReadPermit, ReaderId},
    tail::RETRY_AFTER,
};
use crate::{
    job::{QueueName, limits},
    store::{EventLimit, EventPage, Fault, Position, Queues},
};

type LiveUpdates = Pin<Box<dyn Stream<Item = Result<TailUpdate, TooSlow>> + Send>>;

/// Entries of the first read; the size of later reads follows the number of events in the last one.
const ENTRIES: usize = 8;

/// A reader of several queues.
pub struct Feed {
    waiting: Waiting,
    who: ReaderId,
    /// The position in each queue.
    positions: BTreeMap<QueueName, Position>,
    /// Queues that must catch up.
    catching_up: Vec<QueueName>,
    /// Queues to follow after they have caught up; until then their events would pile up.
    unfollowed: BTreeSet<QueueName>,
    /// Queues whose server is away.
    reconnecting: BTreeSet<QueueName>,
    updates: VecDeque<TailUpdate>,
    live: SelectAll<LiveUpdates>,
    /// How many entries the next read takes.
    entries: usize,
    /// The permit that is awaited, the permit that is held, and the permit whose events are being sent.
    permit_request: Option<Pin<Box<dyn Future<Output = ReadPermit> + Send>>>,
    permit: Option<ReadPermit>,
    sending: Option<ReadPermit>,
}

impl Waiting {
    /// Follows queues from the given positions, or from now. All streams of one caller share its permits.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn feed(&self, from: Vec<(Option<Position>, QueueName)>, who: ReaderId) -> Result<Feed, Fault> {
        let mut feed = Feed::new(self.clone(), who);
        // Follow first, so that no event is missed between catching up and following.
        let started = from.iter().map(|(position, queue)| (queue, self.start(*position, queue)));
        let (there, away) = self.inner.queues.ask_each(started).await?;
        let resumes: BTreeSet<_> = from.iter().filter(|(at, _)| at.is_some()).map(|(_, queue)| queue.clone()).collect();
        if let (true, Some((_, fault))) = (there.is_empty(), away.first()) {
            return Err(fault.clone());
        }
        for (queue, (following, position)) in there {
            if resumes.contains(&queue) {
                feed.unfollowed.insert(queue.clone());
            } else {
                feed.follow(following);
            }
            feed.positions.insert(queue, position);
        }
        for (queue, _) in away {
            let (following, begun) = self.join_tail(&queue);
            feed.follow(following);
            feed.live.push(Box::pin(stream::once(back(self.inner.queues.clone(), queue.clone(), begun))));
            feed.updates.push_back(TailUpdate::Away(queue));
        }
        for (position, queue) in from {
            if let Some(position) = position {
                match feed.positions.insert(queue.clone(), position) {
                    Some(_) => feed.catching_up.push(queue),
                    None => _ = feed.reconnecting.insert(queue),
                }
            }
        }
        Ok(feed)
    }

    /// Follows a queue from now on, and returns the position where that begins.
    async fn start(&self, from: Option<Position>, queue: &QueueName) -> Result<(Subscriber, Position), Fault> {
        let following = self.follow(queue).await?;
        // Read in any case: a tail that others share may not know yet that its node is away.
        let last = self.inner.queues.last_event(queue).await?;
        Ok((following, from.unwrap_or(last)))
    }
}

/// Resolves when a queue can be read again and is followed. Reading its past any earlier would miss the events in between.
async fn back(queues: Queues, queue: QueueName, mut begun: watch::Receiver<bool>) -> Result<TailUpdate, TooSlow> {
    begun.wait_for(|begun| *begun).await.map_err(|_| TooSlow)?;
    while queues.last_event(&queue).await.is_err() {
        tokio::time::sleep(RETRY_AFTER).await;
    }
    Ok(TailUpdate::Back(queue))
}

impl Feed {
    fn new(waiting: Waiting, who: ReaderId) -> Self {
        let (positions, catching_up, unfollowed, reconnecting, updates, live) = Default::default();
        let (entries, permit_request, permit, sending) = (ENTRIES, None, None, None);
        Self {
            waiting,
            who,
            positions,
            catching_up,
            unfollowed,
            reconnecting,
            updates,
            live,
            entries,
            permit_request,
            permit,
            sending,
        }
    }

    fn follow(&mut self, following: Subscriber) {
        let next = |mut following: Subscriber| async move { Some((following.next().await, following)) };
        self.live.push(Box::pin(stream::unfold(following, next)));
    }

    /// The next update. It is safe to drop this while it waits.
    ///
    /// # Errors
    /// When the reader was too slow, or Redis is not well. The reader may reconnect with its positions.
    pub async fn next(&mut self) -> Result<TailUpdate, TooSlow> {
        loop {
            if let Some(update) = self.updates.pop_front() {
                if let TailUpdate::Event(event) = &update {
                    self.positions.insert(event.queue.clone(), event.at);
                }
                return Ok(update);
            }
            self.sending = None;
            if let Some(queue) = self.catching_up.last().cloned() {
                self.take_permit().await;
                self.read_on(queue).await.map_err(|_| TooSlow)?;
                continue;
            }
            match self.live.next().await.unwrap_or(Err(TooSlow))? {
                // The server is back. The events before this one are read first.
                TailUpdate::Event(event) if self.reconnecting.remove(&event.queue) => {
                    self.catching_up.push(event.queue.clone())
                }
                // The catch-up has sent this event already.
                TailUpdate::Event(event) if self.positions.get(&event.queue).is_some_and(|sent| event.at <= *sent) => {}
                // The reader catches up by itself.
                TailUpdate::Gap(queue) | TailUpdate::Back(queue) if self.positions.contains_key(&queue) => {
                    self.reconnecting.remove(&queue);
                    self.catching_up.push(queue);
                }
                update => self.updates.push_back(update),
            }
        }
    }

    /// Waits for a permit to read. If this is dropped while it waits, the place in line is kept.
    async fn take_permit(&mut self) {
        if self.permit.is_none() {
            let (waiting, who) = (self.waiting.clone(), self.who.clone());
            let request = self
                .permit_request
                .get_or_insert_with(|| Box::pin(async move { waiting.inner.catch_ups.enter(&who).await }));
            self.permit = Some(request.await);
            self.permit_request = None;
        }
    }

    /// Reads one part of the past of the last queue that is catching up. Dropping this before its end changes nothing.
    async fn read_on(&mut self, queue: QueueName) -> Result<(), Fault> {
        let queues = &self.waiting.inner.queues;
        let part = EventLimit { entries: self.entries, events: limits::CATCH_UP_EVENTS };
        let mut position = self.positions[&queue];
        let mut passage = queues.events_after(&queue, position, part).await?;
        let complete = passage.complete;
        if !complete && passage.events.is_empty() && !passage.more {
            // The position is after the last event: Redis has lost some. All kept events may be new to the reader.
            position = Position::default();
            passage = queues.events_after(&queue, position, part).await?;
        }
        if !passage.more && self.unfollowed.contains(&queue) {
            // Follow the queue from here, and read once more for events in between.
            let following = self.waiting.follow(&queue).await?;
            self.follow(following);
            self.unfollowed.remove(&queue);
        } else if !passage.more {
            self.catching_up.pop();
        }
        if !complete {
            self.updates.push_back(TailUpdate::Gap(queue.clone()));
        }
        self.accept_page(queue, position, passage);
        Ok(())
    }

    fn accept_page(&mut self, queue: QueueName, position: Position, passage: EventPage) {
        let EventPage { events, more, reached, .. } = passage;
        self.entries = match events.len() {
            few if few < limits::CATCH_UP_EVENTS / 2 => (self.entries * 2).min(limits::CATCH_UP_EVENTS),
            all if all < limits::CATCH_UP_EVENTS => self.entries,
            _ => (self.entries / 2).max(2),
        };
        // Without an event, nothing else advances the position.
        let position = if events.is_empty() && more { reached } else { position };
        self.positions.insert(queue, position);
        self.updates.extend(events.into_iter().map(|event| TailUpdate::Event(Arc::new(event))));
        self.sending = self.permit.take();
    }

    /// The position in each queue, after the last event that was sent.
    pub fn positions(&self) -> &BTreeMap<QueueName, Position> {
        &self.positions
    }
}
