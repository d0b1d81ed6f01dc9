//! The lines of a day.

use super::Sheets;
use crate::{
    job::{Day, Name, QueueName, SheetCounts},
    store::{Fault, Shard, ShardSet, SheetLines, read_lines},
};

/// Fields of one call: an answer has a part of a day.
const PART: usize = 128;

/// What a worker did on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetLine {
    /// `None`: all jobs that were reserved without a name.
    pub worker: Option<Name>,
    pub counts: SheetCounts,
}

impl Sheets {
    /// The lines of a day, by worker; of one worker if it is named.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn day(&self, queue: &QueueName, day: Day, worker: Option<&Name>) -> Result<Vec<SheetLine>, Fault> {
        let mut all = SheetLines::new();
        let shards: Vec<_> = match worker {
            Some(worker) => vec![Shard::of(worker.as_str())],
            None => ShardSet::shards_in(&self.read(queue, &[ShardSet::field(day)]).await?),
        };
        for part in shards.chunks(PART) {
            let names: Vec<_> = part.iter().map(|shard| shard.field(day)).collect();
            for stored in self.read(queue, &names).await? {
                all.extend(read_lines(&stored)?);
            }
        }
        let is_asked = |name: &str| worker.is_none_or(|worker| worker.as_str() == name);
        let lines = all.into_iter().filter(|(name, _)| is_asked(name));
        Ok(lines.map(|(name, counts)| SheetLine { worker: Name::parse(&name).ok(), counts }).collect())
    }

    async fn read(&self, queue: &QueueName, names: &[String]) -> Result<Vec<Vec<u8>>, Fault> {
        Ok(self.queues.sheets(queue, names).await?.map(|(_, fields)| fields).unwrap_or_default())
    }
}
