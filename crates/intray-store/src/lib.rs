//! The store: a cheap handle with one method per transition. It speaks Redis and no HTTP.
//!
//! An outcome is not an error: each method returns what became of the job, and [`Fault`] means that Redis does not work. Each
//! transition has a file here and one in `lua/`.

mod availability;
mod batcher;
mod completion;
/// The metrics by queue.
pub mod figures;
mod forms;
mod handle;
mod keys;
mod layout;
/// JSON that is stored without being parsed into values.
mod notices;
pub mod payload;
mod personal;
mod record_fields;
mod redis;
mod registry;
mod reservation;
mod retention;
mod runner;
mod scan_cursors;
mod script;
mod several;
#[cfg(test)]
mod tests;
mod transition;
mod transitions;
mod upkeep;
mod views;
mod webhooks;

pub use completion::{Complete, Completion, UNCHECKED};
pub use handle::{FORM_LOST, Queues};
pub use intray_redis::{
    Applied, Certificates, DiskShortage, Durability, Fault, HostPort, Login, SentinelSettings, Server, Servers,
    Shortage, SyncRequests, Timeouts, UNCONFIRMED, UNSYNCED, UNWRITABLE,
};
pub use layout::{
    action::{ActionEntry, ActionNote, Actor, SettingChange},
    batch::{Batch, StateCounts},
    cursor::Cursor,
    delivery::{DeliveryHead, DeliveryId},
    eligibility::Eligibility,
    ended::{AbandonReason, Completed, Death},
    member::NewMember,
    moment::{Delay, Moment},
    progress::{JobSelection, Progress},
    route::{JobRoute, TimeError, TimeLimits, TimeLimitsPatch},
    routing::{HandedTo, Routing, RoutingPatch},
    sheet::{Shard, ShardSet, SheetGap, SheetHead, SheetLines, pack_lines, read_lines},
    task::Task,
};
pub use personal::{LEFT_PLACES, LeftPlace, NAME_PLACES, NamePlace};
pub use redis::{
    gate_mark::{GateMark, OpenedGates},
    hints::{Hint, Wanted},
    move_marker::reason_without_place,
};
pub use registry::Owners;
pub use reservation::{Lost, Return};
pub use transitions::*;
pub use upkeep::{
    check::Check,
    migrate::{LayoutError, LayoutStep, Migration, STEPS},
    moving::Moved,
    rights::{DEFAULT_USER, needed_rights},
    servers::ServerMemory,
    slots::OF_QUEUES,
};
pub use views::{
    actions::ActionPage,
    batches::{BatchPage, MemberResult, ResultPage},
    contents::JobContent,
    deadlines::{DeadlinePage, HeldUntil},
    deliveries::{Delivery, DeliveryPage},
    eligible::Eligible,
    events::{Event, EventLimit, EventPage, GivenBack, Position, Subject},
    form::FormText,
    inspect::{Cancelled, HandoutCounts, Held, HeldPage, Job, JobError, LateResult},
    job_history::JobHistory,
    lines::LineCount,
    list::{Forgotten, JobFilter, JobPage, Mine},
    locks::{HeldLock, LockPage},
    opinions::{JudgedBatch, JudgedPage, Opinion, OpinionFilter, Opinions},
    outbox::OutboxState,
    personal::PersonalQueue,
    queue_history::{HistoryStep, QueueHistory, Span},
    recent::Recent,
    recent_workers::RecentWorkers,
    sheets::{SheetFields, SheetState, TallyCursor},
    stats::{Configured, QueueInfo, QueuePage, ReservationCounts, Totals},
    worker_summary::WorkerSummary,
};

pub use webhooks::KnownWebhook;

use intray_base::{sha256, shares};
use intray_job as job;

use crate::job::limits::REDIS_TIMEOUT_DEFAULT_MS;

pub use crate::job::ids::{Nonce, derived_batch, derived_id, random_batch, random_id};
pub use crate::job::{
    Reason,
    settings::{Settings, SettingsPatch},
};

impl Queues {
    /// A handle on the queues at a Redis URL (`redis://…`, `unix://…` or `redis+cluster://…`), under a key prefix. It connects
    /// on first use.
    ///
    /// # Errors
    /// When the URL is invalid.
    pub fn new(url: &str, prefix: &str) -> Result<Self, ::redis::RedisError> {
        Ok(Self::on(
            Servers::at(url, Certificates::default())?,
            Timeouts::of_response(REDIS_TIMEOUT_DEFAULT_MS),
            prefix,
            None,
            Durability::Async,
        ))
    }

    /// The same on these servers. `disk` is that of a private server: calls then wait until their write to its append-only
    /// file is complete.
    pub fn on(
        servers: Servers,
        timeouts: Timeouts,
        prefix: &str,
        disk: Option<DiskShortage>,
        durability: Durability,
    ) -> Self {
        Self::open((servers, timeouts, disk, durability), prefix, transitions::sweep::turn)
    }
}
