//! The source of a move: closes its queues, and reopens them if the move fails.

use intray_redis::Fault;
use redis::Value;

use super::{halt::Halt, keys};
use crate::job::QueueName;
use crate::{
    handle::Queues,
    redis::{
        move_marker::{MoveMarker, Stage},
        read::{Fields, broken, word},
    },
};

const MARK: &str = include_str!("mark.lua");
const OPEN: &str = include_str!("open.lua");
const CLOSE: &str = include_str!("close.lua");
const REOPEN: &str = include_str!("reopen.lua");

pub(super) struct MoveSource<'m> {
    pub(super) queues: &'m Queues,
    /// The id of this run. A later run takes over.
    pub(super) run: String,
    pub(super) target: String,
    pub(super) place: String,
}

impl MoveSource<'_> {
    /// The stage of a move that has begun here.
    pub(super) async fn mark(queues: &Queues) -> Result<Option<MoveMarker>, Halt> {
        let (link, registry) = (&queues.parts.runner.link, queues.parts.runner.keys.registry());
        let kind: String = link.ask(redis::cmd("TYPE").arg(&registry)).await.map_err(Halt::Source)?;
        if kind != "string" {
            return Ok(None);
        }
        let text: Option<String> = link.ask(redis::cmd("GET").arg(&registry)).await.map_err(Halt::Source)?;
        Ok(text.and_then(|text| MoveMarker::parse(&text)))
    }

    /// Sets the stage, unless a later run has taken over. Returns the actual stage and the names of the queues.
    pub(super) async fn set(&self, stage: Stage) -> Result<(Stage, Vec<QueueName>), Halt> {
        let registry = self.queues.parts.runner.keys.registry();
        let reply = self.eval(MARK, &[registry], &[stage.word(), &self.run, &self.target, &self.place]).await?;
        let mut reply = Fields::of(&reply).map_err(Halt::Source)?;
        let mut text = || reply.text().map_err(Halt::Source);
        let (answer, first, listed) = (text()?, text()?, text()?);
        let Some(found) = Stage::parse(&answer) else {
            return Err(match (answer.as_str(), MoveMarker::parse(&first)) {
                ("elsewhere", Some(mark)) => Halt::Refused(mark.reason()),
                _ => Halt::Taken,
            });
        };
        let names = listed.lines().filter_map(|line| QueueName::parse(line.split_once(' ')?.1).ok()).collect();
        Ok((found, names))
    }

    /// Closes a queue. Returns the time at which it was first closed, in ms.
    pub(super) async fn close(&self, queue: &QueueName) -> Result<u64, Halt> {
        let at = self.eval(CLOSE, &self.both(queue), &[&self.run, &self.place]).await?;
        word(&at).and_then(|at| at.parse().ok()).ok_or_else(|| Halt::Source(broken("a time")))
    }

    /// Reopens all queues that this run has closed and no later run has taken over.
    pub(super) async fn reopen(&self, queues: &[QueueName]) -> Result<(), Halt> {
        for queue in queues {
            self.eval(REOPEN, &self.both(queue), &[&self.run]).await?;
        }
        let reply = self.eval(OPEN, &[self.queues.parts.runner.keys.registry()], &[&self.run]).await?;
        if word(&reply) == Some("opened") { Ok(()) } else { Err(Halt::Taken) }
    }

    fn both(&self, queue: &QueueName) -> Vec<String> {
        let names = &self.queues.parts.runner.keys;
        [keys::own(names, queue), keys::all_aside(names, queue)].concat()
    }

    async fn eval(&self, code: &str, keys: &[String], args: &[&str]) -> Result<Value, Halt> {
        eval(self.queues, code, keys, args).await.map_err(|fault| match fault {
            Fault::Broken(why) => Halt::Refused(why),
            fault @ (Fault::Unavailable { .. } | Fault::Full(_)) => Halt::Source(fault),
        })
    }
}

pub(super) async fn eval(queues: &Queues, code: &str, keys: &[String], args: &[&str]) -> Result<Value, Fault> {
    queues.parts.runner.link.plain(redis::cmd("EVAL").arg(code).arg(keys.len()).arg(keys).arg(args)).await
}
