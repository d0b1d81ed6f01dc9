//! Everything that happens in some queues, from a position in each on, for one reader.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::Arc,
};

use futures_util::{
    Stream, StreamExt,
    stream::{self, SelectAll},
};

use super::{TooSlow, Update, Waiting};
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
        let (positions, behind, updates, live) = Default::default();
        let mut feed = Feed { queues, positions, behind, updates, live };
        for (position, queue) in from {
            // Followed first, so that nothing falls between the past and the present.
            let following = self.follow(&queue).await?;
            let next = |mut following: super::Following| async move { Some((following.next().await, following)) };
            feed.live.push(Box::pin(stream::unfold(following, next)));
            let position = match position {
                Some(position) => {
                    feed.behind.push(queue.clone());
                    position
                }
                None => feed.queues.last_event(&queue).await?,
            };
            feed.positions.insert(queue, position);
        }
        Ok(feed)
    }
}

impl Feed {
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
                // What the past has told already is not told again.
                Update::Event(event) if event.at <= self.positions[&event.queue] => {}
                // What is missing here, this reader sees for itself.
                Update::Gap(queue) => self.behind.push(queue),
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
