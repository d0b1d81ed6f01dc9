//! Operations on many jobs: which jobs an operator selects, and where the next call continues.

use std::fmt;

use super::cursor::Cursor;
use intray_redis::Args;

use crate::{
    job::{BatchId, Invalid, Millis, Name, QueueName},
    sha256::Sha256,
};

/// Where the next call continues. Opaque: hex of the place after which it continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// For a requeue: the time up to which jobs are dead. For a purge or a change of priority: the state of the jobs. For a
    /// reassignment: a digest of the queue and the worker.
    pub(crate) stage: String,
    /// `None`: at the front.
    pub(crate) after: Option<Cursor>,
}

impl Progress {
    pub const RULE: Invalid = Invalid("must be the `next` of the call before");

    /// At the front.
    pub(crate) fn begin(stage: &str) -> Self {
        Self { stage: stage.to_owned(), after: None }
    }

    /// The score and member to continue after, empty at the front.
    pub(crate) fn place(&self) -> (&str, &[u8]) {
        self.after.as_ref().and_then(Cursor::place).unwrap_or_default()
    }

    /// The progress of a purge or a change of priority.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn of_state(text: &str) -> Result<Self, Invalid> {
        Self::parse(text).filter(|at| at.stage.bytes().all(|byte| byte.is_ascii_lowercase())).ok_or(Self::RULE)
    }

    /// The progress of a requeue.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn of_requeue(text: &str) -> Result<Self, Invalid> {
        Self::parse(text).filter(|at| at.stage.parse::<u64>().is_ok_and(|until| until > 0)).ok_or(Self::RULE)
    }

    /// A reassignment at the front of the worker's line.
    pub(crate) fn begin_reassign(queue: &QueueName, from: &Name) -> Self {
        let digest = Sha256::digest([queue.as_str(), "\0", from.as_str()].concat());
        Self::begin(&hex::encode(&digest[..8]))
    }

    /// The progress of a reassignment, of this queue and worker only.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn of_reassign(text: &str, queue: &QueueName, from: &Name) -> Result<Self, Invalid> {
        let own = Self::begin_reassign(queue, from).stage;
        Self::parse(text).filter(|at| at.stage == own).ok_or(Self::RULE)
    }

    fn parse(text: &str) -> Option<Self> {
        let cursor = Cursor::parse(text).ok()?;
        let (stage, rest) = cursor.split()?;
        let after = if rest.is_empty() { None } else { Some(Cursor::of_place(rest)?) };
        Some(Self { stage: stage.to_owned(), after })
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(format!("{} ", self.stage)))?;
        self.after.iter().try_for_each(|cursor| write!(f, "{cursor}"))
    }
}

crate::job::serialize_displayed!(Progress);

/// Selects jobs of one state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct JobSelection {
    pub client: Option<Name>,
    pub batch: Option<BatchId>,
    /// One of the job's stored errors contains this text.
    pub error: Option<String>,
    /// Enqueued before this time, by the queue's own clock.
    pub enqueued_before: Option<Millis>,
}

impl JobSelection {
    pub(crate) fn push(&self, args: &mut Args) {
        args.push(self.client.as_ref().map_or("", Name::as_str));
        args.push(self.batch.as_ref().map_or("", |batch| batch.code.as_str()));
        args.push(self.error.as_deref().unwrap_or_default());
        args.push(self.enqueued_before.map_or_else(String::new, |time| time.0.to_string()));
    }
}

/// About how many jobs one call changes, in small steps.
pub(crate) const MAX_JOBS_PER_CALL: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_of_progress_round_trip() {
        let code = b"\x01\xff\x20\x00\x07\x417ZZZZZZZZZZZZZZZZZZZZZZZZZ";
        for (stage, score) in [("dead", ""), ("blocked", "0"), ("waiting", "17")] {
            let at = Progress { stage: stage.into(), after: Cursor::after(score, code) };
            assert_eq!(Progress::of_state(&at.to_string()), Ok(at.clone()));
            assert!(Progress::of_requeue(&at.to_string()).is_err());
        }
        let (queue, [ann, bob]) = (QueueName::default(), ["ann", "bob"].map(|name| Name::parse(name).expect("a name")));
        let at = Progress { after: Cursor::after("17", code), ..Progress::begin_reassign(&queue, &ann) };
        assert_eq!(Progress::of_reassign(&at.to_string(), &queue, &ann), Ok(at.clone()));
        assert!(Progress::of_reassign(&at.to_string(), &queue, &bob).is_err());
        let other = QueueName::parse("other").expect("a queue");
        assert!(Progress::of_reassign(&at.to_string(), &other, &ann).is_err());
        let at = Progress::begin("1763");
        assert_eq!(Progress::of_requeue(&at.to_string()), Ok(at));
        for text in ["", "7", "zz", "64656164", "64656164202061"] {
            assert!(Progress::of_state(text).is_err(), "{text}");
        }
    }
}
