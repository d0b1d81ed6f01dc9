//! Everything that happens in some queues, from a place in each on, for one reader.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::Arc,
};

use futures_util::{
    Stream, StreamExt,
    stream::{self, SelectAll},
};

use super::{Told, TooSlow, Waiting};
use crate::{
    job::QueueName,
    queue::{Fault, Place, Queues},
};

type Live = Pin<Box<dyn Stream<Item = Result<Told, TooSlow>> + Send>>;

/// A reader's way through some queues.
pub struct Feed {
    queues: Queues,
    /// Where it is in each.
    places: BTreeMap<QueueName, Place>,
    /// Queues whose past is still to be read.
    behind: Vec<QueueName>,
    told: VecDeque<Told>,
    live: SelectAll<Live>,
}

impl Waiting {
    /// From the given places on, or from now.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn feed(&self, from: Vec<(Option<Place>, QueueName)>) -> Result<Feed, Fault> {
        let queues = self.inner.queues.clone();
        let (places, behind, told, live) = Default::default();
        let mut feed = Feed { queues, places, behind, told, live };
        for (place, queue) in from {
            // Followed first, so that nothing falls between the past and the present.
            let following = self.follow(&queue).await?;
            let next = |mut following: super::Following| async move { Some((following.next().await, following)) };
            feed.live.push(Box::pin(stream::unfold(following, next)));
            let place = match place {
                Some(place) => {
                    feed.behind.push(queue.clone());
                    place
                }
                None => feed.queues.last_event(&queue).await?,
            };
            feed.places.insert(queue, place);
        }
        Ok(feed)
    }
}

impl Feed {
    /// What comes next. It may be dropped while it waits, and nothing is lost.
    ///
    /// # Errors
    /// When the reader was too slow, or Redis is not well: it may come back with its places.
    pub async fn next(&mut self) -> Result<Told, TooSlow> {
        loop {
            if let Some(told) = self.told.pop_front() {
                if let Told::Event(event) = &told {
                    self.places.insert(event.queue.clone(), event.at);
                }
                return Ok(told);
            }
            if let Some(queue) = self.behind.last().cloned() {
                self.read_on(queue).await.map_err(|_| TooSlow)?;
                continue;
            }
            match self.live.next().await.unwrap_or(Err(TooSlow))? {
                // What the past has told already is not told again.
                Told::Event(event) if event.at <= self.places[&event.queue] => {}
                // What is missing at this place, this reader sees for itself.
                Told::Gap(queue) => self.behind.push(queue),
                told => self.told.push_back(told),
            }
        }
    }

    /// A part of the past of the last queue that is behind.
    async fn read_on(&mut self, queue: QueueName) -> Result<(), Fault> {
        let mut passage = self.queues.events_after(&queue, self.places[&queue]).await?;
        let whole = passage.whole;
        if !whole && passage.events.is_empty() {
            // The place is ahead of all there is: Redis came back with less than it had. What is kept may all be new.
            passage = self.queues.events_after(&queue, Place::default()).await?;
            self.places.insert(queue.clone(), Place::default());
        }
        if !whole {
            self.told.push_back(Told::Gap(queue));
        }
        self.told.extend(passage.events.into_iter().map(|event| Told::Event(Arc::new(event))));
        if !passage.more {
            self.behind.pop();
        }
        Ok(())
    }

    /// Where it is in each queue, behind what was told last.
    pub fn places(&self) -> &BTreeMap<QueueName, Place> {
        &self.places
    }
}
