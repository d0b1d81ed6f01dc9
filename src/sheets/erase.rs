//! Removes days that are too old, and the lines of a worker.

use std::time::Duration;

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
    /// The number of lines that were removed.
    Removed(u64),
    /// The worker holds a job in this queue: nothing was removed there, and in no later queue.
    Holds(QueueName),
    /// The same for a job that they have completed and can undo for this long.
    Closing(QueueName, Duration),
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
            let Some(cursor) = self.erase(queue, &state, None, fields).await? else { return Ok(()) };
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
            if let Some(busy) = self.busy(some, worker).await? {
                return Ok(busy);
            }
        }
        let mut removed = 0;
        for some in queues.chunks(MAX_PIPELINED) {
            let forgetting = some.iter().map(|queue| self.forget_in(queue, worker));
            for outcome in futures_util::future::try_join_all(forgetting).await? {
                match outcome {
                    ForgetOutcome::Removed(count) => removed += count,
                    busy @ (ForgetOutcome::Holds(_) | ForgetOutcome::Closing(..)) => return Ok(busy),
                }
            }
        }
        Ok(ForgetOutcome::Removed(removed))
    }

    /// A job that the worker holds, or may hold again.
    async fn busy(&self, queues: &[QueueName], worker: &Name) -> Result<Option<ForgetOutcome>, Fault> {
        let (held, _, away) = self.queues.reservations(queues, worker).await?;
        if let Some(held) = held.first() {
            return Ok(Some(ForgetOutcome::Holds(held.id.queue.clone())));
        }
        if !away.is_empty() {
            return Err(Fault::late(Applied::No));
        }
        let closing = queues.iter().map(|queue| self.queues.closing_of(queue, worker));
        let closing = futures_util::future::try_join_all(closing).await?;
        let found = queues.iter().zip(closing).find_map(|(queue, left)| Some((queue.clone(), left?)));
        Ok(found.map(|(queue, left)| ForgetOutcome::Closing(queue, left)))
    }

    /// The events so far are counted before, so that they do not bring a line back. What the worker does meanwhile is an event that the
    /// script finds, and then all is looked at again.
    async fn forget_in(&self, queue: &QueueName, worker: &Name) -> Result<ForgetOutcome, Fault> {
        loop {
            let Some(book) = self.open(queue).await? else { return Ok(ForgetOutcome::Removed(0)) };
            if let Some(busy) = self.busy(std::slice::from_ref(queue), worker).await? {
                return Ok(busy);
            }
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
            // What is not counted would bring a line back, or make the first: the script looks for the worker in it.
            let is_counted = book.incomplete.is_none();
            if removed == 0 && is_counted || self.erase(queue, &book.state, Some(worker), fields).await?.is_some() {
                return Ok(ForgetOutcome::Removed(removed));
            }
            if let Some(fault) = book.incomplete {
                return Err(fault);
            }
        }
    }

    /// Returns the cursor after the change; `None` if another instance has changed something.
    async fn erase(
        &self,
        queue: &QueueName,
        state: &SheetState,
        worker: Option<&Name>,
        fields: Vec<(String, Vec<u8>)>,
    ) -> Result<Option<TallyCursor>, Fault> {
        let reached = TallyCursor { version: state.cursor.version + 1, ..state.cursor };
        let change = SheetChange { read: state.cursor.to_string(), reached: reached.to_string(), fields };
        Ok(self.queues.erase(queue, worker, &change).await?.then_some(reached))
    }
}
