//! Failed attempts of a call, by which clients without a credential are limited.

use super::{Problem, ProblemType};
use crate::job::Ending;

/// How many items of a call failed, and whether one named a valid reservation. It travels with each answer about items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts {
    pub missed: u32,
    pub any_valid: bool,
}

impl Attempts {
    pub fn of<T>(answers: &[Result<T, Problem>]) -> Self {
        let failed = answers.iter().filter(|answer| answer.as_ref().is_err_and(Problem::is_failed_attempt)).count();
        Self { missed: failed as u32, any_valid: failed < answers.len() }
    }
}

impl Problem {
    /// The same problem, for a call that named a valid reservation.
    #[must_use]
    pub fn with_valid_reservation(self) -> Self {
        Self { has_valid_reservation: true, ..self }
    }

    /// Whether this counts as a failed attempt: a malformed call or an unknown reservation, which a client with a
    /// reservation does not send.
    pub(super) fn is_failed_attempt(&self) -> bool {
        use ProblemType::{InvalidRequest, NotJson, TooLarge, TooManyItems, UnsupportedMediaType};
        let is_nonsense =
            matches!(self.failure, NotJson | TooLarge | TooManyItems | UnsupportedMediaType | InvalidRequest);
        is_nonsense && !self.has_valid_reservation || self.reason == Some(Ending::Unknown)
    }
}
