//! A pending call whose type is erased, with the channel of its answer.

use std::sync::Arc;

use intray_redis::{Args, Fault};
use redis::Value;
use tokio::sync::oneshot;

use crate::{
    job::QueueName,
    store::{
        runner::Runner,
        transition::{BatchedTransition, Reply, Retry, conclude},
    },
};

pub(super) trait CallHandle: Send {
    fn jobs(&self) -> u32;
    fn needs_memory(&self) -> bool;
    /// The caller no longer waits for the answer.
    fn is_abandoned(&self) -> bool;
    fn retry<'r>(&self, item: &'r Value) -> Retry<'r>;
    /// The arguments to continue after a place in line.
    fn args_after(&self, place: &[u8], member: &[u8]) -> Args;
    /// The arguments of a call that no longer waits for overdue jobs.
    fn args_without_waiting(&self) -> Args;
    /// If the caller has left, the outcome is dropped; the [`super::super::Undo`] in it then gives new reservations back.
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
pub(super) fn of<T: BatchedTransition>(call: T) -> (Box<dyn CallHandle>, oneshot::Receiver<CallResult<T::Outcome>>) {
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

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn retry<'r>(&self, item: &'r Value) -> Retry<'r> {
        self.call.retry(item)
    }

    fn args_after(&self, place: &[u8], member: &[u8]) -> Args {
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
