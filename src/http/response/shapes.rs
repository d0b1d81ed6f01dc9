//! The JSON of answers. Every field is always present; a missing value is `null`.

mod action;
mod batch;
mod event;
mod history;
mod job;
mod memory;
mod queue;
mod sheets;
mod webhooks;
mod workers;

use serde::Serialize;

pub use self::{
    action::ActionPageBody,
    batch::{BatchBody, BatchPageBody, CreatedBatchBody, JudgedBatchBody, JudgedPageBody, ResultPageBody},
    event::{EventBody, JobHistoryBody, QueueNameBody, RecentEventsBody},
    history::HistoryBody,
    job::{EmptyReserveBody, ForgottenBody, HandoutBody, HandoutsBody, JobBody, JobPageBody},
    memory::RedisMemoryBody,
    queue::{
        ConfiguredBody, ForgottenQueueBody, FormBody, HeldJobBody, LockBody, LockPageBody, QueueBody, ReservationBody,
        ReservationsBody, WorkerBody, WorkerPageBody,
    },
    sheets::{ErasedBody, SheetLineBody, SheetsBody},
    webhooks::{DeliveryPageBody, RedeliveredBody, WebhookListBody, WebhookTestedBody},
    workers::{RecentWorkersBody, WorkerSummaryBody, WorkersBody},
};
use crate::{
    access::{Caller, Pattern},
    job::{JobId, Millis, Name, Priority, QueueName, Role, Skill, State},
    payload::Json,
    store::{self, Progress},
};

/// `{}`
#[derive(Serialize)]
pub struct EmptyBody {}

#[derive(Serialize)]
pub struct EnqueuedBody {
    pub id: JobId,
    pub queue: QueueName,
    pub state: State,
    pub duplicate: bool,
    /// The fields in which it differs from the job that it duplicates.
    pub differs: Vec<&'static str>,
    /// No earlier call has stored it.
    #[serde(skip)]
    pub is_new: bool,
}

impl EnqueuedBody {
    pub fn new(id: JobId, state: State) -> Self {
        Self { queue: id.queue.clone(), id, state, duplicate: false, differs: Vec::new(), is_new: true }
    }

    pub fn of_twin(id: JobId, state: State, differs: Vec<&'static str>) -> Self {
        Self { duplicate: true, is_new: false, differs, ..Self::new(id, state) }
    }
}

#[derive(Serialize)]
pub struct CancelledBody {
    pub id: JobId,
    pub state: State,
}

#[derive(Serialize)]
pub struct ChangedBody {
    id: JobId,
    state: State,
    priority: Priority,
    expires_at: Option<Millis>,
    sla_at: Option<Millis>,
    breached: bool,
    #[serde(flatten)]
    eligibility: store::Eligibility,
    unseen: Option<Vec<String>>,
}

impl ChangedBody {
    pub fn new(
        id: JobId,
        state: State,
        priority: Priority,
        route: store::JobRoute,
        unseen: Option<Vec<String>>,
    ) -> Self {
        let store::JobRoute { expires_at, sla_at, breached, .. } = route;
        Self { id, state, priority, expires_at, sla_at, breached, eligibility: route.into(), unseen }
    }
}

#[derive(Serialize)]
pub struct ExtendedBody {
    pub id: JobId,
    pub state: State,
    pub expires_in_ms: u64,
    pub server_time: Millis,
}

#[derive(Serialize)]
pub struct CompletedBody {
    pub id: JobId,
    pub state: State,
    pub duplicate: bool,
    pub late: bool,
    #[serde(rename = "final")]
    pub is_final: bool,
    /// How long it can still be taken back.
    pub final_in_ms: Option<u64>,
}

/// A job whose completion was taken back.
#[derive(Serialize)]
pub struct UndoneBody {
    pub id: JobId,
    pub state: State,
    pub duplicate: bool,
    pub expires_in_ms: u64,
    pub server_time: Millis,
    pub resumes: u32,
    pub draft: Option<Json>,
}

#[derive(Serialize)]
pub struct ReturnedBody {
    pub id: JobId,
    pub state: State,
    pub duplicate: bool,
}

/// The caller, as this service knows it.
#[derive(Serialize)]
pub struct MeBody<'a> {
    role: Role,
    name: Option<&'a str>,
    worker: Option<&'a Name>,
    queues: Vec<&'a str>,
    job: Option<&'a JobId>,
    skills: Vec<Skill>,
    until: Option<Millis>,
}

impl<'a> MeBody<'a> {
    pub fn new(caller: &'a Caller) -> Self {
        Self {
            role: caller.role,
            name: caller.key_name(),
            worker: caller.worker.as_ref(),
            queues: caller.patterns().iter().map(Pattern::as_str).collect(),
            job: caller.job.as_ref(),
            skills: caller.skills(None),
            until: caller.until.map(|until| until.instant()),
        }
    }
}

/// The queues that the caller may work in.
#[derive(Serialize)]
pub struct PersonalQueuesBody {
    pub queues: Vec<store::PersonalQueue>,
}

#[derive(Serialize)]
pub struct TokenBody {
    pub token: String,
    pub expires_at: Millis,
}

#[derive(Serialize)]
pub struct RequeuedBody {
    pub requeued: u64,
    pub more: bool,
    pub next: Option<Progress>,
}

#[derive(Serialize)]
pub struct ReprioritizedAllBody {
    pub changed: u64,
    pub more: bool,
    pub next: Option<Progress>,
}

#[derive(Serialize)]
pub struct ReassignedBody {
    pub changed: u64,
    pub refused: u64,
    /// `None`: it could not be read.
    pub unseen: Option<Vec<String>>,
    pub more: bool,
    pub next: Option<Progress>,
}

#[derive(Serialize)]
pub struct PurgedBody {
    pub removed: u64,
    pub more: bool,
    pub next: Option<Progress>,
}
