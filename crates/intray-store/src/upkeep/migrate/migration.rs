//! One step from a layout to the next, in bounded parts. It may be interrupted between any two and repeated.

use intray_redis::Fault;

use super::{LayoutStep, write_version};
use crate::{
    handle::Queues,
    job::QueueName,
    keys::{HINTS, KEYS, KeyNames},
};

const RENAME: &str = include_str!("rename.lua");

/// The next part.
enum MigrationPart {
    /// The keys that belong to no queue.
    Common,
    /// The queues from this one on.
    Queue(usize),
    /// The records of a queue from a cursor on.
    Records(usize, String),
    Version,
    Done,
}

/// A running step.
pub struct Migration<'q> {
    queues: &'q Queues,
    step: &'q LayoutStep,
    old: KeyNames,
    new: KeyNames,
    names: Vec<QueueName>,
    part: MigrationPart,
}

impl Queues {
    /// Begins a step, or resumes it after an interruption. [`Queues::migrate`] runs all that are missing.
    pub fn migration<'q>(&'q self, step: &'q LayoutStep) -> Migration<'q> {
        let keys = &self.parts.runner.keys;
        let part = if step.is_first() { MigrationPart::Version } else { MigrationPart::Common };
        let (old, new) = (keys.of_layout(step.makes - 1), keys.of_layout(step.makes));
        Migration { queues: self, step, old, new, names: Vec::new(), part }
    }
}

impl Migration<'_> {
    /// Runs one part. Returns whether there is more to do.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn advance(&mut self) -> Result<bool, Fault> {
        self.part = match &self.part {
            MigrationPart::Common => {
                // From here on no program of the older layout can create a queue.
                for (old, new) in self.old.common().into_iter().zip(self.new.common()) {
                    self.rename_common(&old, &new).await?;
                }
                self.names = self.registered().await?;
                MigrationPart::Queue(0)
            }
            MigrationPart::Queue(nth) => match self.names.get(*nth) {
                Some(queue) => {
                    self.rename(&[keys_of(&self.old, queue), keys_of(&self.new, queue)].concat()).await?;
                    MigrationPart::Records(*nth, "0".to_owned())
                }
                None => MigrationPart::Version,
            },
            MigrationPart::Records(nth, cursor) => match self.rewrite(&self.names[*nth], cursor).await?.as_str() {
                "0" => MigrationPart::Queue(nth + 1),
                cursor => MigrationPart::Records(*nth, cursor.to_owned()),
            },
            MigrationPart::Version => {
                write_version(self.queues, self.step.makes).await?;
                MigrationPart::Done
            }
            MigrationPart::Done => MigrationPart::Done,
        };
        Ok(!matches!(self.part, MigrationPart::Done))
    }

    /// On a cluster the two names may be on different nodes: the key is closed first, and then copied from a name beside it.
    async fn rename_common(&self, old: &str, new: &str) -> Result<(), Fault> {
        let link = &self.queues.parts.runner.link;
        if link.share_a_slot(old, new) {
            return self.rename(&[old.to_owned(), new.to_owned()]).await;
        }
        let beside = self.old.beside(old);
        self.rename(&[old.to_owned(), beside.clone()]).await?;
        let content: Option<Vec<u8>> = link.ask(redis::cmd("DUMP").arg(&beside)).await?;
        if let Some(content) = content {
            link.plain(redis::cmd("RESTORE").arg(new).arg(0).arg(content).arg("REPLACE")).await?;
            link.plain(redis::cmd("UNLINK").arg(&beside)).await?;
        }
        Ok(())
    }

    async fn registered(&self) -> Result<Vec<QueueName>, Fault> {
        let names = redis::cmd("ZRANGE").arg(self.new.registry()).arg(0).arg(-1).to_owned();
        let names: Vec<String> = self.queues.parts.runner.link.ask(&names).await?;
        Ok(names.iter().filter_map(|name| QueueName::parse(name).ok()).collect())
    }

    async fn rename(&self, keys: &[String]) -> Result<(), Fault> {
        let text = format!("moved to layout {}: see intray migrate", self.step.makes);
        self.run(RENAME, keys, &[&text]).await.map(drop)
    }

    /// Returns the next cursor.
    async fn rewrite(&self, queue: &QueueName, cursor: &str) -> Result<String, Fault> {
        let Some(code) = self.step.rewrite else { return Ok("0".to_owned()) };
        let args: Vec<&str> = [vec![cursor], names().collect()].concat();
        self.run(code, &keys_of(&self.new, queue), &args).await
    }

    async fn run(&self, code: &str, keys: &[String], args: &[&str]) -> Result<String, Fault> {
        let mut command = redis::cmd("EVAL");
        command.arg(code).arg(keys.len()).arg(keys).arg(args);
        self.queues.parts.runner.link.ask(&command).await
    }
}

/// Every key of a queue, without the channel.
fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(name, _)| *name).filter(|name| *name != HINTS)
}

fn keys_of(keys: &KeyNames, queue: &QueueName) -> Vec<String> {
    names().map(|name| keys.of(queue, name)).collect()
}
