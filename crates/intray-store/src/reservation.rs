//! What all calls of a holder share: the arguments that name a reservation, and the replies when it is lost or given back.

use intray_redis::{Args, Fault};

use crate::{
    job::{Ending, Reservation, State, ids},
    payload::Json,
    redis::read::{Fields, broken},
    transition::{BatchPolicy, Effect, QueueCheck},
};

/// The reservation is no longer the job's, and nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// How this reservation ended.
    pub ending: Ending,
    /// `None` when the reservation or the job is unknown.
    pub state: Option<State>,
}

/// The outcome of an abandon or a fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// `duplicate`: an earlier run of the same call ended the reservation, and this one changed nothing.
    Returned {
        state: State,
        duplicate: bool,
    },
    /// The reservation stays: its grace period runs, or its holder has resumed it since.
    Stays,
    /// The holder has no name, so the skip cannot be recorded.
    UnnamedSkip,
    /// The job would expire before its delay ends.
    BeyondExpiry,
    /// Its worker has completed the job, and may only take that back.
    Closing {
        final_in_ms: u64,
    },
    Lost(Lost),
}

/// Calls of a holder take effect even if their caller has left. A queue that does not exist costs no script.
pub(crate) const HOLDER_CALLS: BatchPolicy = BatchPolicy::plain(QueueCheck::IfKnown);

/// The first arguments of each call: id, secret, digest of the secret. Reserves capacity for `more` arguments of `size` bytes.
pub(crate) fn handle(reservation: &Reservation, more: usize, size: usize) -> Args {
    let (code, secret) = (reservation.job.code.as_bytes(), reservation.secret.as_bytes());
    let digest = ids::secret_digest(&reservation.secret);
    let mut args = Args::with_room(3 + more, code.len() + secret.len() + digest.len() + size);
    args.push(code).push(secret).push(digest);
    args
}

/// The argument for the resumes that a caller knows of; none: any.
pub(crate) fn push_resumes(args: &mut Args, resumes: Option<u32>) {
    match resumes {
        Some(resumes) => args.number(resumes.into()),
        None => args.push("-1"),
    };
}

/// The argument for JSON that may be absent.
pub(crate) fn text(json: Option<&Json>) -> &str {
    json.map_or("", Json::as_str)
}

impl Lost {
    /// The reservation names a queue that does not exist.
    pub(crate) const UNKNOWN: Self = Self { ending: Ending::Unknown, state: None };

    /// Reads the fields after the word `lost`.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        let ending = Ending::parse(fields.word()?).ok_or_else(|| broken("how a reservation ended"))?;
        Ok(Self { ending, state: State::parse(fields.word()?) })
    }
}

impl Return {
    pub(crate) fn read((word, mut fields): (&str, Fields<'_>)) -> Result<Self, Fault> {
        match word {
            "back" => Ok(Self::Returned { state: fields.state()?, duplicate: false }),
            "again" => Ok(Self::Returned { state: fields.state()?, duplicate: true }),
            "grace" | "resumed" => Ok(Self::Stays),
            "unnamed" => Ok(Self::UnnamedSkip),
            "beyond" => Ok(Self::BeyondExpiry),
            "closing" => Ok(Self::Closing { final_in_ms: fields.count()? }),
            "lost" => Lost::read(&mut fields).map(Self::Lost),
            _ => Err(broken("what became of a job that was given back")),
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        match self {
            Self::Returned { .. } | Self::Stays => Effect::Moved,
            Self::UnnamedSkip | Self::BeyondExpiry | Self::Closing { .. } => Effect::None,
            Self::Lost(_) => Effect::Lost,
        }
    }
}
