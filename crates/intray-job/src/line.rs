//! Who may take a job: its line, skills, and the rule that keeps a worker from it.

use std::{fmt, sync::Arc};

use serde::Serialize;

use super::{Invalid, Name, limits, words::words};

/// What a worker must be able to do to take a job.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Skill(Arc<str>);

impl Skill {
    pub const RULE: Invalid =
        Invalid("must be 1 to 64 bytes of text without control characters, with white space at neither end");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::SKILL).contains(&text.len()) && text.trim() == text;
        if fits && !text.chars().any(char::is_control) { Ok(Self(text.into())) } else { Err(Self::RULE) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A line of waiting jobs that are not for all workers: `@name` or `+skill`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Line {
    Worker(Name),
    Skill(Skill),
}

impl Line {
    /// What begins the line of a worker, and that of a skill.
    pub const WORKER: char = '@';
    pub const SKILL: char = '+';
    pub const RULE: Invalid = Invalid("must be '@' and the name of a worker, or '+' and a skill");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let worker = text.strip_prefix(Self::WORKER).and_then(|name| Name::parse(name).ok()).map(Self::Worker);
        let skill = || text.strip_prefix(Self::SKILL).and_then(|skill| Skill::parse(skill).ok()).map(Self::Skill);
        worker.or_else(skill).ok_or(Self::RULE)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(name) => write!(f, "{}{}", Self::WORKER, name.as_str()),
            Self::Skill(skill) => write!(f, "{}{}", Self::SKILL, skill.as_str()),
        }
    }
}

words! {
    /// Why a worker may not take a job.
    pub enum EligibilityRule {
        /// It is for other workers.
        Assignees = "assignees",
        /// It needs a skill that the worker does not have.
        Skill = "skill",
        /// The worker is excluded, or has no name.
        Excluded = "excluded",
        /// Each worker has one job of its batch, and this worker has had another, or has no name.
        Overlap = "overlap",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_read_as_it_is_written() {
        for text in ["@ann", "@+de", "+de", "+@ann", "@Ann Smith", "+C1 German"] {
            assert_eq!(Line::parse(text).map(|line| line.to_string()).as_deref(), Ok(text));
        }
        for wrong in ["", "@", "+", "ann", "+ de", "+de ", "@a\nb", &format!("+{}", "x".repeat(65))] {
            assert_eq!(Line::parse(wrong), Err(Line::RULE), "{wrong:?}");
        }
    }
}
