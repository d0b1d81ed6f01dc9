//! The reserved jobs of all queues, by deadline.

use std::time::Duration;

use intray_redis::{Args, Fault};

use crate::job::{Invalid, JobId, Millis, Name, QueueName, limits};
use crate::{
    handle::Queues,
    layout::cursor::Cursor,
    redis::read::Fields,
    views::inspect::{Held, read_held},
};

/// Queues read in one pipeline: few enough not to delay other calls.
const MAX_PIPELINED: usize = 32;
/// How long a completion can be undone.
const LONGEST_UNDO_MS: u64 = *limits::UNDO_MS.end() as u64;

/// Where a page ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldUntil {
    deadline: u64,
    id: JobId,
}

#[derive(Debug)]
pub struct DeadlinePage {
    pub held: Vec<Held>,
    pub next: Option<Cursor>,
    /// `None`: no queue was read.
    pub now: Option<Millis>,
    /// Queues whose node is away.
    pub unavailable: Vec<QueueName>,
}

impl HeldUntil {
    /// # Errors
    /// [`Cursor::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let cursor = Cursor::parse(text)?;
        let (deadline, id) = cursor.split().ok_or(Cursor::RULE)?;
        let id = std::str::from_utf8(id).ok().and_then(|id| JobId::parse(id).ok());
        deadline.parse().ok().zip(id).map(|(deadline, id)| Self { deadline, id }).ok_or(Cursor::RULE)
    }

    fn of(held: &Held) -> Self {
        Self { deadline: held.deadline.0, id: held.id.clone() }
    }

    fn cursor(&self) -> Option<Cursor> {
        Cursor::after(&self.deadline.to_string(), self.id.to_string().as_bytes())
    }

    /// Where the list of one queue continues: jobs with the same deadline are in the order of their queues.
    fn in_queue(&self, queue: &QueueName) -> (u64, &str) {
        match queue.cmp(&self.id.queue) {
            std::cmp::Ordering::Less => (self.deadline.saturating_add(1), ""),
            std::cmp::Ordering::Equal => (self.deadline, self.id.code.as_str()),
            std::cmp::Ordering::Greater => (self.deadline, ""),
        }
    }
}

impl Queues {
    /// A page of the reserved jobs in the queues that `sees` allows.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn deadlines(
        &self,
        after: Option<&HeldUntil>,
        limit: u32,
        sees: impl Fn(&QueueName) -> bool,
    ) -> Result<DeadlinePage, Fault> {
        let mut names = self.names().await?;
        names.retain(|name| sees(name));
        let mut page = DeadlinePage { held: Vec::new(), next: None, now: None, unavailable: Vec::new() };
        let (limit, mut why, mut more) = (limit as usize, None, false);
        for some in names.chunks(MAX_PIPELINED) {
            let asked = some.iter().map(|queue| (queue, self.deadlines_of(queue, after, limit)));
            let (there, away) = self.ask_each(asked).await?;
            for (_, (now, held)) in there {
                page.now = page.now.max(Some(now));
                page.held.extend(held);
            }
            for (queue, fault) in away {
                page.unavailable.push(queue);
                why = Some(fault);
            }
            page.held.sort_by_cached_key(|held| {
                let (deadline, queue, code) = (held.deadline, held.id.queue.clone(), held.id.code.as_str().to_owned());
                (deadline, queue, code)
            });
            more |= page.held.len() > limit;
            page.held.truncate(limit);
        }
        match why {
            Some(fault) if page.unavailable.len() == names.len() => Err(fault),
            _ => {
                page.next = page.held.last().filter(|_| more).and_then(|last| HeldUntil::of(last).cursor());
                // A job that its worker has completed is over for them.
                page.held.retain(|held| held.final_at.is_none());
                Ok(page)
            }
        }
    }

    /// How long at most the worker can undo a completion in this queue; `None`: there is none.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn closing_of(&self, queue: &QueueName, worker: &Name) -> Result<Option<Duration>, Fault> {
        const PAGE: usize = 200;
        let (mut after, mut found) = (None::<HeldUntil>, None);
        loop {
            let (now, held) = self.deadlines_of(queue, after.as_ref(), PAGE).await?;
            let is_own = |held: &&Held| held.worker.as_ref() == Some(worker);
            let own = held.iter().filter(is_own).filter_map(|held| held.final_at);
            found = found.max(own.map(|at| Duration::from_millis(at.since(now))).max());
            // After these, no completion can be taken back.
            let last = held.last().filter(|last| held.len() > PAGE && last.deadline.since(now) <= LONGEST_UNDO_MS);
            let Some(last) = last else { return Ok(found) };
            after = Some(HeldUntil::of(last));
        }
    }

    /// Reads one more than `limit`, which shows whether there are more.
    async fn deadlines_of(
        &self,
        queue: &QueueName,
        after: Option<&HeldUntil>,
        limit: usize,
    ) -> Result<(Millis, Vec<Held>), Fault> {
        let mut args = Args::default();
        args.number(limit as u64 + 1);
        match after.map(|after| after.in_queue(queue)) {
            Some((deadline, code)) => args.number(deadline).push(code),
            None => args.push("").push(""),
        };
        let answered = self.run_view("deadlines", queue, &args).await?;
        let mut answer = Fields::of(&answered)?;
        let now = answer.time()?;
        let held = answer.lists().map(|held| read_held(queue, &mut held?)).collect::<Result<_, Fault>>()?;
        Ok((now, held))
    }
}
