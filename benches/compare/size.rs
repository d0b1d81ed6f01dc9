//! The size of a run: a check, a quarter of an hour, or everything.

use std::time::Duration;

use super::crowd::Span;

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Size {
    /// Checks that the bench works. Its figures mean nothing.
    Try,
    Usual,
    /// Up to five million jobs: takes 8 GiB of memory and an hour.
    Full,
}

impl Size {
    pub fn word(self) -> &'static str {
        match self {
            Self::Try => "try",
            Self::Usual => "usual",
            Self::Full => "full",
        }
    }

    pub fn span(self) -> Span {
        let (warm_up, measured) = match self {
            Self::Try => (100, 300),
            Self::Usual => (1_000, 3_000),
            Self::Full => (1_000, 5_000),
        };
        Span { warm_up: Duration::from_millis(warm_up), measured: Duration::from_millis(measured) }
    }

    /// Rounds of each measurement, alternating.
    pub fn rounds(self) -> usize {
        self.of(1, 3, 5)
    }

    pub fn of<T>(self, look: T, usual: T, full: T) -> T {
        match self {
            Self::Try => look,
            Self::Usual => usual,
            Self::Full => full,
        }
    }
}
