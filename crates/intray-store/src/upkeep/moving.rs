//! `intray move` moves all queues from one Redis to another, which may be a cluster.
//!
//! The move copies the queues while they are in use, in rounds, until little is left to copy. Then it closes all queues at the
//! source, copies the last changes, compares each entry at both places, and publishes one queue after the other at the target.
//! The target serves no queue before that. A killed move can be run again, because the keys themselves hold its progress.

mod carry;
mod halt;
mod keys;
mod page;
mod rights;
mod source;
mod steps;
mod stream;
mod tally;
mod target;
mod webhooks;

use intray_redis::Fault;

use self::{halt::Halt, source::MoveSource, target::MoveTarget};
use super::migrate::{self, LayoutError};
use crate::{
    handle::Queues,
    job::{QueueName, ids},
    redis::move_marker::{MoveMarker, Stage},
};

/// The result of a move, or of a dry run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Moved {
    pub queues: Vec<QueueName>,
    /// The number of compared entries in all keys.
    pub entries: u64,
    pub digest: u64,
    /// An earlier run has completed the move.
    pub was_done: bool,
}

/// A running move.
struct Moving<'m> {
    source: MoveSource<'m>,
    target: MoveTarget<'m>,
    report: &'m (dyn Fn(&str) + Sync),
}

impl Queues {
    /// Moves all queues to the Redis at `place`. `report` receives lines about the progress.
    ///
    /// # Errors
    /// [`LayoutError::Refused`] with one line that states the outcome.
    pub async fn move_to(
        &self,
        target: &Self,
        place: &str,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<Moved, LayoutError> {
        rights::expect(self, target).await?;
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
        let moving = Moving { source, target: MoveTarget { queues: target, origin, run }, report };
        moving.go(mark.map(|mark| mark.stage)).await
    }

    /// A dry run of a move: it writes nothing.
    ///
    /// # Errors
    /// [`LayoutError::Refused`] with the line that the move would end with.
    pub async fn look_before_moving(&self, target: &Self) -> Result<Moved, LayoutError> {
        rights::expect(self, target).await?;
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

    /// Cancels a move: reopens all queues, and deletes the copies at the target if one is given.
    ///
    /// # Errors
    /// [`LayoutError::Refused`] when the move can no longer be cancelled, or when Redis is not well.
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

    /// Closes the queues that may still be open, so that this run owns all of them and may reopen them.
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

/// An error before the first change.
fn untouched(halt: Halt) -> LayoutError {
    LayoutError::Refused(format!("{halt}; nothing was moved"))
}
