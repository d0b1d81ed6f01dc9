//! Whether a call hit what there is: that is what strangers are judged by.

use super::{Failure, Problem};
use crate::job::Ending;

/// How many items of a call missed, and whether one hit. It goes with each answer that is about items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Aim {
    pub missed: u32,
    pub hit: bool,
}

impl Aim {
    pub fn of<T>(answers: &[Result<T, Problem>]) -> Self {
        let missed = answers.iter().filter(|answer| answer.as_ref().is_err_and(Problem::is_miss)).count();
        Self { missed: missed as u32, hit: missed < answers.len() }
    }
}

impl Problem {
    /// The same problem, of a call that was about a reservation which is there.
    #[must_use]
    pub fn of_a_hit(self) -> Self {
        Self { is_hit: true, ..self }
    }

    /// Whether somebody has said what nobody who holds a reservation says: nonsense, or a reservation that there is not.
    pub(super) fn is_miss(&self) -> bool {
        use Failure::{InvalidRequest, NotJson, TooLarge, TooManyItems, UnsupportedMediaType};
        let is_nonsense =
            matches!(self.failure, NotJson | TooLarge | TooManyItems | UnsupportedMediaType | InvalidRequest);
        is_nonsense && !self.is_hit || self.reason == Some(Ending::Unknown)
    }
}
