//! What the twins of the Lua files have in common: arguments in, an outcome out, and what follows of it.

use std::sync::Arc;

use intray_redis::{Args, Fault};
use redis::Value;

use super::{
    redis::read::{Fields, broken, word},
    runner::Runner,
};
use crate::{
    figures::QueueMetrics,
    job::{QueueName, Tally},
};

/// The twin of a file in `lua/` that changes something.
pub(crate) trait Transition {
    type Outcome;

    /// The file's name.
    const SCRIPT: &'static str;

    /// What follows when nobody knows what was done.
    const EFFECT_OF_FAULT: Effect = Effect::Moved;

    /// What the script is called with, as its header says.
    fn args(&self) -> Args;

    /// What its reply means.
    fn read(&self, reply: Reply<'_>) -> Result<Self::Outcome, Fault>;

    /// What an outcome means for the sweeper and the counters.
    fn effect(&self, outcome: &Self::Outcome) -> Effect;

    /// Records the durations that an outcome carries.
    fn measure(&self, _outcome: &Self::Outcome, _queue: &QueueName, _metrics: &QueueMetrics) {}
}

/// What a script said to one item.
pub(crate) struct Reply<'r> {
    pub(crate) item: &'r Value,
    /// What it said for all items of a group.
    pub(crate) shared: &'r [Value],
    pub(crate) queue: &'r QueueName,
    pub(crate) runner: &'r Arc<Runner>,
}

impl<'r> Reply<'r> {
    pub(crate) fn fields(self) -> Result<Fields<'r>, Fault> {
        Fields::of(self.item)
    }

    /// The first word, and what is behind it.
    pub(crate) fn words(self) -> Result<(&'r str, Fields<'r>), Fault> {
        let mut fields = self.fields()?;
        Ok((fields.word()?, fields))
    }
}

/// What a transition means for the sweeper and for the figures, beside what its script has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Time brings nothing that it would not have brought anyway.
    None,
    /// A job was moved, or may have been: the sweeper is to look what that brings and when.
    Moved,
    /// Nothing was moved, and so much is counted of the queue.
    Counted(Tally, u64),
    /// Nobody has such a reservation.
    Lost,
}

impl Effect {
    pub(crate) fn moved_if(moved: bool) -> Self {
        if moved { Self::Moved } else { Self::None }
    }

    fn apply(self, runner: &Runner, queue: &QueueName) {
        match self {
            Self::None => {}
            Self::Moved => runner.mark_active(queue),
            Self::Counted(what, n) => runner.meter.transitions(queue, what.word(), n),
            Self::Lost => runner.meter.lost(),
        }
    }
}

/// Sees to what follows of an outcome.
pub(crate) fn conclude<T: Transition>(
    call: &T,
    outcome: Result<T::Outcome, Fault>,
    runner: &Runner,
    queue: &QueueName,
) -> Result<T::Outcome, Fault> {
    if let Ok(outcome) = &outcome {
        call.measure(outcome, queue, &runner.meter.queues);
    }
    outcome.as_ref().map_or(T::EFFECT_OF_FAULT, |outcome| call.effect(outcome)).apply(runner, queue);
    outcome
}

/// Runs the script of a transition that goes alone.
pub(crate) async fn run<T: Transition>(runner: &Arc<Runner>, queue: &QueueName, call: &T) -> Result<T::Outcome, Fault> {
    let script = runner.scripts.named(T::SCRIPT, false);
    let item = runner.run(script, queue, &runner.keys_of(script, queue), &[&call.args()]).await;
    let outcome = item.and_then(|item| call.read(Reply { item: &item, shared: &[], queue, runner }));
    conclude(call, outcome, runner, queue)
}

/// A transition of which calls that arrive together go together.
pub(crate) trait BatchedTransition: Transition<Outcome: Send> + Send + 'static {
    const BATCHING: BatchPolicy;

    /// How many jobs it may touch.
    fn jobs(&self) -> u32 {
        1
    }

    /// So much that it is refused at `maxmemory`, which the file's flags allow for. It goes with its like alone, lest others are refused with it; and down
    /// the same lane as they, lest one overtakes the other.
    fn needs_memory(&self) -> bool {
        false
    }

    /// Whether the reply is the last one.
    fn retry<'r>(&self, reply: &'r Value) -> Retry<'r> {
        if word(reply) == Some("later") { Retry::Again } else { Retry::Done }
    }

    /// What it is called with when it goes on behind a place, where it may.
    fn args_after(&self, _place: &[u8], _member: &[u8]) -> Args {
        self.args()
    }

    /// What it is called with when too much is overdue for it to wait until all of that is back.
    fn args_without_waiting(&self) -> Args {
        self.args()
    }

    /// What is said where [`Entry`] lets nobody in.
    fn rejected(&self) -> Result<Self::Outcome, Fault> {
        Err(broken("a queue that lets nobody in"))
    }
}

/// How calls of one kind go together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchPolicy {
    /// Most calls of one script.
    pub(crate) max_calls: usize,
    /// Nothing is done for a caller who is gone.
    pub(crate) skips_abandoned: bool,
    pub(crate) entry: QueueCheck,
    /// Before the items the reply says what is so for all of them.
    pub(crate) has_shared: bool,
}

/// What must be so of a queue before anything is sent to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueCheck {
    Open,
    /// The registry is told of it, unless there are as many as may be.
    Registers,
    /// It is there: nothing is run for what somebody has made up.
    IfKnown,
}

/// What becomes of a call after a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Retry<'r> {
    Done,
    /// The others have filled the script: in the next one, without end, for each of them serves somebody.
    Again,
    /// Behind this place and member.
    After(&'r [u8], &'r [u8]),
    /// When what is overdue is back in its place.
    AfterSweep,
}
