//! What can happen to the queue. An operation names jobs and reservations by where they stand among those that there are
//! when it runs, so that a sequence with a piece cut out is a sequence still.

mod setting;

use intray::job::{Backoff, State};

pub use self::setting::Setting;

#[derive(Debug, Clone)]
pub enum Op {
    Enqueue(Vec<Item>),
    /// Calls that go out together.
    Reserve(Vec<Ask>),
    /// Somebody who was given jobs turns out to be gone.
    Undo(Nth),
    Extend(Vec<Staying>),
    Complete(Vec<(Handle, usize)>),
    Abandon(Vec<Leaving>),
    Fail(Vec<Handle>),
    Cancel {
        job: Which,
        force: bool,
    },
    ReleaseJob(Which),
    ReleaseWorker(usize),
    RequeueJob(Which),
    RequeueAll,
    Reprioritize {
        job: Which,
        priority: u8,
    },
    Purge(Option<State>),
    /// All of them, the reserved too.
    PurgeByForce,
    Sweep,
    Retire,
    Set(Setting),
    Batch(NewBatch),
    Append(Nth, Append),
    Seal(Nth),
    CancelBatch(Nth),
    Pass(Time),
    Look(Look),
}

/// The n-th of a list whose length is known later: its share of 65,536.
#[derive(Clone, Copy)]
pub struct Nth(pub u16);

impl std::fmt::Debug for Nth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.4}", f64::from(self.0) / 65_536.0)
    }
}

impl Nth {
    pub fn of<T>(self, list: &[T]) -> Option<&T> {
        list.get((list.len() * usize::from(self.0)) >> 16)
    }
}

/// A job: of one state if there are any, else of all that ever were; rarely one that never was.
#[derive(Debug, Clone, Copy)]
pub enum Which {
    Of(State, Nth),
    Any(Nth),
    Unknown,
}

/// A reservation: one that is out if there are any, else one that ever was; rarely one that never was.
#[derive(Debug, Clone, Copy)]
pub enum Handle {
    Out(Nth),
    Any(Nth),
    /// Of a job, with a secret that nobody was given.
    Forged(Nth),
}

/// Somebody goes on working.
#[derive(Debug, Clone, Copy)]
pub struct Staying {
    pub handle: Handle,
    pub lease_ms: Option<u32>,
    pub draft: Option<usize>,
}

/// Somebody gives a job back.
#[derive(Debug, Clone, Copy)]
pub struct Leaving {
    pub handle: Handle,
    pub when: When,
    pub skip: bool,
    /// So many resumes more than there were, as the page knows.
    pub resumes: Option<i32>,
    pub draft: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
pub enum When {
    Now,
    /// Now, and nobody has it before.
    Delay(u32),
    Grace(u32),
}

/// What there is to do.
#[derive(Debug, Clone)]
pub struct Work {
    pub payload: usize,
    pub delay: Option<Wait>,
    pub lease_ms: Option<u32>,
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
    pub locks: Vec<usize>,
    pub traced: bool,
}

#[derive(Debug, Clone)]
pub struct Item {
    pub work: Work,
    pub priority: u8,
    pub client: usize,
    pub dedupe: Same,
    pub idempotency: Option<Idempotency>,
}

/// Number of the key, and which body came with it.
#[derive(Debug, Clone, Copy)]
pub struct Idempotency {
    pub key: u8,
    pub body: u8,
}

/// A job of a batch.
#[derive(Debug, Clone)]
pub struct Member {
    pub work: Work,
    pub priority: Option<u8>,
}

#[derive(Debug, Clone)]
pub struct NewBatch {
    pub concurrency: Option<u32>,
    pub priority: u8,
    pub client: usize,
    pub sealed: bool,
    pub members: Vec<Member>,
    pub idempotency: Option<Idempotency>,
}

#[derive(Debug, Clone)]
pub enum Append {
    /// From where the batch ends, which is said or not.
    Behind { members: Vec<Member>, said: bool },
    /// From elsewhere.
    From { members: Vec<Member>, offset: u32 },
    /// An earlier one, the same again.
    Again(Nth),
}

#[derive(Debug, Clone, Copy)]
pub enum Same {
    Setting,
    Payload,
    Key(usize),
    Off,
}

#[derive(Debug, Clone, Copy)]
pub enum Wait {
    For(u32),
    /// From now.
    Until(i32),
}

#[derive(Debug, Clone)]
pub struct Ask {
    pub worker: Option<usize>,
    pub limit: u32,
    pub lease_ms: Option<u32>,
    pub id: Option<Which>,
    /// Another queue is named too, which nobody uses. Only for a call that goes out alone.
    pub aside: bool,
    pub call: Call,
    pub caller: Caller,
}

#[derive(Debug, Clone, Copy)]
pub enum Call {
    New,
    /// Worker and nonce of an earlier one.
    Again(Nth),
}

/// What becomes of the caller of a reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    Hears,
    Gone,
    /// It is not known yet.
    Unclear,
}

#[derive(Debug, Clone, Copy)]
pub enum Time {
    Ms(u32),
    /// To something that time will bring about: exactly, or a millisecond off.
    Moment(Nth, i8),
    Hour,
    Day,
}

#[derive(Debug, Clone, Copy)]
pub enum Look {
    Queue,
    Job(Which),
    List { state: State, client: usize, worker: Option<usize>, limit: u32 },
    Holders { limit: u32 },
    Reservations(usize),
    Locks { lock: Option<usize>, limit: u32 },
    Batch(Nth),
    Batches { limit: u32 },
    Results { batch: Nth, limit: u32 },
    Members(Nth, State),
}
