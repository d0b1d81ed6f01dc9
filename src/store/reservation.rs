//! How scripts are told which reservation is meant, and how they say that there is no such one any more.

use intray_redis::{Args, Fault};

use crate::{
    job::{Ending, Reservation, State, ids},
    store::{
        redis::read::{Fields, broken},
        transition::{BatchPolicy, Effect, QueueCheck},
    },
};

/// The reservation is no longer the job's: nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// How this very reservation ended.
    pub ending: Ending,
    /// `None` when the reservation or the job is unknown.
    pub state: Option<State>,
}

/// What became of a job that was given back, by abandon or fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// `duplicate`: the same call ended the reservation before, and this one changed nothing.
    Returned {
        state: State,
        duplicate: bool,
    },
    /// The reservation goes on: for its grace, or because its holder has come back since.
    Stays,
    /// Nobody has a name, so nobody can be remembered to have skipped it.
    NobodySkips,
    Lost(Lost),
}

/// Whatever is said of a reservation is meant, whoever hears the answer; and nothing is run for one in a queue that is none.
pub(crate) const OF_A_RESERVATION: BatchPolicy =
    BatchPolicy { max_calls: usize::MAX, skips_abandoned: false, entry: QueueCheck::IfKnown, has_shared: false };

/// Id, secret, digest of the secret: how the arguments of each begin. Room is made for so many more, and their bytes.
pub(crate) fn handle(reservation: &Reservation, more: usize, size: usize) -> Args {
    let (code, secret) = (reservation.job.code.as_bytes(), reservation.secret.as_bytes());
    let digest = ids::secret_digest(&reservation.secret);
    let mut args = Args::with_room(3 + more, code.len() + secret.len() + digest.len() + size);
    args.push(code).push(secret).push(digest);
    args
}

impl Lost {
    /// In a queue that is none.
    pub(crate) const UNKNOWN: Self = Self { ending: Ending::Unknown, state: None };

    /// What stands behind the word.
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
            "unnamed" => Ok(Self::NobodySkips),
            "lost" => Lost::read(&mut fields).map(Self::Lost),
            _ => Err(broken("what became of a job that was given back")),
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        match self {
            Self::Returned { .. } | Self::Stays => Effect::Moved,
            Self::NobodySkips => Effect::None,
            Self::Lost(_) => Effect::Lost,
        }
    }
}
