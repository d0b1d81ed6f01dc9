//! Times that a call names.

use crate::job::Millis;

/// When a job first becomes ready.
#[derive(Debug, Clone, Copy)]
pub enum Delay {
    For(u32),
    Until(Millis),
}

/// A time that a call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// This many ms from now, by Redis's clock.
    In(u32),
    At(Millis),
}
