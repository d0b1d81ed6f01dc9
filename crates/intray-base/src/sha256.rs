//! SHA-256 as ring does it: TLS has ring anyway, and where a processor has no instructions for SHA-256 it takes half as many of
//! others as most.

use ring::digest::{Context, Digest, SHA256, digest};

pub type Hash = [u8; 32];

/// Of what comes in parts.
pub struct Sha256(Context);

impl Sha256 {
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Of what is there.
    pub fn digest(bytes: impl AsRef<[u8]>) -> Hash {
        hash(&digest(&SHA256, bytes.as_ref()))
    }

    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    pub fn finalize(self) -> Hash {
        hash(&self.0.finish())
    }
}

/// In lower case, as hashes are written.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash(digest: &Digest) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(digest.as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST FIPS 180-2, appendix B.1.
    #[test]
    fn a_text_has_the_same_digest_whole_and_in_parts() {
        let (mut parts, expected) = (Sha256::new(), [0xba, 0x78, 0x16, 0xbf]);
        parts.update("a");
        parts.update(b"bc");
        assert_eq!(Sha256::digest("abc"), parts.finalize());
        assert_eq!(Sha256::digest("abc")[..4], expected);
    }
}
