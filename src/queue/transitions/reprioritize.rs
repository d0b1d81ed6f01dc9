//! reprioritize: the producer moves a job in the line.

use crate::{
    job::{JobId, Name, Priority, State},
    queue::{
        fault::Fault,
        handle::Queues,
        redis::{args::Args, read::broken},
        transition::{Effect, Reply, Transition},
    },
};

struct Reprioritize<'r> {
    id: JobId,
    priority: Priority,
    by: Option<&'r Name>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reprioritized {
    Changed(State),
    UnknownJob,
    /// The job has ended.
    WrongState(State),
}

impl Queues {
    /// Moves a waiting job at once, a reserved one on its return.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reprioritize(&self, id: JobId, priority: Priority, by: Option<&Name>) -> Result<Reprioritized, Fault> {
        let queue = id.queue.clone();
        self.go_alone(&queue, &Reprioritize { id, priority, by }).await
    }
}

impl Transition for Reprioritize<'_> {
    type Outcome = Reprioritized;
    const SCRIPT: &'static str = "reprioritize";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.id.code.as_str()).number(self.priority.get().into()).push(self.by.map_or("", Name::as_str));
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Reprioritized, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "changed" => Ok(Reprioritized::Changed(fields.state()?)),
            "unknown" => Ok(Reprioritized::UnknownJob),
            "state" => Ok(Reprioritized::WrongState(fields.state()?)),
            _ => Err(broken("changed, unknown or state")),
        }
    }

    /// Its times stay what they are.
    fn effect(&self, _: &Reprioritized) -> Effect {
        Effect::None
    }
}
