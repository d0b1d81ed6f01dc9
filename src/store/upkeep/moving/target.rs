//! Where the queues go: they are laid down beside, under names that nobody looks at, and published whole.

use redis::Cmd;

use super::{halt::Halt, keys, source::eval};
use crate::job::QueueName;
use crate::store::{
    handle::Queues,
    redis::read::{broken, word},
};

const CLAIM: &str = include_str!("claim.lua");
const PUBLISH: &str = include_str!("publish.lua");
const DROP: &str = include_str!("drop.lua");
/// Refused where there is no room.
const LAY: &str = concat!("#!lua\n", include_str!("lay.lua"));
/// For what is there already and changes.
const LAY_AGAIN: &str = concat!("#!lua flags=allow-oom\n", include_str!("lay.lua"));

pub(super) struct MoveTarget<'m> {
    pub(super) queues: &'m Queues,
    /// Epoch of the source.
    pub(super) origin: String,
    pub(super) run: String,
}

/// Commands that go out together: of each the words, without the key.
#[derive(Default)]
pub(super) struct TargetKeys(Vec<Vec<Vec<u8>>>);

impl TargetKeys {
    pub(super) fn push(&mut self, words: Vec<Vec<u8>>) {
        self.0.push(words);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl MoveTarget<'_> {
    /// The names of a queue are kept for it. `again`: it was claimed before, so it is published if it is not any more.
    /// Answers whether there is something to do yet.
    pub(super) async fn claim(&self, queue: &QueueName, again: bool) -> Result<bool, Halt> {
        let names = &self.queues.parts.runner.keys;
        let all = [vec![keys::claim(names, queue)], keys::own(names, queue)].concat();
        let when = if again { "again" } else { "first" };
        let reply = eval(self.queues, CLAIM, &all, &[&self.origin, &self.run, when]).await.map_err(Halt::Target)?;
        match word(&reply) {
            Some("claimed") => Ok(true),
            Some("published") => Ok(false),
            Some("there") => Err(there(queue)),
            Some("other") => Err(Halt::Refused(format!("the queue {queue} is being moved there from another Redis"))),
            _ => Err(Halt::Target(broken("what became of a claim"))),
        }
    }

    /// Whether there is a queue that stands in the way.
    pub(super) async fn look(&self, queue: &QueueName) -> Result<(), Halt> {
        let mut command = redis::cmd("EXISTS");
        command.arg(keys::own(&self.queues.parts.runner.keys, queue));
        let found = self.queues.parts.runner.link.plain(&command).await.map_err(Halt::Target)?;
        if found == redis::Value::Int(0) { Ok(()) } else { Err(there(queue)) }
    }

    /// `grows`: not where there is no room.
    pub(super) async fn lay(&self, queue: &QueueName, key: &str, words: &TargetKeys, grows: bool) -> Result<(), Halt> {
        if words.is_empty() {
            return Ok(());
        }
        let mut command = Cmd::new();
        command.arg("EVAL").arg(if grows { LAY } else { LAY_AGAIN }).arg(2);
        command.arg(keys::claim(&self.queues.parts.runner.keys, queue)).arg(key);
        command.arg(format!("{} {}", self.origin, self.run));
        for one in &words.0 {
            command.arg(one.len()).arg(one);
        }
        let reply = self.queues.parts.runner.link.plain(&command).await.map_err(Halt::Target)?;
        if word(&reply) == Some("laid") { Ok(()) } else { Err(Halt::Taken) }
    }

    /// The registry is told before there is a key of it.
    pub(super) async fn publish(&self, queue: &QueueName) -> Result<(), Halt> {
        let (names, registry) = (&self.queues.parts.runner.keys, &self.queues.parts.registry);
        registry.tell_anew(std::slice::from_ref(queue)).await.map_err(Halt::Target)?;
        let all = [vec![keys::claim(names, queue)], keys::all_staged(names, queue), keys::own(names, queue)].concat();
        let mark = format!("{} {}", self.origin, self.run);
        let reply = eval(self.queues, PUBLISH, &all, &[&mark]).await.map_err(Halt::Target)?;
        match word(&reply) {
            Some("published") => Ok(()),
            Some("there") => Err(there(queue)),
            _ => Err(Halt::Taken),
        }
    }

    /// What was brought of a queue goes.
    pub(super) async fn drop(&self, queue: &QueueName) -> Result<(), Halt> {
        let names = &self.queues.parts.runner.keys;
        let all = [vec![keys::claim(names, queue)], keys::all_staged(names, queue)].concat();
        eval(self.queues, DROP, &all, &[&self.origin]).await.map(drop).map_err(Halt::Target)
    }
}

fn there(queue: &QueueName) -> Halt {
    Halt::Refused(format!("there is a queue {queue} where it is to go"))
}
