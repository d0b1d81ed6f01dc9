//! The keys and arguments of a script.

/// The length that precedes each argument.
type Length = u32;
const LENGTH_BYTES: usize = size_of::<Length>();

/// A script's keys, or the arguments of one of its items, one after the other in one buffer.
#[derive(Default, Clone)]
pub struct Args {
    bytes: Vec<u8>,
    count: usize,
}

impl Args {
    /// With room for `count` arguments of `size` bytes in total.
    pub fn with_room(count: usize, size: usize) -> Self {
        Self { bytes: Vec::with_capacity(count * LENGTH_BYTES + size), count: 0 }
    }

    pub fn push(&mut self, arg: impl AsRef<[u8]>) -> &mut Self {
        let arg = arg.as_ref();
        self.bytes.extend_from_slice(&(arg.len() as Length).to_ne_bytes());
        self.bytes.extend_from_slice(arg);
        self.count += 1;
        self
    }

    /// Appends one argument that is the concatenation of `parts`.
    pub fn join(&mut self, parts: &[&str]) -> &mut Self {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.bytes.extend_from_slice(&(length as Length).to_ne_bytes());
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part.as_bytes()));
        self.count += 1;
        self
    }

    pub fn number(&mut self, arg: u64) -> &mut Self {
        self.push(itoa::Buffer::new().format(arg))
    }

    /// Appends one argument that `write` writes into the buffer itself.
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        let start = self.bytes.len();
        self.push("");
        write(&mut self.bytes);
        let length = (self.bytes.len() - start - LENGTH_BYTES) as Length;
        if let Some(prefix) = self.bytes[start..].first_chunk_mut() {
            *prefix = length.to_ne_bytes();
        }
        self
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let (length, after) = rest.split_first_chunk()?;
            let (arg, after) = after.split_at_checked(Length::from_ne_bytes(*length) as usize)?;
            rest = after;
            Some(arg)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_back_as_they_were_pushed() {
        let mut args = Args::with_room(2, 8);
        args.join(&["i", "", "d"]).number(1_763).push([0, 255]).push("");
        assert_eq!(args.iter().collect::<Vec<_>>(), [&b"id"[..], b"1763", &[0, 255], b""]);
        args.put(|bytes| bytes.extend(b"abc"));
        assert_eq!(args.iter().last(), Some(&b"abc"[..]));
        assert_eq!(args.count(), 5);
    }
}
