//! What operators did in a queue.

use intray_redis::{Args, Fault};

use crate::{handle::Queues, job::QueueName, layout::action::ActionEntry, redis::read::Fields};

/// A page of actions, newest first.
#[derive(Debug)]
pub struct ActionPage {
    pub actions: Vec<ActionEntry>,
    /// The number of the last one, if there are older ones.
    pub next: Option<u64>,
}

impl Queues {
    /// The last `limit` actions, or the last ones before the action with a number.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn actions(&self, queue: &QueueName, before: Option<u64>, limit: u32) -> Result<ActionPage, Fault> {
        let mut args = Args::default();
        args.number(limit.into()).push(before.map(|number| number.to_string()).unwrap_or_default());
        let answered = self.run_view("actions", queue, &args).await?;
        let mut fields = Fields::of(&answered)?;
        let has_older = fields.flag()?;
        let actions: Vec<_> = fields.lists().map(|entry| read(entry?)).collect::<Result<_, Fault>>()?;
        let next = actions.last().map(|action: &ActionEntry| action.number).filter(|_| has_older);
        Ok(ActionPage { actions, next })
    }
}

fn read(mut fields: Fields<'_>) -> Result<ActionEntry, Fault> {
    ActionEntry::parse(fields.count()?, fields.slice()?)
}
