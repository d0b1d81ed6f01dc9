//! The steps of a move, and the outcome that is reported when one fails.

use std::time::{Duration, Instant};

use intray_redis::Fault;

use super::{Moved, Moving, carry::Way, halt::Halt, keys, page::ValueKind, source::MoveSource, tally::Tally};
use crate::job::QueueName;
use crate::{
    handle::Queues,
    redis::move_marker::Stage,
    upkeep::{check::field, health::info, migrate::LayoutError},
};

/// Another round follows if the last one took longer than this and wrote more than the limit below, because much may have
/// changed meanwhile. The second limit is the maximum number of rounds.
const SOON: Duration = Duration::from_secs(10);
const FEW_ENTRIES: u64 = 2_000;
const ROUNDS: usize = 4;
/// With `appendfsync everysec`, a write is on disk after one second, or after two if the disk is busy.
const ON_DISK: Duration = Duration::from_secs(2);
/// Clocks with a smaller difference count as equal.
const SAME_MS: u64 = 1_000;
/// The reserved jobs. They are copied last, because their deadlines count from the time at which the queue was closed.
const HELD: &str = "reserved";
const STREAM: &str = "stream";
/// The sets whose scores are due times.
const DUE: [&str; 3] = ["delayed", "timers", "deliveries"];

/// The state in which a failed move leaves the queues; it follows the reason in the error.
const OPEN: &str = "nothing was moved, and the queues are served where they were";
const CLOSED: &str = "nothing was moved, and no call is served: run it again, or `intray move --cancel`";
const TAKEN: &str = "it continues with the queues";
const AGAIN: &str = "run it again, it continues from there";

impl Moving<'_> {
    pub(super) async fn go(&self, before: Option<Stage>) -> Result<Moved, LayoutError> {
        if before.is_none()
            && let Err(halt) = self.bring_in_use().await
        {
            // Another run may have closed what this one reads.
            let is_closed = MoveSource::mark(self.source.queues).await.is_ok_and(|mark| mark.is_some());
            return Err(if is_closed { refused(&Halt::Taken, TAKEN) } else { refused(&halt, OPEN) });
        }
        (self.report)("closing the queues: no call is served until they are there");
        let (stage, names) = self.source.set(Stage::Draining).await.map_err(|halt| refused(&halt, CLOSED))?;
        let tally = match stage {
            Stage::Draining => self.bring(&names).await?,
            // An earlier run has come this far.
            Stage::Switching | Stage::Moved => Tally::default(),
        };
        self.switch(&names).await.map_err(|halt| refused(&halt, AGAIN))?;
        Ok(Moved { queues: names, entries: tally.entries, digest: tally.digest, was_done: false })
    }

    /// The steps before the switch, which can be cancelled. A failure reopens the queues.
    async fn bring(&self, names: &[QueueName]) -> Result<Tally, LayoutError> {
        let halt = match self.bring_closed(names).await {
            Ok(tally) => return Ok(tally),
            Err(halt) => halt,
        };
        match (self.source.reopen(names).await, &halt) {
            (_, Halt::Taken) | (Err(Halt::Taken), _) => Err(refused(&Halt::Taken, TAKEN)),
            (Ok(()), _) => Err(refused(&halt, OPEN)),
            (Err(_), _) => Err(refused(&halt, CLOSED)),
        }
    }

    /// Copies in rounds until a round is short, so that little has changed since.
    async fn bring_in_use(&self) -> Result<(), Halt> {
        let names = self.source.queues.names().await.map_err(Halt::Source)?;
        if names.is_empty() {
            return Err(Halt::Refused("there are no queues".to_owned()));
        }
        for queue in &names {
            self.target.claim(queue, false).await?;
        }
        for round in 1..=ROUNDS {
            let (begin, mut written) = (Instant::now(), 0);
            for queue in &names {
                let tally = self.carry_queue(queue, None).await?;
                (self.report)(&format!(
                    "{queue}: {} entries, {} written, in round {round}",
                    tally.entries, tally.written
                ));
                written += tally.written;
            }
            if begin.elapsed() < SOON || written <= FEW_ENTRIES {
                break;
            }
        }
        Ok(())
    }

    async fn bring_closed(&self, names: &[QueueName]) -> Result<Tally, Halt> {
        let (mut sum, mut closed) = (Tally::default(), Vec::new());
        for queue in names {
            self.target.claim(queue, false).await?;
            closed.push((queue, self.source.close(queue).await?));
        }
        (self.report)("all queues are closed");
        for (queue, since) in closed {
            let tally = self.carry_queue(queue, Some(since)).await?;
            let (entries, digest) = (tally.entries, tally.digest);
            (self.report)(&format!(
                "{queue}: {entries} entries compared, {} written, digest {digest:016x}",
                tally.written
            ));
            sum.add(tally);
        }
        self.source.set(Stage::Switching).await?;
        Ok(sum)
    }

    /// Publishes the queues. It cannot be undone, because the target may serve some queues already.
    async fn switch(&self, names: &[QueueName]) -> Result<(), Halt> {
        self.on_disk(self.source.queues).await.map_err(Halt::Source)?;
        self.bring_webhooks().await?;
        (self.report)("all is there and the same; one queue after the other is now served there");
        for queue in names {
            if self.target.claim(queue, true).await? {
                let since = self.source.close(queue).await?;
                self.carry(&self.held(queue, since, false).await?).await?;
                self.target.publish(queue).await?;
            }
            (self.report)(&format!("{queue}: moved"));
        }
        self.on_disk(self.target.queues).await.map_err(Halt::Target)?;
        self.source.set(Stage::Moved).await.map(drop)
    }

    /// Waits for the disk, because a power cut could otherwise leave a queue at both places or at neither.
    async fn on_disk(&self, queues: &Queues) -> Result<(), Fault> {
        for link in queues.parts.runner.link.all().await? {
            if field(&info(&link).await?, "aof_enabled") == "1" {
                (self.report)("waiting until this is on disk");
                tokio::time::sleep(ON_DISK).await;
                break;
            }
        }
        Ok(())
    }

    /// Copies a queue. `closed`: the time at which it was closed; nothing changes after that, so all entries are compared.
    async fn carry_queue(&self, queue: &QueueName, closed: Option<u64>) -> Result<Tally, Halt> {
        let (mut sum, between) = (Tally::default(), self.between(queue).await?);
        for (name, kind) in keys::kinds() {
            let shift = if DUE.contains(&name) { between } else { 0 };
            let way = self.way(queue, (name, kind), shift, closed.is_some());
            sum.add(match (kind == STREAM, name == HELD, closed) {
                (true, _, None) | (_, true, None) => Tally::default(),
                (true, _, Some(_)) => self.carry_stream(&way).await?,
                (false, true, Some(since)) => self.carry(&self.held(queue, since, true).await?).await?,
                (false, false, _) => self.carry(&way).await?,
            });
        }
        Ok(sum)
    }

    fn way<'k>(&self, queue: &'k QueueName, (name, kind): (&'static str, &str), shift: i64, is_last: bool) -> Way<'k> {
        let (here, there) = (&self.source.queues.parts.runner.keys, &self.target.queues.parts.runner.keys);
        let from = if is_last { keys::aside(here, queue, name) } else { here.of(queue, name) };
        let kind = if kind == "hash" { ValueKind::Hash } else { ValueKind::Zset };
        Way { queue, name, kind, from, to: keys::staged(there, queue, name), shift, is_last, grows: true }
    }

    /// The way of the reserved jobs. Their remaining time continues from when the queue was closed.
    async fn held<'k>(&self, queue: &'k QueueName, since: u64, grows: bool) -> Result<Way<'k>, Halt> {
        let there = now(self.target.queues, queue).await.map_err(Halt::Target)?;
        let shift = there.cast_signed() - since.cast_signed();
        Ok(Way { grows, ..self.way(queue, (HELD, "zset"), shift, true) })
    }

    /// The milliseconds by which the target's clock is ahead.
    async fn between(&self, queue: &QueueName) -> Result<i64, Halt> {
        let here = now(self.source.queues, queue).await.map_err(Halt::Source)?;
        let there = now(self.target.queues, queue).await.map_err(Halt::Target)?;
        Ok(if here.abs_diff(there) < SAME_MS { 0 } else { there.cast_signed() - here.cast_signed() })
    }
}

/// The clock of the queue's server, in ms.
async fn now(queues: &Queues, queue: &QueueName) -> Result<u64, Fault> {
    Ok(queues.time_at(&queues.parts.runner.keys.of(queue, "jobs")).await?.0)
}

fn refused(halt: &Halt, outcome: &str) -> LayoutError {
    LayoutError::Refused(format!("{halt}; {outcome}"))
}
