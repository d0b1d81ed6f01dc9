//! Removes days that are too old, and a worker's name: the lines first, then all else that a queue keeps.

use std::time::Duration;

use super::{SheetBook, Sheets};
use crate::{
    job::{Day, Millis, Name, QueueName},
    store::{
        Applied, Fault, Shard, ShardSet, SheetChange, SheetHead, SheetState, TallyCursor, UnnameFrom, pack_lines,
        read_lines,
    },
};

/// Queues read in one pipeline: few enough not to delay other calls.
const MAX_PIPELINED: usize = 32;

/// Steps of one call, each of up to a hundred jobs.
const MAX_STEPS: u32 = 200;

/// What a call has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErasedName {
    /// Lines of day sheets.
    pub lines: u64,
    pub jobs: u64,
    /// What webhooks have still to be sent.
    pub deliveries: u64,
    /// The same call goes on.
    pub more: bool,
}

/// What became of a worker's name.
#[derive(Debug, PartialEq, Eq)]
pub enum ForgetOutcome {
    Erased(ErasedName),
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

    /// Takes the name of a worker out of some queues, unless they hold a job in one of them, in bounded steps: the same call goes on in the
    /// queue in which the one before has stopped. `seen`: the patterns of the queues that the caller may see, because another caller's call
    /// may have looked at others.
    ///
    /// # Errors
    /// When Redis is not well. Queues before the fault keep the effect, so the call may be repeated.
    pub async fn forget(&self, queues: &[QueueName], worker: &Name, seen: &str) -> Result<ForgetOutcome, Fault> {
        for some in queues.chunks(MAX_PIPELINED) {
            if let Some(busy) = self.busy(some, worker).await? {
                return Ok(busy);
            }
        }
        let stopped_at = self.stopped_at(queues, worker, seen).await?;
        let (mut erased, mut steps) = (ErasedName::default(), 0);
        for (n, queue) in queues.iter().enumerate().skip(stopped_at.unwrap_or(0)) {
            if steps >= MAX_STEPS {
                erased.more = true;
                self.queues.unname(queue, worker, seen, UnnameFrom::Announce).await?;
                break;
            }
            match self.remove_lines(queue, worker).await? {
                Ok(lines) => erased.lines += lines,
                Err(busy) => return Ok(busy),
            }
            let from = if stopped_at == Some(n) { UnnameFrom::Continue } else { UnnameFrom::Begin };
            self.unname(queue, (worker, seen), from, &mut steps, &mut erased).await?;
            if erased.more {
                break;
            }
        }
        Ok(ForgetOutcome::Erased(erased))
    }

    /// The first queue in which a call has stopped before its end.
    async fn stopped_at(&self, queues: &[QueueName], worker: &Name, seen: &str) -> Result<Option<usize>, Fault> {
        for (n, some) in queues.chunks(MAX_PIPELINED).enumerate() {
            let asked = some.iter().map(|queue| self.queues.is_erasing(queue, worker, seen));
            let answers = futures_util::future::try_join_all(asked).await?;
            if let Some(at) = answers.into_iter().position(|is_erasing| is_erasing) {
                return Ok(Some(n * MAX_PIPELINED + at));
            }
        }
        Ok(None)
    }

    /// Takes the name out of a queue, as far as the steps of the call suffice. Events that no reader waits for go at once.
    async fn unname(
        &self,
        queue: &QueueName,
        (worker, seen): (&Name, &str),
        mut from: UnnameFrom,
        steps: &mut u32,
        erased: &mut ErasedName,
    ) -> Result<(), Fault> {
        loop {
            let step = self.queues.unname(queue, worker, seen, from).await?;
            *steps += 1;
            erased.jobs += step.jobs;
            erased.deliveries += step.deliveries;
            if !step.more {
                break;
            }
            if *steps >= MAX_STEPS {
                erased.more = true;
                return Ok(());
            }
            from = UnnameFrom::Continue;
        }
        self.queues.begin_expunge(queue, worker).await
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
    async fn remove_lines(&self, queue: &QueueName, worker: &Name) -> Result<Result<u64, ForgetOutcome>, Fault> {
        loop {
            let Some(book) = self.open(queue).await? else { return Ok(Ok(0)) };
            if let Some(busy) = self.busy(std::slice::from_ref(queue), worker).await? {
                return Ok(Err(busy));
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
                return Ok(Ok(removed));
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
