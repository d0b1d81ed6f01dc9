//! Held locks. A lock is held exactly as long as the reservation of its job.

use intray_redis::{Args, Fault};

use crate::job::{LockName, Millis, QueueName, limits};
use crate::{
    handle::Queues,
    layout::cursor::Cursor,
    redis::read::{Fields, broken},
    views::inspect::{Held, read_held},
};

#[derive(Debug)]
pub struct HeldLock {
    pub lock: LockName,
    pub held: Held,
    /// Jobs that wait for the lock.
    pub blocked: u64,
}

#[derive(Debug)]
pub struct LockPage {
    /// By deadline.
    pub locks: Vec<HeldLock>,
    pub next: Option<Cursor>,
    pub now: Millis,
}

impl Queues {
    /// A page of the held locks, or one lock. All locks of a job are on the same page.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn locks(
        &self,
        queue: &QueueName,
        lock: Option<LockName>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<LockPage, Fault> {
        let mut page = LockPage { locks: Vec::new(), next: after, now: Millis(0) };
        for _ in 0..limits::PAGE_SCRIPTS {
            let (score, code) = page.next.as_ref().and_then(Cursor::place).unwrap_or_default();
            let left = u64::from(limit).saturating_sub(page.locks.len() as u64);
            let mut args = Args::default();
            args.push(lock.as_ref().map_or("", LockName::as_str)).number(left).push(score).push(code);
            let answered = self.run_view("locks", queue, &args).await?;
            let mut answer = Fields::of(&answered)?;
            page.now = answer.time()?;
            page.next = Cursor::after(&answer.text()?, &answer.bytes()?);
            for fields in answer.lists() {
                page.locks.push(read_lock(queue, fields?)?);
            }
            if page.next.is_none() || page.locks.len() >= limit as usize {
                break;
            }
        }
        Ok(page)
    }
}

fn read_lock(queue: &QueueName, mut fields: Fields<'_>) -> Result<HeldLock, Fault> {
    let lock = LockName::parse(&fields.text()?).map_err(|_| broken("a lock"))?;
    let held = read_held(queue, &mut fields)?;
    Ok(HeldLock { lock, held, blocked: fields.count()? })
}
