//! Finds GOAWAY in the frames of an HTTP/2 peer, which hyper does not report.

/// The length of the client preface (RFC 9113, section 3.4), and of a frame header (section 4.1).
const PREFACE_BYTES: usize = 24;
const HEAD_BYTES: usize = 9;
/// The offset of the type in a frame header, and the type of GOAWAY (section 6.8).
const TYPE_OFFSET: usize = 3;
const GOAWAY: u8 = 7;

/// The position in the frames of a peer.
pub(super) struct GoawayScanner {
    /// Bytes before the next head.
    skip: usize,
    head: [u8; HEAD_BYTES],
    /// Bytes of the header that have arrived.
    known: usize,
}

impl Default for GoawayScanner {
    fn default() -> Self {
        Self { skip: PREFACE_BYTES, head: [0; HEAD_BYTES], known: 0 }
    }
}

impl GoawayScanner {
    /// Whether a GOAWAY begins in these bytes.
    pub(super) fn finds_goaway(&mut self, mut bytes: &[u8]) -> bool {
        let mut has_goaway = false;
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let (some, rest) = bytes.split_at((HEAD_BYTES - self.known).min(bytes.len()));
            if some.is_empty() {
                return has_goaway;
            }
            self.head[self.known..][..some.len()].copy_from_slice(some);
            (self.known, bytes) = (self.known + some.len(), rest);
            if self.known == HEAD_BYTES {
                let [a, b, c, ..] = self.head;
                (self.skip, self.known) = (u32::from_be_bytes([0, a, b, c]) as usize, 0);
                has_goaway |= self.head[TYPE_OFFSET] == GOAWAY;
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
        let talk =
            [vec![GOAWAY; PREFACE_BYTES], frame(4, &[]), frame(0, &[GOAWAY; 40]), frame(1, &[GOAWAY; 3])].concat();
        let goodbye = [talk.clone(), frame(GOAWAY, &[0; 8])].concat();
        for size in 1..goodbye.len() {
            let found = |bytes: &[u8]| {
                let mut frames = GoawayScanner::default();
                bytes.chunks(size).fold(false, |found, some| frames.finds_goaway(some) | found)
            };
            assert!(!found(&talk), "by {size}");
            assert!(found(&goodbye), "by {size}");
        }
    }
}
