//! The limit of queues. The last free places are kept for owners with few queues, and a purged queue frees its place.

use std::{
    collections::HashMap,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use intray_redis::{Fault, parse_reply};

use super::{Registration, Registry, names_in};
use crate::{job::QueueName, redis::read::Fields, shares};

/// How long a count by owner is valid while the total stays the same.
const COUNTED_FOR: Duration = Duration::from_millis(250);

/// Finds the owner of a queue by its name.
pub trait Owners: Send + Sync {
    /// `None`: the queue has no owner of its own.
    fn owner(&self, queue: &QueueName) -> Option<usize>;
}

/// The number of queues by owner, at a total of `all`.
pub(super) struct OwnerCounts {
    all: u64,
    at: Instant,
    by_owner: HashMap<Option<usize>, usize>,
}

impl Registry {
    /// Registers a queue, which may be new.
    pub(super) async fn register_within_limit(&self, queue: &QueueName) -> Result<Registration, Fault> {
        let (max, queues) = (self.max_queues.load(Ordering::Relaxed), std::slice::from_ref(queue));
        let owner = self.owners.get().filter(|_| max > 0).and_then(|owners| owners.owner(queue));
        let Some(owner) = owner else { return self.register_if_available(queues, max).await };
        let common = shares::common(max as usize) as u32;
        if common > 0 {
            let registration = self.register_if_available(queues, common).await?;
            if !registration.is_refused() {
                return Ok(registration);
            }
        }
        let is_small = shares::is_small(self.owned(owner).await?, max as usize);
        if is_small { self.register_if_available(queues, max).await } else { Ok(Registration::Refused) }
    }

    /// How many queues an owner has. The count is renewed when the total changes or a moment has passed.
    async fn owned(&self, owner: usize) -> Result<usize, Fault> {
        let registry = self.runner.keys.registry();
        let all: u64 = parse_reply(self.runner.plain(redis::cmd("ZCOUNT").arg(&registry).arg(0).arg("+inf")).await?)?;
        let counted = || self.counted.lock();
        if let Some(counted) = counted().as_ref().filter(|last| last.all == all && last.at.elapsed() < COUNTED_FOR) {
            return Ok(counted.by_owner.get(&Some(owner)).copied().unwrap_or(0));
        }
        let reply = self.runner.plain(redis::cmd("ZRANGEBYSCORE").arg(&registry).arg(0).arg("+inf")).await?;
        let names = names_in(Fields::of(&reply)?)?;
        let mut by_owner = HashMap::new();
        for name in &names {
            *by_owner.entry(self.owners.get().and_then(|owners| owners.owner(name))).or_default() += 1;
        }
        let own = by_owner.get(&Some(owner)).copied().unwrap_or(0);
        *counted() = Some(OwnerCounts { all, at: Instant::now(), by_owner });
        Ok(own)
    }

    /// Frees the place of a purged queue at once, if it has neither jobs nor settings left. Its totals and events are kept as
    /// long as those of any unused queue.
    pub(crate) async fn vacate(&self, queue: &QueueName) -> Result<(), Fault> {
        if !self
            .has_any_key(queue, &["inbound", "restricted", "reserved", "delayed", "dead", "parked", "settings"])
            .await?
        {
            self.ask_unseen("vacate", queue.as_str()).await?;
            self.registered.lock().remove(queue);
        }
        Ok(())
    }
}
