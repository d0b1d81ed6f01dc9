//! A call in a lane: what is known of it there, and who waits for its answer.

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
    /// Nobody waits for the answer any more.
    fn is_abandoned(&self) -> bool;
    fn retry<'r>(&self, item: &'r Value) -> Retry<'r>;
    /// The arguments of the call, which goes on behind a place.
    fn args_after(&self, place: &[u8], member: &[u8]) -> Args;
    /// The arguments of the call, which does not wait for what is overdue any more.
    fn args_without_waiting(&self) -> Args;
    /// A caller that is gone drops the outcome, and with it the guard of what it has newly taken.
    fn deliver(self: Box<Self>, reply: Reply<'_>);
    fn reject(self: Box<Self>, runner: &Arc<Runner>, queue: &QueueName);
    fn fail(self: Box<Self>, fault: Fault);
}

type CallResult<T> = Result<T, Fault>;

struct TypedCall<T: BatchedTransition> {
    call: T,
    answer: oneshot::Sender<CallResult<T::Outcome>>,
}

/// For a call, and where its answer comes.
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
