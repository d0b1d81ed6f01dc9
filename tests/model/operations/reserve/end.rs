//! The end of an answer: what is left to do, and of an empty one why, and when to ask again.

use intray::store::{Reason, ReserveOutcome};

use super::super::prelude::*;
use crate::reference::{Given, Passed};

/// What an answer says of the queue as it is then.
pub struct End {
    /// What waited in the caller's own lines, unless it was given what it holds.
    own: u64,
    remaining: u64,
    now: Millis,
    /// Why, when to ask again, what was passed over, and whether there was work for others.
    nothing: Option<(Reason, u64, Passed, bool)>,
}

impl End {
    pub fn of(model: &Queue, given: &Given, own: u64, outcome: &ReserveOutcome) -> Option<Self> {
        let passed = match given {
            Given::Skipped(passed) | Given::Ineligible(passed) | Given::HeldUp(passed) => passed.clone(),
            _ => Passed::default(),
        };
        // A caller that gets again what is no longer held has looked into no line.
        let is_kept = !matches!(given, Given::Held(_)) && model.is_kept_from(&passed);
        let (&remaining, &now, nothing) = match outcome {
            ReserveOutcome::Jobs { remaining, now, .. } => (remaining, now, None),
            ReserveOutcome::Nothing { reason, retry_after_ms, remaining, now, .. } => {
                (remaining, now, Some((*reason, *retry_after_ms, passed, is_kept)))
            }
            ReserveOutcome::UnknownJob
            | ReserveOutcome::NotEligible(_)
            | ReserveOutcome::NotWaiting(_)
            | ReserveOutcome::QueuePaused
            | ReserveOutcome::WorkerLimit => return None,
        };
        let own = if matches!(given, Given::Held(_)) { 0 } else { own };
        Some(Self { own, remaining, now, nothing })
    }

    pub fn check(&self, model: &Queue) -> Verdict {
        same("remaining", &self.remaining, &(model.waiting_for_all() + self.own))?;
        same("reserve says that it is", &self.now, &Millis(model.now))?;
        let Some((reason, retry_after_ms, passed, is_kept)) = &self.nothing else { return Ok(()) };
        same("reserve gives nothing because", reason, &model.reason(passed, *is_kept))?;
        let soon = model.next_overdue().map(|moment| moment.saturating_sub(model.now));
        let next = soon.unwrap_or(5_000).clamp(250, 5_000);
        match (next..=(next + next / 10).min(5_000)).contains(retry_after_ms) {
            true => Ok(()),
            false => Err(format!("retry after {retry_after_ms} ms, and something happens in {next} ms")),
        }
    }
}
