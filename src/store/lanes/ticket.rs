//! A call in a lane: what is known of it there, and who waits for its answer.

use std::sync::Arc;

use intray_redis::{Args, Fault};
use redis::Value;
use tokio::sync::oneshot;

use crate::{
    job::QueueName,
    store::{
        runner::Runner,
        transition::{Grouped, Reply, Retry, conclude},
    },
};

pub(super) trait Ticket: Send {
    fn jobs(&self) -> u32;
    fn needs_memory(&self) -> bool;
    /// Nobody waits for the answer any more.
    fn is_abandoned(&self) -> bool;
    fn retry<'r>(&self, item: &'r Value) -> Retry<'r>;
    /// The arguments of the call, which goes on behind a place.
    fn args_behind(&self, place: &[u8], member: &[u8]) -> Args;
    /// The arguments of the call, which does not wait for what is overdue any more.
    fn args_regardless(&self) -> Args;
    /// A caller that is gone drops the outcome, and with it the guard of what it has newly taken.
    fn deliver(self: Box<Self>, reply: Reply<'_>);
    fn turn_away(self: Box<Self>, runner: &Arc<Runner>, queue: &QueueName);
    fn fail(self: Box<Self>, fault: Fault);
}

type Answer<T> = Result<T, Fault>;

struct Waiting<T: Grouped> {
    call: T,
    answer: oneshot::Sender<Answer<T::Outcome>>,
}

/// For a call, and where its answer comes.
pub(super) fn of<T: Grouped>(call: T) -> (Box<dyn Ticket>, oneshot::Receiver<Answer<T::Outcome>>) {
    let (answer, receiver) = oneshot::channel();
    (Box::new(Waiting { call, answer }), receiver)
}

impl<T: Grouped> Ticket for Waiting<T> {
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

    fn args_behind(&self, place: &[u8], member: &[u8]) -> Args {
        self.call.args_behind(place, member)
    }

    fn args_regardless(&self) -> Args {
        self.call.args_regardless()
    }

    fn deliver(self: Box<Self>, reply: Reply<'_>) {
        let (runner, queue) = (reply.runner, reply.queue);
        let outcome = conclude(&self.call, self.call.read(reply), runner, queue);
        let _ = self.answer.send(outcome);
    }

    fn turn_away(self: Box<Self>, runner: &Arc<Runner>, queue: &QueueName) {
        let outcome = conclude(&self.call, self.call.turned_away(), runner, queue);
        let _ = self.answer.send(outcome);
    }

    fn fail(self: Box<Self>, fault: Fault) {
        let _ = self.answer.send(Err(fault));
    }
}
