//! retire: a queue without jobs is removed with all that it has: an unused one by the background task, any other by an operator.

use intray_redis::{Applied, Args, Fault};

use crate::{
    handle::Queues,
    job::QueueName,
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// What became of a queue that an operator wants to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRemoval {
    Done,
    /// There is no such queue.
    Unknown,
    Kept(KeptFor),
}

/// Why a queue is not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptFor {
    /// It has jobs, perhaps ended ones.
    Jobs,
    Batches,
    Settings,
    /// A webhook has deliveries to send, or events to read.
    Deliveries,
}

/// Which queues may be removed.
enum Retire {
    /// One without settings that was not used for a day.
    Unused,
    /// One that an operator names.
    Forgotten,
}

#[derive(Debug)]
enum RetireReply {
    Retired { had_keys: bool },
    Kept(KeptFor),
}

impl Queues {
    /// Removes queues that have no jobs and no settings and were not used for a day.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn retire_unseen(&self) -> Result<(), Fault> {
        let mut kept = 0;
        loop {
            let unseen = self.parts.registry.unseen(kept).await?;
            if unseen.is_empty() {
                return Ok(());
            }
            for queue in unseen {
                match self.run_alone(&queue, &Retire::Unused).await? {
                    RetireReply::Retired { .. } => self.parts.registry.forget(&queue).await?,
                    RetireReply::Kept(_) => kept += 1,
                }
            }
        }
    }

    /// Removes a queue that has no jobs, with its settings, totals, history, events, sheets and actions.
    ///
    /// # Errors
    /// When Redis is not well. A repeated call removes what is left.
    pub async fn forget(&self, queue: &QueueName) -> Result<QueueRemoval, Fault> {
        let registry = &self.parts.registry;
        let seen = registry.last_seen(queue).await?;
        let had_keys = match self.run_alone(queue, &Retire::Forgotten).await? {
            RetireReply::Retired { had_keys } => had_keys,
            RetireReply::Kept(why) => return Ok(QueueRemoval::Kept(why)),
        };
        self.parts.forms.forget(queue);
        self.note_sheets(queue, false);
        registry.remove(queue, seen).await.map_err(|fault| fault.with(Applied::Unknown))?;
        Ok(if had_keys || seen.is_some() { QueueRemoval::Done } else { QueueRemoval::Unknown })
    }
}

impl Transition for Retire {
    type Outcome = RetireReply;
    const SCRIPT: &'static str = "retire";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(match self {
            Self::Unused => "unused",
            Self::Forgotten => "forgotten",
        });
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<RetireReply, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "retired" => Ok(RetireReply::Retired { had_keys: fields.flag()? }),
            "kept" => Ok(RetireReply::Kept(match fields.word()? {
                "jobs" => KeptFor::Jobs,
                "batches" => KeptFor::Batches,
                "settings" => KeptFor::Settings,
                "deliveries" => KeptFor::Deliveries,
                _ => return Err(broken("jobs, batches, settings or deliveries")),
            })),
            _ => Err(broken("retired or kept")),
        }
    }

    fn effect(&self, _: &RetireReply) -> Effect {
        Effect::None
    }
}
