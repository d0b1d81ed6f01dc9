//! What a script is called with.

/// The arguments of a script, one after the other in one buffer.
#[derive(Default, Clone)]
pub(crate) struct Args {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    pub(crate) fn push(&mut self, arg: impl AsRef<[u8]>) -> &mut Self {
        self.bytes.extend_from_slice(arg.as_ref());
        self.ends.push(self.bytes.len());
        self
    }

    pub(crate) fn number(&mut self, arg: u64) -> &mut Self {
        self.push(arg.to_string())
    }

    pub(crate) fn append(&mut self, other: &Self) {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| base + end));
    }

    /// Without the last so many.
    pub(crate) fn without_last(&mut self, count: usize) -> &mut Self {
        self.ends.truncate(self.ends.len() - count);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }
}
