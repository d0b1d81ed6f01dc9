//! Everything that happens in some queues, from a position in each on, for one reader.

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

use super::{Following, TooSlow, Update, Waiting, tail::PAUSE};
use crate::{
    job::QueueName,
    queue::{Fault, Position, Queues},
};

type Live = Pin<Box<dyn Stream<Item = Result<Update, TooSlow>> + Send>>;

/// A reader's way through some queues.
pub struct Feed {
    queues: Queues,
    /// Where it is in each.
    positions: BTreeMap<QueueName, Position>,
    /// Queues whose past is still to be read.
    behind: Vec<QueueName>,
    /// Those of which it cannot be read yet: their servers are away.
    owed: BTreeSet<QueueName>,
    updates: VecDeque<Update>,
    live: SelectAll<Live>,
}

impl Waiting {
    /// From the given positions on, or from now.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn feed(&self, from: Vec<(Option<Position>, QueueName)>) -> Result<Feed, Fault> {
        let queues = self.inner.queues.clone();
        let (positions, behind, owed, updates, live) = Default::default();
        let mut feed = Feed { queues, positions, behind, owed, updates, live };
        // Followed first, so that nothing falls between the past and the present.
        let started = from.iter().map(|(position, queue)| (queue, self.start(*position, queue)));
        let (there, away) = feed.queues.of_each(started).await?;
        if let (true, Some((_, fault))) = (there.is_empty(), away.first()) {
            return Err(fault.clone());
        }
        for (queue, (following, position)) in there {
            feed.follow(following);
            feed.positions.insert(queue, position);
        }
        for (queue, _) in away {
            let (following, begun) = self.join_tail(&queue);
            feed.follow(following);
            feed.live.push(Box::pin(stream::once(back(feed.queues.clone(), queue.clone(), begun))));
            feed.updates.push_back(Update::Away(queue));
        }
        for (position, queue) in from {
            if let Some(position) = position {
                match feed.positions.insert(queue.clone(), position) {
                    Some(_) => feed.behind.push(queue),
                    None => _ = feed.owed.insert(queue),
                }
            }
        }
        Ok(feed)
    }

    /// What happens from now on, and where that begins.
    async fn start(&self, from: Option<Position>, queue: &QueueName) -> Result<(Following, Position), Fault> {
        let following = self.follow(queue).await?;
        // Asked in any case: somebody else's tail of it may not know yet that its node is away.
        let last = self.inner.queues.last_event(queue).await?;
        Ok((following, from.unwrap_or(last)))
    }
}

/// Says so when a queue can be read again, and is followed: whoever read its past before would miss what comes in between.
async fn back(queues: Queues, queue: QueueName, mut begun: watch::Receiver<bool>) -> Result<Update, TooSlow> {
    begun.wait_for(|begun| *begun).await.map_err(|_| TooSlow)?;
    while queues.last_event(&queue).await.is_err() {
        tokio::time::sleep(PAUSE).await;
    }
    Ok(Update::Back(queue))
}

impl Feed {
    fn follow(&mut self, following: Following) {
        let next = |mut following: Following| async move { Some((following.next().await, following)) };
        self.live.push(Box::pin(stream::unfold(following, next)));
    }

    /// What comes next. It may be dropped while it waits, and nothing is lost.
    ///
    /// # Errors
    /// When the reader was too slow, or Redis is not well: it may come back with its positions.
    pub async fn next(&mut self) -> Result<Update, TooSlow> {
        loop {
            if let Some(update) = self.updates.pop_front() {
                if let Update::Event(event) = &update {
                    self.positions.insert(event.queue.clone(), event.at);
                }
                return Ok(update);
            }
            if let Some(queue) = self.behind.last().cloned() {
                self.read_on(queue).await.map_err(|_| TooSlow)?;
                continue;
            }
            match self.live.next().await.unwrap_or(Err(TooSlow))? {
                // Its server is back, which was to be said first; what happened before this has not been told.
                Update::Event(event) if self.owed.remove(&event.queue) => self.behind.push(event.queue.clone()),
                // What the past has told already is not told again.
                Update::Event(event) if self.positions.get(&event.queue).is_some_and(|told| event.at <= *told) => {}
                // What is missing here, this reader sees for itself.
                Update::Gap(queue) | Update::Back(queue) if self.positions.contains_key(&queue) => {
                    self.owed.remove(&queue);
                    self.behind.push(queue);
                }
                update => self.updates.push_back(update),
            }
        }
    }

    /// A part of the past of the last queue that is behind.
    async fn read_on(&mut self, queue: QueueName) -> Result<(), Fault> {
        let mut passage = self.queues.events_after(&queue, self.positions[&queue]).await?;
        let whole = passage.whole;
        if !whole && passage.events.is_empty() {
            // The position is ahead of all there is: Redis came back with less than it had. What is kept may all be new.
            passage = self.queues.events_after(&queue, Position::default()).await?;
            self.positions.insert(queue.clone(), Position::default());
        }
        if !whole {
            self.updates.push_back(Update::Gap(queue));
        }
        self.updates.extend(passage.events.into_iter().map(|event| Update::Event(Arc::new(event))));
        if !passage.more {
            self.behind.pop();
        }
        Ok(())
    }

    /// Where it is in each queue, behind what was told last.
    pub fn positions(&self) -> &BTreeMap<QueueName, Position> {
        &self.positions
    }
}
