//! The events of several queues for one reader, from a position in each.

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
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
    store::{Event, EventLimit, Fault, Position, Queues},
};

type LiveUpdates = Pin<Box<dyn Stream<Item = Result<TailUpdate, TooSlow>> + Send>>;

/// Entries of the first read; the size of later reads follows the number of events in the last one.
const ENTRIES: usize = 8;

/// A reader of several queues.
pub struct Feed {
    waiting: Waiting,
    who: ReaderId,
    queues: BTreeMap<QueueName, Followed>,
    updates: VecDeque<TailUpdate>,
    live: SelectAll<LiveUpdates>,
    /// How many entries the next read takes.
    entries: usize,
    permit: CatchUpPermit,
}

/// What a feed knows of a queue.
#[derive(Clone, Copy)]
struct Followed {
    /// After the last event that was sent. None: the server has been away since the start, and no position was given.
    position: Option<Position>,
    state: State,
}

/// How the events of a queue reach the reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its past is read, and it is followed after that: until then its events would pile up.
    Resuming,
    /// It is followed, and the events between are read.
    CatchingUp,
    /// It is followed, but its server has been away since the start: its past is read when the server is back.
    Away,
    /// They are sent as they happen.
    Live,
}

/// The permit to read the past.
#[derive(Default)]
enum CatchUpPermit {
    #[default]
    None,
    Requested(Pin<Box<dyn Future<Output = ReadPermit> + Send>>),
    Held(ReadPermit),
    /// The events that were read by it are being sent.
    Sending(ReadPermit),
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
        if let (true, Some((_, fault))) = (there.is_empty(), away.first()) {
            return Err(fault.clone());
        }
        let resumed: BTreeMap<_, _> = from.iter().filter_map(|(at, queue)| Some((queue, (*at)?))).collect();
        for (queue, (following, position)) in there {
            let state = if resumed.contains_key(&queue) {
                State::Resuming
            } else {
                feed.follow(following);
                State::Live
            };
            feed.queues.insert(queue, Followed { position: Some(position), state });
        }
        for (queue, _) in away {
            let (following, begun) = self.join_tail(&queue);
            feed.follow(following);
            feed.live.push(Box::pin(stream::once(back(self.inner.queues.clone(), queue.clone(), begun))));
            feed.updates.push_back(TailUpdate::Away(queue.clone()));
            let position = resumed.get(&queue).copied();
            let state = if position.is_some() { State::Away } else { State::Live };
            feed.queues.insert(queue, Followed { position, state });
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

impl Followed {
    /// Takes notice of an update of the tail. Returns whether the reader gets it.
    fn hears(&mut self, update: &TailUpdate) -> bool {
        match update {
            // The server is back. The events before this one are read first.
            TailUpdate::Event(_) if self.state == State::Away => {
                self.state = State::CatchingUp;
                false
            }
            // The catch-up may have sent it already.
            TailUpdate::Event(event) => self.position.is_none_or(|sent| event.at > sent),
            // The reader catches up by itself.
            TailUpdate::Gap(_) | TailUpdate::Back(_) if self.position.is_some() => {
                self.state = State::CatchingUp;
                false
            }
            _ => true,
        }
    }
}

impl Feed {
    fn new(waiting: Waiting, who: ReaderId) -> Self {
        let (queues, updates, live, permit) = Default::default();
        Self { waiting, who, queues, updates, live, entries: ENTRIES, permit }
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
                if let TailUpdate::Event(event) = &update
                    && let Some(followed) = self.queues.get_mut(&event.queue)
                {
                    followed.position = Some(event.at);
                }
                return Ok(update);
            }
            self.end_sending();
            if let Some(queue) = self.reading() {
                self.take_permit().await;
                self.read_on(queue).await.map_err(|_| TooSlow)?;
                continue;
            }
            let update = self.live.next().await.unwrap_or(Err(TooSlow))?;
            if self.queues.get_mut(update.queue()).is_none_or(|followed| followed.hears(&update)) {
                self.updates.push_back(update);
            }
        }
    }

    /// A queue whose past is read.
    fn reading(&self) -> Option<QueueName> {
        let is_read = |followed: &Followed| matches!(followed.state, State::Resuming | State::CatchingUp);
        self.queues.iter().find(|(_, followed)| is_read(followed)).map(|(queue, _)| queue.clone())
    }

    /// Waits for a permit to read. If this is dropped while it waits, the place in line is kept.
    async fn take_permit(&mut self) {
        if let CatchUpPermit::None = self.permit {
            let (waiting, who) = (self.waiting.clone(), self.who.clone());
            self.permit = CatchUpPermit::Requested(Box::pin(async move { waiting.inner.catch_ups.enter(&who).await }));
        }
        if let CatchUpPermit::Requested(request) = &mut self.permit {
            self.permit = CatchUpPermit::Held(request.await);
        }
    }

    fn begin_sending(&mut self) {
        self.permit = match mem::take(&mut self.permit) {
            CatchUpPermit::Held(permit) => CatchUpPermit::Sending(permit),
            other => other,
        };
    }

    fn end_sending(&mut self) {
        self.permit = match mem::take(&mut self.permit) {
            CatchUpPermit::Sending(permit) => {
                drop(permit);
                CatchUpPermit::None
            }
            other => other,
        };
    }

    /// Reads one part of the past of a queue. Dropping this before its end changes nothing.
    async fn read_on(&mut self, queue: QueueName) -> Result<(), Fault> {
        let queues = &self.waiting.inner.queues;
        let part = EventLimit { entries: self.entries, events: limits::CATCH_UP_EVENTS };
        let Followed { position, state } = self.queues[&queue];
        let mut position = position.unwrap_or_default();
        let mut passage = queues.events_after(&queue, position, part).await?;
        let complete = passage.complete;
        if !complete && passage.events.is_empty() && !passage.more {
            // The position is after the last event: Redis has lost some. All kept events may be new to the reader.
            position = Position::default();
            passage = queues.events_after(&queue, position, part).await?;
        }
        let state = match state {
            state if passage.more => state,
            State::Resuming => {
                // Follow the queue from here, and read once more for events in between.
                let following = self.waiting.follow(&queue).await?;
                self.follow(following);
                State::CatchingUp
            }
            _ => State::Live,
        };
        if !complete {
            self.updates.push_back(TailUpdate::Gap(queue.clone()));
        }
        // Without an event, nothing else advances the position.
        let position = Some(if passage.events.is_empty() && passage.more { passage.reached } else { position });
        self.queues.insert(queue, Followed { position, state });
        self.accept_page(passage.events);
        Ok(())
    }

    fn accept_page(&mut self, events: Vec<Event>) {
        self.entries = match events.len() {
            few if few < limits::CATCH_UP_EVENTS / 2 => (self.entries * 2).min(limits::CATCH_UP_EVENTS),
            all if all < limits::CATCH_UP_EVENTS => self.entries,
            _ => (self.entries / 2).max(2),
        };
        self.updates.extend(events.into_iter().map(|event| TailUpdate::Event(Arc::new(event))));
        self.begin_sending();
    }

    /// The position in each queue, after the last event that was sent.
    pub fn positions(&self) -> impl Iterator<Item = (&QueueName, Position)> {
        self.queues.iter().filter_map(|(queue, followed)| Some((queue, followed.position?)))
    }
}
