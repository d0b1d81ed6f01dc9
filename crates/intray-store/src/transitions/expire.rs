//! expire: cancels jobs that have expired and reports breached SLAs, a bounded number per step.

use intray_redis::{Args, Fault};

use crate::transition::{Effect, Reply, Transition};

/// One bounded step.
pub(crate) struct ExpireStep;

impl Transition for ExpireStep {
    type Outcome = ();
    const SCRIPT: &'static str = "expire";
    /// The next sweep comes anyway.
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        Args::default()
    }

    /// The sweep that follows finds out whether there is more.
    fn read(&self, reply: Reply<'_>) -> Result<(), Fault> {
        reply.fields().map(drop)
    }

    fn effect(&self, (): &()) -> Effect {
        Effect::None
    }
}
