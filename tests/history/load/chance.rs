//! Random numbers from the seed.

use std::time::Duration;

pub struct Chance(fastrand::Rng);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// An independent generator.
    pub fn fork(&mut self) -> Self {
        Self(self.0.fork())
    }

    /// True in so many cases of a hundred.
    pub fn percent(&mut self, cases: u32) -> bool {
        self.0.u32(..100) < cases
    }

    pub fn up_to(&mut self, max: u64) -> u64 {
        self.0.u64(..=max)
    }

    pub fn within(&mut self, from: u64, to: u64) -> u64 {
        self.0.u64(from..=to)
    }

    pub fn count(&mut self, from: usize, to: usize) -> usize {
        self.0.usize(from..=to)
    }

    pub fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.0.usize(..of.len())]
    }

    pub fn maybe<T>(&mut self, cases: u32, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.percent(cases).then(|| value(self))
    }

    pub async fn rest(&mut self, max_ms: u64) {
        tokio::time::sleep(Duration::from_millis(self.up_to(max_ms))).await;
    }
}
