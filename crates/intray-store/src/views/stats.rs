//! Queues with their counts, settings and totals.

use intray_redis::{Applied, Args, Fault};
use serde::{Serialize, Serializer};

use crate::job::{
    InternalTotal, Millis, QueueName, Total,
    settings::{Settings, SettingsPatch},
};
use crate::{
    handle::Queues,
    layout::{
        action::Actor,
        batch::StateCounts,
        settings::{Changed, read_settings},
    },
    redis::read::Fields,
};

/// A queue.
#[derive(Debug, Serialize)]
pub struct QueueInfo {
    pub name: QueueName,
    pub counts: StateCounts,
    /// Age of the oldest of the jobs that are first in line, one per priority.
    pub oldest_waiting_ms: Option<u64>,
    pub reservations: ReservationCounts,
    pub settings: Settings,
    pub totals: Totals,
}

/// What became of a change of settings.
#[derive(Debug)]
pub enum Configured {
    Done {
        info: Box<QueueInfo>,
        /// This call has made the queue.
        created: bool,
    },
    /// There is no such queue, and none was to be made.
    Unknown,
    /// The limit of queues is reached.
    TooManyQueues,
}

#[derive(Debug, Serialize)]
pub struct ReservationCounts {
    pub live: u64,
    pub overdue: u64,
    pub soonest_expires_in_ms: Option<u64>,
}

/// The totals of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals([u64; Total::ALL.len()]);

impl Totals {
    pub fn of(count: impl FnMut(Total) -> u64) -> Self {
        Self(Total::ALL.map(count))
    }

    pub fn get(&self, total: Total) -> u64 {
        self.0[total as usize]
    }
}

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Total::ALL.into_iter().zip(self.0))
    }
}

/// A page of queues, by name.
#[derive(Debug, Serialize)]
pub struct QueuePage {
    pub queues: Vec<QueueInfo>,
    /// The last queue of the page, if there are more.
    pub next: Option<QueueName>,
    /// Queues whose node is away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<QueueName>,
}

impl Queues {
    /// `None`: there is no such queue.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn queue(&self, queue: &QueueName) -> Result<Option<QueueInfo>, Fault> {
        if self.exists(queue).await? { self.stats(queue).await.map(Some) } else { Ok(None) }
    }

    /// Changes settings and returns the queue. One that is not there is made only if `makes`.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn set(
        &self,
        queue: &QueueName,
        patch: SettingsPatch,
        makes: bool,
        actor: &Actor,
    ) -> Result<Configured, Fault> {
        let created = match self.change_settings(queue, &patch, makes, actor).await? {
            Changed::Set => false,
            Changed::Made => true,
            Changed::Unknown => return Ok(Configured::Unknown),
            Changed::TooManyQueues => return Ok(Configured::TooManyQueues),
        };
        let info = self.stats(queue).await.map_err(|fault| fault.with(Applied::Unknown))?;
        Ok(Configured::Done { info: Box::new(info), created })
    }

    /// Every queue, by name.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn queues(&self) -> Result<QueuePage, Fault> {
        let (queues, unavailable) = self.stats_of(&self.names().await?).await?;
        Ok(QueuePage { queues, next: None, unavailable })
    }

    /// A page of the queues that `sees` allows, by name.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn queue_page(
        &self,
        after: Option<&QueueName>,
        limit: u32,
        sees: impl Fn(&QueueName) -> bool,
    ) -> Result<QueuePage, Fault> {
        let mut names = self.names().await?;
        names.retain(|name| after.is_none_or(|after| name > after) && sees(name));
        let more = names.len() > limit as usize;
        names.truncate(limit as usize);
        let next = names.last().filter(|_| more).cloned();
        let (queues, unavailable) = self.stats_of(&names).await?;
        Ok(QueuePage { queues, next, unavailable })
    }

    async fn stats_of(&self, names: &[QueueName]) -> Result<(Vec<QueueInfo>, Vec<QueueName>), Fault> {
        let (mut all, mut unavailable, mut why) = (Vec::with_capacity(names.len()), Vec::new(), None);
        // In pipelines that are short enough not to delay other calls.
        for some in names.chunks(32) {
            let (there, away) = self.ask_each(some.iter().map(|name| (name, self.stats(name)))).await?;
            all.extend(there.into_iter().map(|(_, info)| info));
            for (queue, fault) in away {
                unavailable.push(queue);
                why = Some(fault);
            }
        }
        match why {
            Some(fault) if all.is_empty() => Err(fault),
            _ => Ok((all, unavailable)),
        }
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueInfo, Fault> {
        let answered = self.run_view("stats", queue, &Args::default()).await?;
        let mut answer = Fields::of(&answered)?;
        let now = answer.time()?;
        let mut counts = StateCounts {
            waiting: answer.count()?,
            blocked: answer.count()?,
            delayed: answer.count()?,
            reserved: answer.count()?,
            dead: answer.count()?,
            ..StateCounts::default()
        };
        let (ended, overdue) = (answer.count()?, answer.count()?);
        let (soonest, oldest) = (answer.maybe()?, answer.maybe()?);
        let settings = read_settings(&answer.list()?.pairs()?)?;
        let totals = answer.list()?.pairs()?;
        let total =
            |name: &str| totals.iter().find(|(n, _)| n == name).and_then(|(_, v)| v.parse().ok()).unwrap_or(0_u64);
        let cancelled = total(InternalTotal::Cancelled.word());
        counts.cancelled = cancelled + total(InternalTotal::BatchCancelled.word());
        counts.completed = ended.saturating_sub(cancelled + total(InternalTotal::Stubs.word()))
            + total(InternalTotal::BatchCompleted.word());
        Ok(QueueInfo {
            name: queue.clone(),
            counts,
            oldest_waiting_ms: oldest.map(|at| now.since(Millis(at))),
            reservations: ReservationCounts {
                live: counts.reserved - overdue.min(counts.reserved),
                overdue,
                soonest_expires_in_ms: soonest.map(|at| Millis(at).since(now)),
            },
            settings,
            totals: Totals::of(|one| total(one.word())),
        })
    }
}
