//! Migration 0002, from the first layout to the second, in bounded steps. It may be interrupted anywhere and repeated.

use intray_redis::Fault;

use crate::job::QueueName;
use crate::store::{
    handle::Queues,
    keys::{ADDED, HINTS, KEYS},
};

const CODE: &str = include_str!("../../../../migrations/0002_stamps.lua");

/// The next step.
enum MigrationStep {
    Registry,
    /// The queues from this one on.
    Queue(usize),
    /// The jobs of a queue from a cursor on.
    Jobs(usize, String),
    Version,
    Done,
}

/// A running migration.
pub(crate) struct Stamps<'q> {
    queues: &'q Queues,
    version: usize,
    names: Vec<QueueName>,
    part: MigrationStep,
}

impl<'q> Stamps<'q> {
    pub(crate) fn new(queues: &'q Queues, version: usize) -> Self {
        Self { queues, version, names: Vec::new(), part: MigrationStep::Registry }
    }

    /// Runs one step. Returns whether there is more to do.
    pub(crate) async fn step(&mut self) -> Result<bool, Fault> {
        let keys = &self.queues.parts.runner.keys;
        self.part = match &self.part {
            MigrationStep::Registry => {
                // From here on no program with the first layout can create a queue.
                self.take_registry(keys.first_registry(), keys.registry()).await?;
                self.names = self.queues.names().await?;
                MigrationStep::Queue(0)
            }
            MigrationStep::Queue(nth) => match self.names.get(*nth) {
                Some(queue) => {
                    let old = names().map(|name| keys.first_of(queue, name));
                    let all: Vec<_> = old.chain(names().map(|name| keys.of(queue, name))).collect();
                    self.run(&all, &["queue"]).await?;
                    MigrationStep::Jobs(*nth, "0".to_owned())
                }
                None => MigrationStep::Version,
            },
            MigrationStep::Jobs(nth, cursor) => {
                let all: Vec<_> = names().map(|name| keys.of(&self.names[*nth], name)).collect();
                match self.run(&all, &["jobs", cursor]).await?.as_str() {
                    "0" => MigrationStep::Queue(nth + 1),
                    cursor => MigrationStep::Jobs(*nth, cursor.to_owned()),
                }
            }
            MigrationStep::Version => {
                self.run(&[keys.layout()], &["version", &self.version.to_string()]).await?;
                MigrationStep::Done
            }
            MigrationStep::Done => MigrationStep::Done,
        };
        Ok(!matches!(self.part, MigrationStep::Done))
    }

    /// Moves the registry. On a cluster the two keys may be on different nodes. The old key becomes a text last, so that this may
    /// be repeated.
    async fn take_registry(&self, old: String, new: String) -> Result<(), Fault> {
        let link = &self.queues.parts.runner.link;
        if link.share_a_slot(&old, &new) {
            return self.run(&[old, new], &["registry"]).await.map(drop);
        }
        let kind: String = link.ask(redis::cmd("TYPE").arg(&old)).await?;
        if kind == "zset" {
            let listed: Vec<(Vec<u8>, String)> =
                link.ask(redis::cmd("ZRANGE").arg(&old).arg(0).arg(-1).arg("WITHSCORES")).await?;
            for (name, seen) in listed {
                link.plain(redis::cmd("ZADD").arg(&new).arg(seen).arg(name)).await?;
            }
        }
        link.plain(redis::cmd("SET").arg(&old).arg("moved to layout 2: see intray migrate")).await.map(drop)
    }

    async fn run(&self, keys: &[String], args: &[&str]) -> Result<String, Fault> {
        let mut command = redis::cmd("EVAL");
        command.arg(CODE).arg(keys.len()).arg(keys).arg(args);
        self.queues.parts.runner.link.ask(&command).await
    }
}

/// Every key of a queue, without the channel.
fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(name, _)| *name).filter(|name| *name != HINTS && !ADDED.contains(name))
}
