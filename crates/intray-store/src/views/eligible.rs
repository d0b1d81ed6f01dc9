//! Whether a worker may be given a job.

use intray_redis::{Args, Fault};

use crate::job::{EligibilityRule, JobId, Name, Skill, State};
use crate::{
    handle::Queues,
    layout::routing::pack_skills,
    redis::read::{Fields, broken},
};

/// Whether a worker may be given a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eligible {
    Yes,
    No(EligibilityRule),
    Ended(State),
    UnknownJob,
}

impl Queues {
    /// Whether a worker with these skills may be given the job, now or once it is in line.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn eligible(&self, id: &JobId, worker: &Name, skills: &[Skill]) -> Result<Eligible, Fault> {
        let mut args = Args::default();
        args.push(id.code.as_str()).push(worker.as_str()).put(|out| pack_skills(skills, false, out));
        let answered = self.run_view("eligible", &id.queue, &args).await?;
        let mut answer = Fields::of(&answered)?;
        match answer.word()? {
            "eligible" => Ok(Eligible::Yes),
            "ineligible" => Ok(Eligible::No(answer.rule()?)),
            "state" => Ok(Eligible::Ended(answer.state()?)),
            "unknown" => Ok(Eligible::UnknownJob),
            _ => Err(broken("an answer of eligible")),
        }
    }
}
