//! A completion and its answers.

use intray_form::FormFault;
use intray_redis::{Args, Fault};

use super::{
    redis::read::broken,
    reservation::{Lost, text},
    transition::{Effect, Reply},
};
use crate::{
    figures::QueueMetrics,
    job::{QueueName, Reservation, ids},
    payload::Json,
};

/// Why a form that was set is not read.
pub(crate) const FORM_TOO_NEW: &str = "the form of the queue was set by a newer version of intray";
/// Why a completion is not taken then. Its caller may be a stranger.
pub const UNCHECKED: &str = "the result cannot be checked at the moment";
/// The room for a number among the arguments.
const NUMBER: usize = 10;

/// The holder reports success.
#[derive(Debug, Clone)]
pub struct Complete {
    pub reservation: Reservation,
    pub result: Option<Json>,
    /// How long the completion can be undone; 0: not at all.
    pub undo_ms: u32,
    /// Complete it only if no completion was taken back since the holder had resumed it this often.
    pub resumes: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// `late`: after the deadline, before another worker got the job. `duplicate`: a repeated call, counted once.
    Done { late: bool, duplicate: bool },
    /// It will be completed when this time is over, unless its worker takes it back.
    Closing { final_in_ms: u64, duplicate: bool },
    /// The worker has completed it with another result, and may only take that back.
    HasOtherResult { final_in_ms: u64 },
    /// The completion was taken back since the caller looked; nothing changed.
    Undone,
    /// The result does not fit the form of the queue; nothing changed.
    Invalid(Vec<FormFault>),
    /// The reservation is no longer the job's. If it ever was, the result is kept among the job's late results.
    Lost(Lost),
}

/// A reply of the script.
pub(crate) struct CompleteReply {
    pub(crate) completion: Completion,
    /// From the hand-out to the completion, also to one that can be taken back; `None` for a repeated call.
    held_ms: Option<u64>,
}

impl From<Completion> for CompleteReply {
    fn from(completion: Completion) -> Self {
        Self { completion, held_ms: None }
    }
}

impl Complete {
    /// One that is final at once.
    pub fn new(reservation: Reservation, result: Option<Json>) -> Self {
        Self { reservation, result, undo_ms: 0, resumes: None }
    }

    /// The first arguments: the id, and secret, digest of the secret and result in one. Reserves capacity for
    /// `more` arguments.
    pub(crate) fn claim(&self, more: usize) -> Args {
        let (id, secret) = (self.reservation.job.code.as_str(), self.reservation.secret.as_str());
        let size = id.len() + secret.len() + ids::DIGEST_LEN + text(self.result.as_ref()).len() + more * NUMBER;
        let mut args = Args::with_room(2 + more, size);
        args.push(id).put(|claim| {
            claim.extend(secret.as_bytes());
            claim.extend(ids::secret_digest(&self.reservation.secret));
            claim.extend(text(self.result.as_ref()).as_bytes());
        });
        args
    }
}

impl CompleteReply {
    pub(crate) fn parse(reply: Reply<'_>) -> Result<Self, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "done" => {
                let completion = Completion::Done { late: fields.flag()?, duplicate: false };
                Ok(Self { completion, held_ms: Some(fields.count()?) })
            }
            "again" => Ok(Completion::Done { late: fields.flag()?, duplicate: true }.into()),
            "closed" => {
                let (duplicate, final_in_ms) = (fields.flag()?, fields.count()?);
                let held_ms = if duplicate { None } else { Some(fields.count()?) };
                Ok(Self { completion: Completion::Closing { final_in_ms, duplicate }, held_ms })
            }
            "closing" => Ok(Completion::HasOtherResult { final_in_ms: fields.count()? }.into()),
            "undone" => Ok(Completion::Undone.into()),
            "lost" => Ok(Completion::Lost(Lost::read(&mut fields)?).into()),
            _ => Err(broken("what became of a completed job")),
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        match self.completion {
            Completion::Done { .. } | Completion::Closing { .. } => Effect::Moved,
            Completion::HasOtherResult { .. } | Completion::Undone | Completion::Invalid(_) => Effect::None,
            Completion::Lost(_) => Effect::Lost,
        }
    }

    pub(crate) fn measure(&self, queue: &QueueName, metrics: &QueueMetrics) {
        if let Some(ms) = self.held_ms {
            metrics.record_held(queue.as_str(), ms as f64 / 1e3);
        }
    }
}
