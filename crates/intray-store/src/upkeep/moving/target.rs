//! The target of a move: stores each queue under temporary names, and publishes it as a whole.

use redis::Cmd;

use super::{halt::Halt, keys, source::eval};
use crate::job::QueueName;
use crate::{
    handle::Queues,
    redis::read::{broken, word},
};

const CLAIM: &str = include_str!("claim.lua");
const PUBLISH: &str = include_str!("publish.lua");
const DROP: &str = include_str!("drop.lua");
/// Redis refuses this script when its memory is full.
const LAY: &str = concat!("#!lua\n", include_str!("lay.lua"));
/// For changes of existing entries, which need no more memory.
const LAY_AGAIN: &str = concat!("#!lua flags=allow-oom\n", include_str!("lay.lua"));

pub(super) struct MoveTarget<'m> {
    pub(super) queues: &'m Queues,
    /// The id of the source's data.
    pub(super) origin: String,
    pub(super) run: String,
}

/// A command's name and its arguments without the key.
pub(super) type CommandWords = Vec<Vec<u8>>;

impl MoveTarget<'_> {
    /// Claims the names of a queue. `again`: an earlier run has claimed it, so without a claim now it is published.
    /// Returns whether the queue still has to be copied.
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

    /// Fails if the target has a queue of this name.
    pub(super) async fn look(&self, queue: &QueueName) -> Result<(), Halt> {
        let mut command = redis::cmd("EXISTS");
        command.arg(keys::own(&self.queues.parts.runner.keys, queue));
        let found = self.queues.parts.runner.link.plain(&command).await.map_err(Halt::Target)?;
        if found == redis::Value::Int(0) { Ok(()) } else { Err(there(queue)) }
    }

    /// Runs commands on a key together. `grows`: Redis refuses them when its memory is full.
    pub(super) async fn lay(
        &self,
        queue: &QueueName,
        key: &str,
        commands: &[CommandWords],
        grows: bool,
    ) -> Result<(), Halt> {
        if commands.is_empty() {
            return Ok(());
        }
        let mut command = Cmd::new();
        command.arg("EVAL").arg(if grows { LAY } else { LAY_AGAIN }).arg(2);
        command.arg(keys::claim(&self.queues.parts.runner.keys, queue)).arg(key);
        command.arg(format!("{} {}", self.origin, self.run));
        for words in commands {
            command.arg(words.len()).arg(words);
        }
        let reply = self.queues.parts.runner.link.plain(&command).await.map_err(Halt::Target)?;
        if word(&reply) == Some("laid") { Ok(()) } else { Err(Halt::Taken) }
    }

    /// Publishes a queue. It is registered before its first key exists.
    pub(super) async fn publish(&self, queue: &QueueName) -> Result<(), Halt> {
        let (names, registry) = (&self.queues.parts.runner.keys, &self.queues.parts.registry);
        registry.reregister(std::slice::from_ref(queue)).await.map_err(Halt::Target)?;
        let all = [vec![keys::claim(names, queue)], keys::all_staged(names, queue), keys::own(names, queue)].concat();
        let mark = format!("{} {}", self.origin, self.run);
        let reply = eval(self.queues, PUBLISH, &all, &[&mark]).await.map_err(Halt::Target)?;
        match word(&reply) {
            Some("published") => Ok(()),
            Some("there") => Err(there(queue)),
            _ => Err(Halt::Taken),
        }
    }

    /// Deletes the copy of a queue.
    pub(super) async fn drop(&self, queue: &QueueName) -> Result<(), Halt> {
        let names = &self.queues.parts.runner.keys;
        let all = [vec![keys::claim(names, queue)], keys::all_staged(names, queue)].concat();
        eval(self.queues, DROP, &all, &[&self.origin]).await.map(drop).map_err(Halt::Target)
    }
}

fn there(queue: &QueueName) -> Halt {
    Halt::Refused(format!("there is a queue {queue} where it is to go"))
}
