//! What waits for one worker, queue by queue.

use intray_redis::{Args, Fault};
use serde::Serialize;

use crate::job::{Name, QueueName, Skill};
use crate::{handle::Queues, layout::routing::pack_skills, redis::read::Fields};

/// Queues whose scripts go out together, so that other calls are not delayed.
const CHUNK: usize = 32;

/// A queue as one worker sees it.
#[derive(Debug, Serialize)]
pub struct PersonalQueue {
    pub name: QueueName,
    /// Jobs for all workers, and those in the worker's own lines.
    pub waiting: u64,
    pub paused: bool,
}

impl Queues {
    /// The first queues that `sees` allows, by name, at most `limit` of them. Those whose node is away are left out, unless all are.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn personal_queues(
        &self,
        worker: Option<&Name>,
        skills: &[Skill],
        limit: usize,
        sees: impl Fn(&QueueName) -> bool,
    ) -> Result<Vec<PersonalQueue>, Fault> {
        let mut names = self.names().await?;
        names.retain(sees);
        names.truncate(limit);
        let (mut all, mut why) = (Vec::with_capacity(names.len()), None);
        for some in names.chunks(CHUNK) {
            let asked = some.iter().map(|name| (name, self.personal_queue(name, worker, skills)));
            let (there, away) = self.ask_each(asked).await?;
            all.extend(there.into_iter().map(|(_, queue)| queue));
            why = why.or(away.into_iter().map(|(_, fault)| fault).next());
        }
        match why {
            Some(fault) if all.is_empty() => Err(fault),
            _ => Ok(all),
        }
    }

    async fn personal_queue(
        &self,
        queue: &QueueName,
        worker: Option<&Name>,
        skills: &[Skill],
    ) -> Result<PersonalQueue, Fault> {
        let mut args = Args::default();
        args.push(worker.map_or("", Name::as_str)).put(|out| pack_skills(skills, false, out));
        let answered = self.run_view("personal", queue, &args).await?;
        let mut answer = Fields::of(&answered)?;
        Ok(PersonalQueue { name: queue.clone(), waiting: answer.count()?, paused: answer.flag()? })
    }
}
