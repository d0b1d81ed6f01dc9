//! The lines of a day, and who has lines.

use std::{collections::BTreeSet, slice};

use super::Sheets;
use crate::{
    job::{Day, Name, QueueName, SheetCounts, limits},
    store::{Fault, Shard, ShardSet, SheetHead, SheetLines, read_lines},
};

/// Fields of one call: an answer has a part of a day.
const PART: usize = 128;
/// Days that are looked through for workers, and fields of them.
const RECENT_DAYS: usize = 14;
const RECENT_FIELDS: usize = 1_024;

/// What a worker did on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetLine {
    /// `None`: all jobs that were reserved without a name.
    pub worker: Option<Name>,
    pub counts: SheetCounts,
}

/// What a worker did on each day.
pub type WorkerDays = Vec<(Day, SheetLine)>;

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

    /// The workers in the sheets of the last 14 days that have lines, from the newest day on, as far as a bounded read comes.
    ///
    /// # Errors
    /// When Redis is not well.
    pub(super) async fn recent_names(&self, queue: &QueueName) -> Result<BTreeSet<Name>, Fault> {
        let days: Vec<_> = self.kept_days(queue).await?.into_iter().rev().take(RECENT_DAYS).collect();
        let names: Vec<_> = days.iter().map(|day| ShardSet::field(*day)).collect();
        let sets = self.read(queue, &names).await?;
        let of_day = |(day, set): (&Day, &Vec<u8>)| {
            let day = *day;
            ShardSet::shards_in(slice::from_ref(set)).into_iter().map(move |shard| shard.field(day))
        };
        let fields: Vec<_> = days.iter().zip(&sets).flat_map(of_day).take(RECENT_FIELDS).collect();
        let mut found = BTreeSet::new();
        for part in fields.chunks(PART) {
            for stored in self.read(queue, part).await? {
                found.extend(read_lines(&stored)?.into_keys().filter_map(|name| Name::parse(&name).ok()));
            }
        }
        Ok(found)
    }

    /// What a worker did on the last days with lines of some queues, by queue, the newest day first, as far as it is counted. A queue whose
    /// node is away is left out.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn of_worker(&self, queues: &[QueueName], worker: &Name) -> Result<Vec<(QueueName, WorkerDays)>, Fault> {
        let asked = queues.iter().map(|queue| (queue, self.days_of(queue, worker)));
        Ok(self.queues.ask_each(asked).await?.0)
    }

    async fn days_of(&self, queue: &QueueName, worker: &Name) -> Result<WorkerDays, Fault> {
        let days: Vec<_> = self.kept_days(queue).await?.into_iter().rev().take(limits::SUMMARY_DAYS).collect();
        let fields: Vec<_> = days.iter().map(|day| Shard::of(worker.as_str()).field(*day)).collect();
        let mut found = WorkerDays::new();
        for (day, stored) in days.into_iter().zip(self.read(queue, &fields).await?) {
            let counts = read_lines(&stored)?.remove(worker.as_str());
            found.extend(counts.map(|counts| (day, SheetLine { worker: Some(worker.clone()), counts })));
        }
        Ok(found)
    }

    async fn kept_days(&self, queue: &QueueName) -> Result<Vec<Day>, Fault> {
        let stored = self.read(queue, &[SheetHead::FIELD.to_owned()]).await?;
        let head = stored.iter().find(|head| !head.is_empty()).map(|head| SheetHead::read(head)).transpose()?;
        Ok(head.map(|head| head.days).unwrap_or_default())
    }

    async fn read(&self, queue: &QueueName, names: &[String]) -> Result<Vec<Vec<u8>>, Fault> {
        Ok(self.queues.sheets(queue, names).await?.map(|(_, fields)| fields).unwrap_or_default())
    }
}
