//! Copies one key of a queue: writes the entries that are missing or different at the target. Once the queue is closed, each
//! entry is read at both places and compared.

use std::collections::BTreeSet;

use super::{
    Moving,
    halt::Halt,
    page::{self, Entry, Pages, ValueKind, later, look_up},
    tally::{Tally, digest},
};
use crate::job::QueueName;

/// A key at both places.
pub(super) struct Way<'k> {
    pub(super) queue: &'k QueueName,
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
    pub(super) from: String,
    pub(super) to: String,
    /// Milliseconds that are added to each score at the target.
    pub(super) shift: i64,
    /// The queue is closed: the key is compared, and entries that the source no longer has are removed from the target.
    pub(super) is_last: bool,
    /// The copy needs more memory at the target.
    pub(super) grows: bool,
}

impl Moving<'_> {
    pub(super) async fn carry(&self, way: &Way<'_>) -> Result<Tally, Halt> {
        let mut tally = Tally::default();
        let mut pages = Pages::of(self.source.queues, &way.from, way.kind);
        let mut page = pages.next().await.map_err(Halt::Source)?;
        while let Some(mut entries) = page {
            if way.shift != 0 {
                entries.iter_mut().for_each(|(_, score)| *score = later(score, way.shift));
            }
            // The source reads the next page while the target checks this one.
            let (next, carried) = tokio::join!(pages.next(), self.carry_page(way, &entries));
            tally.add(carried?);
            page = next.map_err(Halt::Source)?;
        }
        if way.is_last {
            self.drop_strays(way).await?;
        }
        Ok(tally)
    }

    async fn carry_page(&self, way: &Way<'_>, entries: &[Entry]) -> Result<Tally, Halt> {
        let mut found = self.found(way, entries.iter()).await?;
        let differs = |(_, (entry, found)): &(usize, (&Entry, &Option<Vec<u8>>))| Some(&entry.1) != found.as_ref();
        let wrong: Vec<_> = entries.iter().zip(&found).enumerate().filter(differs).map(|(nth, _)| nth).collect();
        let lacking: Vec<&Entry> = wrong.iter().map(|nth| &entries[*nth]).collect();
        let write = (!lacking.is_empty()).then(|| page::write(way.kind, &lacking));
        self.target.lay(way.queue, &way.to, write.as_slice(), way.grows).await?;
        let mut tally = Tally { entries: entries.len() as u64, written: lacking.len() as u64, ..Tally::default() };
        if way.is_last {
            for (nth, now) in wrong.iter().zip(self.found(way, lacking.into_iter()).await?) {
                found[*nth] = now;
            }
            tally.digest = way.compare(entries, &found)?;
        }
        Ok(tally)
    }

    async fn found<'e>(
        &self,
        way: &Way<'_>,
        entries: impl Iterator<Item = &'e Entry>,
    ) -> Result<Vec<Option<Vec<u8>>>, Halt> {
        let names: Vec<_> = entries.map(|(name, _)| name.as_slice()).collect();
        look_up(self.target.queues, &way.to, way.kind, &names).await.map_err(Halt::Target)
    }

    /// Removes entries from the target that the source no longer has. Both are equal when they have the same size.
    async fn drop_strays(&self, way: &Way<'_>) -> Result<(), Halt> {
        let here = page::size(self.source.queues, &way.from, way.kind).await.map_err(Halt::Source)?;
        let size = async || page::size(self.target.queues, &way.to, way.kind).await.map_err(Halt::Target);
        if size().await? > here {
            let mut pages = Pages::of(self.target.queues, &way.to, way.kind);
            while let Some(entries) = pages.next().await.map_err(Halt::Target)? {
                self.drop_of(way, &entries).await?;
            }
        }
        if size().await? == here { Ok(()) } else { Err(way.differs()) }
    }

    async fn drop_of(&self, way: &Way<'_>, entries: &[Entry]) -> Result<(), Halt> {
        let names: Vec<_> = entries.iter().map(|(name, _)| name.as_slice()).collect();
        let kept = look_up(self.source.queues, &way.from, way.kind, &names).await.map_err(Halt::Source)?;
        let gone = names.iter().zip(kept).filter(|(_, kept)| kept.is_none()).map(|(name, _)| name.to_vec());
        let gone: BTreeSet<_> = gone.collect();
        let remove = (!gone.is_empty()).then(|| page::remove(way.kind, gone));
        self.target.lay(way.queue, &way.to, remove.as_slice(), false).await
    }
}

impl Way<'_> {
    /// Compares entries with those found at the target, and returns their digest.
    fn compare(&self, entries: &[Entry], found: &[Option<Vec<u8>>]) -> Result<u64, Halt> {
        let mut sum = 0_u64;
        for ((name, value), found) in entries.iter().zip(found) {
            let found = found.as_ref().filter(|found| *found == value).ok_or_else(|| self.differs())?;
            sum = sum.wrapping_add(digest(self.name, [name.as_slice(), found]));
        }
        Ok(sum)
    }

    pub(super) fn differs(&self) -> Halt {
        Halt::Refused(format!("{} of {} is not the same at both places", self.name, self.queue))
    }
}
