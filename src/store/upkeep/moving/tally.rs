//! What was compared, and a digest of it.

use crate::sha256::Sha256;

/// How much of a queue was compared.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) entries: u64,
    /// Those that the target did not have, or otherwise.
    pub(super) written: u64,
    /// Of all entries, in whatever order they come.
    pub(super) digest: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.written += other.written;
        self.digest = self.digest.wrapping_add(other.digest);
    }
}

/// Of one entry: a key's name and what stands in it.
pub(super) fn digest<'p>(key: &'p str, parts: impl IntoIterator<Item = &'p [u8]>) -> u64 {
    let mut hash = Sha256::default();
    for part in std::iter::once(key.as_bytes()).chain(parts) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}
