//! A call that waits in a lane.

use std::{sync::Arc, time::Instant};

use futures_util::future::BoxFuture;
use intray_redis::{Args, Fault};
use redis::Value;
use tokio::sync::oneshot;

use super::{BatchedTransition, FollowUp, Reply, conclude};
use crate::{job::QueueName, runner::Runner};

/// A pending call of a batch, whose type is erased.
pub(crate) trait CallHandle: Send {
    fn jobs(&self) -> u32;
    fn needs_memory(&self) -> bool;
    fn is_ready(&mut self, since: Instant) -> bool;
    fn make_ready(&mut self) -> BoxFuture<'_, Result<bool, Fault>>;
    fn args(&self) -> Args;
    /// The caller no longer waits for the answer.
    fn is_abandoned(&self) -> bool;
    fn follow_up<'r>(&self, item: &'r Value) -> FollowUp<'r>;
    /// The arguments to continue after a place in line.
    fn args_after(&mut self, place: &[u8], member: &[u8]) -> Args;
    /// The arguments of a call that no longer waits for overdue jobs.
    fn args_without_waiting(&self) -> Args;
    /// If the caller has left, the outcome is dropped; the `Undo` in it then gives new reservations back.
    fn deliver(self: Box<Self>, reply: Reply<'_>);
    fn reject(self: Box<Self>, runner: &Arc<Runner>, queue: &QueueName);
    fn fail(self: Box<Self>, fault: Fault);
}

type CallResult<T> = Result<T, Fault>;

struct TypedCall<T: BatchedTransition> {
    call: T,
    answer: oneshot::Sender<CallResult<T::Outcome>>,
}

/// The handle of a call, and the receiver of its answer.
pub(crate) fn call_handle<T: BatchedTransition>(
    call: T,
) -> (Box<dyn CallHandle>, oneshot::Receiver<CallResult<T::Outcome>>) {
    let (answer, receiver) = oneshot::channel();
    (Box::new(TypedCall { call, answer }), receiver)
}

impl<T: BatchedTransition> CallHandle for TypedCall<T> {
    fn jobs(&self) -> u32 {
        self.call.jobs()
    }

    fn needs_memory(&self) -> bool {
        self.call.needs_memory()
    }

    fn is_ready(&mut self, since: Instant) -> bool {
        self.call.is_ready(since)
    }

    fn make_ready(&mut self) -> BoxFuture<'_, Result<bool, Fault>> {
        self.call.make_ready()
    }

    fn args(&self) -> Args {
        self.call.args()
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn follow_up<'r>(&self, item: &'r Value) -> FollowUp<'r> {
        self.call.follow_up(item)
    }

    fn args_after(&mut self, place: &[u8], member: &[u8]) -> Args {
        self.call.args_after(place, member)
    }

    fn args_without_waiting(&self) -> Args {
        self.call.args_without_waiting()
    }

    fn deliver(self: Box<Self>, reply: Reply<'_>) {
        let (runner, queue) = (reply.runner, reply.queue);
        let outcome = conclude(&self.call, self.call.read(reply), runner, queue);
        let _ = self.answer.send(outcome);
    }

    fn reject(self: Box<Self>, runner: &Arc<Runner>, queue: &QueueName) {
        let outcome = conclude(&self.call, self.call.rejected(), runner, queue);
        let _ = self.answer.send(outcome);
    }

    fn fail(self: Box<Self>, fault: Fault) {
        let _ = self.answer.send(Err(fault));
    }
}
