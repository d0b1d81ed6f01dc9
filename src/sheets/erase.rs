//! Removes days that are too old, and the lines of a worker.

use super::{SheetBook, Sheets};
use crate::{
    job::{Day, Millis, Name, QueueName},
    store::{Applied, Fault, Shard, ShardSet, SheetChange, SheetHead, SheetState, TallyCursor, pack_lines, read_lines},
};

/// Queues read in one pipeline: few enough not to delay other calls.
const MAX_PIPELINED: usize = 32;

/// What became of a worker's sheets.
#[derive(Debug, PartialEq, Eq)]
pub enum ForgetOutcome {
    /// So many lines were removed.
    Removed(u64),
    /// The worker holds a job in this queue: nothing was removed.
    Holds(QueueName),
}

impl Sheets {
    /// Removes the days that are over for longer than the queue keeps them.
    pub(super) async fn remove_old(&self, queue: &QueueName, book: &SheetBook) -> Result<(), Fault> {
        let (today, kept) = (book.today(), i64::from(book.state.days));
        let is_old = |day: &Day| today.since(*day) >= kept;
        let (mut state, mut head) = (book.state.clone(), book.head.clone());
        for day in book.head.days.iter().copied().filter(is_old) {
            let set = ShardSet::field(day);
            let Some(stored) = self.fields_at(queue, state.cursor, std::slice::from_ref(&set)).await? else {
                return Ok(());
            };
            let shards = ShardSet::shards_in(&stored).into_iter();
            let mut fields: Vec<_> = shards.map(|shard| (shard.field(day), Vec::new())).collect();
            fields.push((set, Vec::new()));
            head.days.retain(|kept| *kept != day);
            head.gaps.retain(|gap| !is_old(&state.zone.day_of(Millis(gap.until_ms))));
            fields.push((SheetHead::FIELD.to_owned(), head.bytes()));
            // Another instance does the rest, or the next visit.
            let Some(cursor) = self.erase(queue, &state, fields).await? else { return Ok(()) };
            state.cursor = cursor;
        }
        Ok(())
    }

    /// Removes the lines of a worker in some queues, unless they hold a job in one of them.
    ///
    /// # Errors
    /// When Redis is not well. Queues before the fault keep the effect, so the call may be repeated.
    pub async fn forget(&self, queues: &[QueueName], worker: &Name) -> Result<ForgetOutcome, Fault> {
        for some in queues.chunks(MAX_PIPELINED) {
            let (held, _, away) = self.queues.reservations(some, worker).await?;
            if let Some(held) = held.first() {
                return Ok(ForgetOutcome::Holds(held.id.queue.clone()));
            }
            if !away.is_empty() {
                return Err(Fault::late(Applied::No));
            }
        }
        let mut removed = 0;
        for some in queues.chunks(MAX_PIPELINED) {
            let forgetting = some.iter().map(|queue| self.forget_in(queue, worker));
            removed += futures_util::future::try_join_all(forgetting).await?.iter().sum::<u64>();
        }
        Ok(ForgetOutcome::Removed(removed))
    }

    /// The events so far are counted before, so that they do not bring a line back.
    async fn forget_in(&self, queue: &QueueName, worker: &Name) -> Result<u64, Fault> {
        loop {
            let Some(book) = self.open(queue).await? else { return Ok(0) };
            let shard = Shard::of(worker.as_str());
            let names: Vec<_> = book.head.days.iter().map(|day| shard.field(*day)).collect();
            let Some(stored) = self.fields_at(queue, book.state.cursor, &names).await? else { continue };
            let mut fields = Vec::new();
            for (name, stored) in names.into_iter().zip(&stored) {
                let mut lines = read_lines(stored)?;
                if lines.remove(worker.as_str()).is_some() {
                    fields.push((name, pack_lines(&lines)));
                }
            }
            let removed = fields.len() as u64;
            if removed == 0 || self.erase(queue, &book.state, fields).await?.is_some() {
                return Ok(removed);
            }
        }
    }

    /// Returns the cursor behind the change; `None` if another instance has changed something.
    async fn erase(
        &self,
        queue: &QueueName,
        state: &SheetState,
        fields: Vec<(String, Vec<u8>)>,
    ) -> Result<Option<TallyCursor>, Fault> {
        let reached = TallyCursor { version: state.cursor.version + 1, ..state.cursor };
        let change = SheetChange { read: state.cursor.to_string(), reached: reached.to_string(), fields };
        Ok(self.queues.erase(queue, &change).await?.then_some(reached))
    }
}
