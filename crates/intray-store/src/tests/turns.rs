//! V, the turn of a priority up to which its jobs were handed out.

use redis::Value;

use super::{Redis, job, queue, server::ask_for};
use crate::{
    Actor, Dedupe, Release, Reserve, ReserveOutcome, Routing,
    job::{JobId, Name},
};

fn ann() -> Name {
    Name::parse("ann").expect("a name")
}

impl Redis {
    /// A job of a client, perhaps for ann alone.
    async fn one(&self, client: &str, is_for_ann: bool) -> JobId {
        let mut new = job("1");
        new.client = Name::parse(client).ok();
        new.dedupe = Dedupe::Off;
        if is_for_ann {
            new.task.routing = Some(Box::new(Routing { assignees: vec![ann()], ..Routing::default() }));
        }
        let id = new.id.clone();
        self.queues.enqueue(new).await.expect("stored");
        id
    }

    async fn ann_takes(&self, limit: u32, id: Option<&JobId>) {
        let call = Reserve { id: id.cloned(), ..ask_for(Some(ann()), limit) };
        let taken = self.queues.reserve(call).await.expect("an answer");
        if let ReserveOutcome::Jobs { undo, .. } = taken {
            undo.disarm();
        }
    }

    /// It is handed out, and stands at its old place again.
    async fn take_and_release(&self, id: &JobId) {
        self.ann_takes(1, Some(id)).await;
        self.queues.release(&Release::Job(id.clone()), &Actor::default()).await.expect("released");
    }

    /// Or a worker would get one job at a time.
    async fn lift_worker_limit(&self) {
        let runner = &self.queues.parts.runner;
        let mut command = redis::cmd("HSET");
        command.arg(runner.keys.of(&queue(), "settings")).arg("worker_limit").arg(0);
        runner.link.plain(&command).await.expect("set");
    }

    async fn v(&self, priority: u8) -> Value {
        let runner = &self.queues.parts.runner;
        let mut command = redis::cmd("HGET");
        command.arg(runner.keys.of(&queue(), "tops")).arg(priority);
        runner.link.plain(&command).await.expect("V")
    }
}

/// Two jobs of a client that were handed out before and have the same turn: the second, of a worker's own line, does not take back what
/// the first, for everybody, has raised V to.
#[tokio::test]
async fn jobs_with_the_same_turn_raise_v_one_by_one() {
    let w = Redis::start().await;
    let first = w.one("z", false).await;
    let old = w.one("", false).await;
    w.take_and_release(&old).await;
    let own = w.one("", true).await;
    w.take_and_release(&own).await;
    w.one("c", false).await;
    w.queues.cancel(first, false, &Actor::default()).await.expect("cancelled");
    w.lift_worker_limit().await;
    w.ann_takes(2, None).await;
    assert_eq!(w.v(50).await, Value::BulkString(b"1".to_vec()));
}
