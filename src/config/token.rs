//! Settings of `intray token`.

use clap::{Args, builder::RangedU64ValueParser};

use super::Signing;
use crate::{
    access::{Pattern, TokenScope},
    job::{JobId, Name, Skill, limits},
};

#[derive(Debug, Args)]
pub struct TokenOptions {
    /// Whose token it is
    #[arg(long, value_parser = |text: &str| Name::of_worker(text))]
    pub worker: Name,
    /// A queue that the worker may work in, or a pattern with *; repeatable, or a comma list
    #[arg(long, required_unless_present = "job", value_delimiter = ',', value_parser = |text: &str| Pattern::parse(text))]
    queue: Vec<Pattern>,
    /// The only job that the worker may reserve; it is not looked up
    #[arg(long, value_name = "ID", conflicts_with = "queue", value_parser = |text: &str| JobId::parse(text))]
    job: Option<JobId>,
    /// What the worker can do; repeatable
    #[arg(long, value_parser = |text: &str| Skill::parse(text))]
    skill: Vec<Skill>,
    /// How long the token lasts
    #[arg(long, value_name = "MS", default_value_t = limits::TOKEN_DEFAULT_MS)]
    #[arg(value_parser = RangedU64ValueParser::<u32>::new().range(1_000..=86_400_000))]
    pub ttl_ms: u32,
    #[command(flatten)]
    pub signing: Signing,
}

impl TokenOptions {
    pub fn scope(&self) -> TokenScope {
        match &self.job {
            Some(job) => TokenScope::Job(job.clone()),
            None => TokenScope::Queues(self.queue.clone()),
        }
    }

    /// # Errors
    /// When there are more than a token may have.
    pub fn skills(&self) -> Result<&[Skill], String> {
        if self.skill.len() <= limits::SKILLS {
            return Ok(&self.skill);
        }
        Err(format!("a token has at most {} skills: name --skill less often", limits::SKILLS))
    }
}
