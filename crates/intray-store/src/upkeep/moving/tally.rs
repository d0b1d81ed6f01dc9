//! The number of compared entries, and their digest.

use crate::sha256::Sha256;

/// The counts of a copy.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) entries: u64,
    /// Entries that were missing or different at the target.
    pub(super) written: u64,
    /// Independent of the order of the entries.
    pub(super) digest: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.written += other.written;
        self.digest = self.digest.wrapping_add(other.digest);
    }
}

/// The digest of one entry: the name of its key, and its parts.
pub(super) fn digest<'p>(key: &'p str, parts: impl IntoIterator<Item = &'p [u8]>) -> u64 {
    let mut hash = Sha256::default();
    for part in std::iter::once(key.as_bytes()).chain(parts) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}
