//! unname: an operator takes the name of a worker out of what a queue keeps.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Name, QueueName},
    transition::{Effect, Reply, Transition},
};

/// Where a step begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnnameFrom {
    Begin,
    /// Where the step before has ended, of this call or of the one before.
    Continue,
    /// Nothing is changed yet: the next call continues in this queue.
    Announce,
}

/// What a step has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NamesTaken {
    pub more: bool,
    pub jobs: u64,
    /// What webhooks have still to be sent.
    pub deliveries: u64,
}

struct UnnameStep<'n> {
    worker: &'n Name,
    seen: &'n str,
    from: UnnameFrom,
}

impl Queues {
    /// Takes the name out of a bounded number of jobs, also while Redis is full. The events that name the worker go later:
    /// [`Self::expunge`]. `seen`: the queues that the caller may see.
    ///
    /// # Errors
    /// When Redis is not well. What was changed before stays so, and the next step continues there.
    pub async fn unname(
        &self,
        queue: &QueueName,
        worker: &Name,
        seen: &str,
        from: UnnameFrom,
    ) -> Result<NamesTaken, Fault> {
        if from == UnnameFrom::Begin {
            self.catch_up(queue).await?;
        }
        let unnamed = self.run_alone(queue, &UnnameStep { worker, seen, from }).await?;
        self.note_erasures(queue, true);
        Ok(unnamed)
    }
}

/// The name as JSON has it, without quotes: so it is searched for in texts that are JSON.
pub(super) fn in_json(name: &Name) -> String {
    let quoted = serde_json::to_string(name).unwrap_or_default();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

impl Transition for UnnameStep<'_> {
    type Outcome = NamesTaken;
    const SCRIPT: &'static str = "unname";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.worker.as_str()).push(in_json(self.worker)).push(match self.from {
            UnnameFrom::Begin => "begin",
            UnnameFrom::Continue => "continue",
            UnnameFrom::Announce => "announce",
        });
        args.push(self.seen);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<NamesTaken, Fault> {
        let mut fields = reply.fields()?;
        Ok(NamesTaken { more: fields.flag()?, jobs: fields.count()?, deliveries: fields.count()? })
    }

    /// A hand-over or a fallback may end with it, and then another time is next.
    fn effect(&self, unnamed: &NamesTaken) -> Effect {
        Effect::moved_if(unnamed.jobs > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_escaped_as_bodies_have_it() {
        for (name, wanted) in [("ann", "ann"), ("J. \"D\u{f6}\\e\"", "J. \\\"D\u{f6}\\\\e\\\""), ("\"", "\\\"")] {
            assert_eq!(in_json(&Name::parse(name).expect("a name")), wanted);
        }
    }
}
