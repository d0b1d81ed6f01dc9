//! How urgent a job is.

use serde::Serialize;

use super::{Invalid, limits};

/// 0 is the most urgent, 99 the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Priority(u8);

impl Priority {
    pub const RULE: Invalid = Invalid("must be a whole number from 0 (most urgent) to 99");

    /// # Errors
    /// [`Self::RULE`].
    pub fn new(value: u64) -> Result<Self, Invalid> {
        u8::try_from(value).ok().filter(|&p| p <= limits::PRIORITY).map(Self).ok_or(Self::RULE)
    }

    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(50)
    }
}
