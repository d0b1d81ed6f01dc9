//! The interface of a transition: arguments in, an outcome out, and the effect of the outcome on the sweeper and the counters.

mod call;

use std::{sync::Arc, time::Instant};

use futures_util::future::BoxFuture;
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

pub(super) use self::call::{CallHandle, call_handle};

/// The reply to a call that is to be sent again when the overdue jobs have been swept.
const OVERDUE: &str = "overdue";
/// How often a call is retried after a sweep of overdue jobs, about 1,000 jobs in all. Then it takes what is in line.
pub(crate) const MAX_SWEEPS: u8 = 20;

/// Does to the overdue jobs of a queue what time has done to them. It reports no error: the call that follows meets the same one.
pub(crate) type SweepFn = for<'s> fn(&'s Arc<Runner>, &'s QueueName) -> BoxFuture<'s, ()>;

/// A change of jobs: the Rust side of a file in `lua/transitions`.
pub(crate) trait Transition {
    type Outcome;

    /// The file's name.
    const SCRIPT: &'static str;

    /// The effect to assume when the call fails.
    const EFFECT_OF_FAULT: Effect = Effect::Moved;

    /// The arguments, as the header of the script lists them.
    fn args(&self) -> Args;

    /// Parses the reply.
    fn read(&self, reply: Reply<'_>) -> Result<Self::Outcome, Fault>;

    /// What an outcome means for the sweeper and the counters.
    fn effect(&self, outcome: &Self::Outcome) -> Effect;

    /// Records the durations that an outcome carries.
    fn measure(&self, _outcome: &Self::Outcome, _queue: &QueueName, _metrics: &QueueMetrics) {}
}

/// The reply of a script to one item.
pub(crate) struct Reply<'r> {
    pub(crate) item: &'r Value,
    /// The part that is the same for all items of a batch.
    pub(crate) shared: &'r [Value],
    pub(crate) queue: &'r QueueName,
    pub(crate) runner: &'r Arc<Runner>,
}

impl<'r> Reply<'r> {
    pub(crate) fn fields(self) -> Result<Fields<'r>, Fault> {
        Fields::of(self.item)
    }

    /// The first word, and the fields after it.
    pub(crate) fn words(self) -> Result<(&'r str, Fields<'r>), Fault> {
        let mut fields = self.fields()?;
        Ok((fields.word()?, fields))
    }
}

/// What an outcome means for the sweeper and the counters, beyond what the script has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Creates no new deadline, so the sweeper need not look.
    None,
    /// A job was moved, or may have been: the sweeper looks at the queue again.
    Moved,
    /// No job was moved; adds this to a counter of the queue.
    Counted(Tally, u64),
    /// The call named a reservation that no longer exists.
    Lost,
}

impl Effect {
    pub(crate) fn moved_if(moved: bool) -> Self {
        if moved { Self::Moved } else { Self::None }
    }
}

/// Records the durations of an outcome and applies its effect.
pub(crate) fn conclude<T: Transition>(
    call: &T,
    outcome: Result<T::Outcome, Fault>,
    runner: &Runner,
    queue: &QueueName,
) -> Result<T::Outcome, Fault> {
    if let Ok(outcome) = &outcome {
        call.measure(outcome, queue, &runner.figures);
    }
    match outcome.as_ref().map_or(T::EFFECT_OF_FAULT, |outcome| call.effect(outcome)) {
        Effect::None => {}
        Effect::Moved => runner.notices.moved(queue),
        Effect::Counted(what, n) => runner.figures.count(queue.as_str(), what.word(), n),
        Effect::Lost => runner.figures.count_lost(),
    }
    outcome
}

/// Runs a transition that is not batched.
pub(crate) async fn run<T: Transition>(runner: &Arc<Runner>, queue: &QueueName, call: &T) -> Result<T::Outcome, Fault> {
    let item = send(runner, queue, call).await;
    finish(runner, queue, call, item)
}

/// The same, and again after each sweep of overdue jobs that it asks for.
pub(crate) async fn run_with_sweeps<T: Transition>(
    runner: &Arc<Runner>,
    queue: &QueueName,
    call: &T,
    sweep: SweepFn,
) -> Result<T::Outcome, Fault> {
    let mut item = send(runner, queue, call).await;
    for _ in 0..MAX_SWEEPS {
        if !item.as_ref().is_ok_and(|item| word(item) == Some(OVERDUE)) {
            break;
        }
        sweep(runner, queue).await;
        item = send(runner, queue, call).await;
    }
    finish(runner, queue, call, item)
}

async fn send<T: Transition>(runner: &Arc<Runner>, queue: &QueueName, call: &T) -> Result<Value, Fault> {
    let script = runner.scripts.named(T::SCRIPT, false);
    runner.run(script, queue, &runner.keys_of(script, queue), &[&call.args()]).await
}

fn finish<T: Transition>(
    runner: &Arc<Runner>,
    queue: &QueueName,
    call: &T,
    item: Result<Value, Fault>,
) -> Result<T::Outcome, Fault> {
    let outcome = item.and_then(|item| call.read(Reply { item: &item, shared: &[], queue, runner }));
    conclude(call, outcome, runner, queue)
}

/// A transition whose calls are batched.
pub(crate) trait BatchedTransition: Transition<Outcome: Send> + Send + 'static {
    const BATCHING: BatchPolicy;

    /// How many jobs the call may change.
    fn jobs(&self) -> u32 {
        1
    }

    /// The call is large, so it runs as the variant of the script that Redis refuses at `maxmemory`. It is batched with other
    /// large calls only, because Redis refuses the whole batch, and stays in the same lane so that the order holds.
    fn needs_memory(&self) -> bool {
        false
    }

    /// Whether the call may be sent now, by what must hold at that moment. What was looked at since then holds.
    fn is_ready(&mut self, _since: Instant) -> bool {
        true
    }

    /// Makes it so. Answers whether that has changed the arguments.
    fn make_ready(&mut self) -> BoxFuture<'_, Result<bool, Fault>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Whether the call is finished by this reply.
    fn follow_up<'r>(&self, reply: &'r Value) -> FollowUp<'r> {
        FollowUp::of(word(reply))
    }

    /// The arguments to continue after a place in line.
    fn args_after(&mut self, _place: &[u8], _member: &[u8]) -> Args {
        self.args()
    }

    /// The arguments when too many jobs are overdue to wait for all of them.
    fn args_without_waiting(&self) -> Args {
        self.args()
    }

    /// The outcome when the check of the queue rejects the call.
    fn rejected(&self) -> Result<Self::Outcome, Fault> {
        Err(broken("a transition without a rejection"))
    }
}

/// How calls of one kind are batched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchPolicy {
    /// Maximum calls of one script.
    pub(crate) max_calls: usize,
    /// Drops calls whose caller has left.
    pub(crate) skips_abandoned: bool,
    pub(crate) entry: QueueCheck,
    /// The reply has a shared part before the items.
    pub(crate) has_shared: bool,
    /// Calls are made ready before they are sent.
    pub(crate) is_checked: bool,
}

impl BatchPolicy {
    /// As many calls as fit, in their order.
    pub(crate) const fn plain(entry: QueueCheck) -> Self {
        Self { max_calls: usize::MAX, skips_abandoned: false, entry, has_shared: false, is_checked: false }
    }
}

/// The check of a queue before a call is sent to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueCheck {
    Open,
    /// Registers the queue, unless the limit of queues is reached.
    Registers,
    /// The queue must exist, so that a made-up name costs no script.
    IfKnown,
}

/// What to do with a call after a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FollowUp<'r> {
    Done,
    /// The script was full: send the call again. There is no limit, because each script serves some caller.
    Again,
    /// Continue after this place and member.
    After(&'r [u8], &'r [u8]),
    /// Send it again when the overdue jobs are back in line.
    AfterSweep,
}

impl FollowUp<'_> {
    /// Chooses by the first word of a reply.
    pub(crate) fn of(word: Option<&str>) -> Self {
        match word {
            Some("later") => Self::Again,
            Some(OVERDUE) => Self::AfterSweep,
            _ => Self::Done,
        }
    }
}
