//! `intray move`: the queues of one Redis become those of another, which may be a cluster.
//!
//! They are copied while they are in use, again and again until little is left to do. Then all are closed at the source, what
//! has changed is copied, each entry is compared at both places, and from one to the next they become the target's. Until
//! then nobody sees them there. It may be killed anywhere and run again: what is done is known by what stands in the keys.

mod carry;
mod disk;
mod halt;
mod keys;
mod page;
mod source;
mod steps;
mod stream;
mod tally;
mod target;

use intray_redis::Fault;

use self::{halt::Halt, source::MoveSource, target::MoveTarget};
use super::migrate::{self, LayoutError};
use crate::{
    job::{QueueName, ids},
    store::{
        handle::Queues,
        redis::move_marker::{MoveMarker, Stage},
    },
};

/// What a move did, or would do.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Moved {
    pub queues: Vec<QueueName>,
    /// Entries of all keys that were compared.
    pub entries: u64,
    pub digest: u64,
    /// There was nothing to do any more.
    pub was_done: bool,
}

/// A move on its way.
struct Moving<'m> {
    source: MoveSource<'m>,
    target: MoveTarget<'m>,
    tell: &'m (dyn Fn(&str) + Sync),
}

impl Queues {
    /// Moves all queues to another Redis, which is called so; `tell` hears how it goes on.
    ///
    /// # Errors
    /// [`LayoutError::Refused`] with one line that says what became of it.
    pub async fn move_to(
        &self,
        target: &Self,
        place: &str,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Moved, LayoutError> {
        let mark = MoveSource::mark(self).await.map_err(untouched)?;
        if mark.is_none() {
            migrate::expect_current(self).await?;
            self.create_store_id().await?;
        }
        let (origin, goal) = (self.own_store_id().await?, target.own_store_id().await?);
        if origin == goal {
            return Err(LayoutError::Refused("it is the Redis that the queues are in".to_owned()));
        }
        match &mark {
            Some(mark) if mark.target != goal => return Err(LayoutError::Refused(elsewhere(mark))),
            Some(mark) if mark.stage == Stage::Moved => return Ok(Moved { was_done: true, ..Moved::default() }),
            Some(_) | None => {}
        }
        let run = ids::random_code().as_str().to_owned();
        let source = MoveSource { queues: self, run: run.clone(), target: goal, place: place.to_owned() };
        let moving = Moving { source, target: MoveTarget { queues: target, origin, run }, tell };
        moving.go(mark.map(|mark| mark.stage)).await
    }

    /// What a move would find, without a trace.
    ///
    /// # Errors
    /// [`LayoutError::Refused`] with the line that it would end with.
    pub async fn look_before_moving(&self, target: &Self) -> Result<Moved, LayoutError> {
        if let Some(mark) = MoveSource::mark(self).await.map_err(untouched)? {
            return Err(LayoutError::Refused(elsewhere(&mark)));
        }
        migrate::expect_current(self).await?;
        migrate::expect_current(target).await?;
        let (here, there) = (self.store_id().await?, target.store_id().await?);
        if here.is_some() && here == there {
            return Err(LayoutError::Refused("it is the Redis that the queues are in".to_owned()));
        }
        let names = self.names().await?;
        let to = MoveTarget { queues: target, origin: String::new(), run: String::new() };
        for queue in &names {
            to.look(queue).await.map_err(untouched)?;
        }
        Ok(Moved { queues: names, ..Moved::default() })
    }

    /// Calls a move off: all queues are what they were, and what was brought to the target goes, if it is named.
    ///
    /// # Errors
    /// [`LayoutError::Refused`] when it is too late, or there is none.
    pub async fn cancel_move(&self, target: Option<&Self>) -> Result<Vec<QueueName>, LayoutError> {
        let mark = MoveSource::mark(self).await.map_err(untouched)?;
        let mut names = Vec::new();
        match &mark {
            Some(mark) if mark.stage != Stage::Draining => {
                return Err(LayoutError::Refused(format!("it is too late: {}", mark.reason())));
            }
            Some(mark) => names = self.reopen_all(mark).await.map_err(|halt| LayoutError::Refused(halt.to_string()))?,
            None => migrate::expect_current(self).await?,
        }
        if let Some(target) = target {
            let origin = self.own_store_id().await?;
            let to = MoveTarget { queues: target, origin, run: String::new() };
            for queue in self.names().await? {
                to.drop(&queue).await.map_err(|halt| LayoutError::Refused(halt.to_string()))?;
            }
        }
        Ok(names)
    }

    /// This run closes what may be open yet, so that all is its own to open.
    async fn reopen_all(&self, mark: &MoveMarker) -> Result<Vec<QueueName>, Halt> {
        let run = ids::random_code().as_str().to_owned();
        let source = MoveSource { queues: self, run, target: mark.target.clone(), place: mark.place.clone() };
        let (stage, names) = source.set(Stage::Draining).await?;
        if stage != Stage::Draining {
            return Err(Halt::Refused("it is too late: the queues are being moved".to_owned()));
        }
        for queue in &names {
            source.close(queue).await?;
        }
        source.reopen(&names).await?;
        Ok(names)
    }

    async fn own_store_id(&self) -> Result<String, Fault> {
        Ok(self.store_id().await?.map_or_else(String::new, |epoch| String::from_utf8_lossy(&epoch).into_owned()))
    }
}

fn elsewhere(mark: &MoveMarker) -> String {
    match mark.stage {
        Stage::Moved => mark.reason(),
        Stage::Draining => format!("{}: name that place again, or `intray move --cancel`", mark.reason()),
        Stage::Switching => format!("{}: name that place again", mark.reason()),
    }
}

/// Before anything was done.
fn untouched(halt: Halt) -> LayoutError {
    LayoutError::Refused(format!("{halt}; nothing was moved"))
}
