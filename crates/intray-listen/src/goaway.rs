//! Whether the peer of a connection of HTTP/2 has said that it is at its end, which hyper keeps to itself.

/// What a client says first (RFC 9113, section 3.4), and how long the head of a frame is (section 4.1).
const PREFACE: usize = 24;
const HEAD: usize = 9;
/// Where the type stands in the head of a frame, and that of a goodbye (section 6.8).
const TYPE: usize = 3;
const GOAWAY: u8 = 7;

/// Where in the frames of its peer a connection is.
pub(super) struct Frames {
    /// Bytes before the next head.
    skip: usize,
    head: [u8; HEAD],
    /// Bytes of the head that have come.
    known: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { skip: PREFACE, head: [0; HEAD], known: 0 }
    }
}

impl Frames {
    /// Whether a goodbye begins in what has come now.
    pub(super) fn say_goodbye(&mut self, mut bytes: &[u8]) -> bool {
        let mut is_goodbye = false;
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let (some, rest) = bytes.split_at((HEAD - self.known).min(bytes.len()));
            if some.is_empty() {
                return is_goodbye;
            }
            self.head[self.known..][..some.len()].copy_from_slice(some);
            (self.known, bytes) = (self.known + some.len(), rest);
            if self.known == HEAD {
                let [a, b, c, ..] = self.head;
                (self.skip, self.known) = (u32::from_be_bytes([0, a, b, c]) as usize, 0);
                is_goodbye |= self.head[TYPE] == GOAWAY;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        [&[0, 0, payload.len() as u8, kind, 0, 0, 0, 0, 0], payload].concat()
    }

    #[test]
    fn goodbyes_are_found_however_bytes_are_cut() {
        let talk = [vec![GOAWAY; PREFACE], frame(4, &[]), frame(0, &[GOAWAY; 40]), frame(1, &[GOAWAY; 3])].concat();
        let goodbye = [talk.clone(), frame(GOAWAY, &[0; 8])].concat();
        for size in 1..goodbye.len() {
            let found = |bytes: &[u8]| {
                let mut frames = Frames::default();
                bytes.chunks(size).fold(false, |found, some| frames.say_goodbye(some) | found)
            };
            assert!(!found(&talk), "by {size}");
            assert!(found(&goodbye), "by {size}");
        }
    }
}
