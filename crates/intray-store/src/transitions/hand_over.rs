//! hand_over: the holder gives the job to another worker, or to those with a skill.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{EligibilityRule, Line, Reservation, State, limits},
    payload::Json,
    redis::read::broken,
    reservation::{HOLDER_CALLS, Lost, handle, text},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

/// The holder gives the job to another worker, or to those with a skill.
#[derive(Debug, Clone)]
pub struct HandOver {
    pub reservation: Reservation,
    pub to: Line,
    /// A text for the next holder.
    pub note: Option<String>,
    /// The draft to keep; JSON null removes it.
    pub draft: Option<Json>,
    /// How long the job is for them, unless they have had it before; [`limits::HAND_OVER_MS`] if absent.
    pub fallback_ms: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandOverOutcome {
    /// `duplicate`: an earlier run of the same call handed the job over, and this one changed nothing.
    HandedOver {
        state: State,
        duplicate: bool,
    },
    /// The reservation has handed the job to another, and this call changed nothing.
    Elsewhere {
        to: Line,
        state: State,
    },
    /// The worker may not have it; the reservation stays.
    NotEligible(EligibilityRule),
    /// The worker is its holder; the reservation stays.
    SameWorker,
    /// The worker has completed the job, and may only take that back.
    Closing {
        final_in_ms: u64,
    },
    Lost(Lost),
}

impl Queues {
    /// Gives a job to another worker, without counting an attempt. It keeps its place in line.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn hand_over(&self, call: HandOver) -> Result<HandOverOutcome, Fault> {
        let queue = call.reservation.job.queue.clone();
        self.parts.batcher.call(&queue, call).await
    }
}

impl HandOver {
    fn note(&self) -> &str {
        self.note.as_deref().unwrap_or_default()
    }

    /// Bytes of what it stores.
    fn size(&self) -> usize {
        self.note().len() + text(self.draft.as_ref()).len()
    }
}

impl Transition for HandOver {
    type Outcome = HandOverOutcome;
    const SCRIPT: &'static str = "hand_over";

    fn args(&self) -> Args {
        let line = self.to.to_string();
        let mut args = handle(&self.reservation, 4, line.len() + self.size() + 10);
        args.push(line).push(self.note()).number(self.fallback_ms.unwrap_or(limits::HAND_OVER_MS).into());
        args.push(text(self.draft.as_ref()));
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<HandOverOutcome, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "handed" => Ok(HandOverOutcome::HandedOver { state: fields.state()?, duplicate: false }),
            "again" => Ok(HandOverOutcome::HandedOver { state: fields.state()?, duplicate: true }),
            "ineligible" => Ok(HandOverOutcome::NotEligible(fields.rule()?)),
            "same" => Ok(HandOverOutcome::SameWorker),
            "elsewhere" => {
                let to = Line::parse(fields.word()?).map_err(|_| broken("the line of a hand-over"))?;
                Ok(HandOverOutcome::Elsewhere { to, state: fields.state()? })
            }
            "closing" => Ok(HandOverOutcome::Closing { final_in_ms: fields.count()? }),
            "lost" => Lost::read(&mut fields).map(HandOverOutcome::Lost),
            _ => Err(broken("what became of a job that was handed over")),
        }
    }

    fn effect(&self, outcome: &HandOverOutcome) -> Effect {
        match outcome {
            HandOverOutcome::HandedOver { .. } => Effect::Moved,
            HandOverOutcome::NotEligible(_) | HandOverOutcome::SameWorker | HandOverOutcome::Closing { .. } => {
                Effect::None
            }
            HandOverOutcome::Elsewhere { .. } | HandOverOutcome::Lost(_) => Effect::Lost,
        }
    }
}

impl BatchedTransition for HandOver {
    const BATCHING: BatchPolicy = HOLDER_CALLS;

    fn needs_memory(&self) -> bool {
        self.size() > limits::SMALL_RESULT
    }

    fn rejected(&self) -> Result<HandOverOutcome, Fault> {
        Ok(HandOverOutcome::Lost(Lost::UNKNOWN))
    }
}
