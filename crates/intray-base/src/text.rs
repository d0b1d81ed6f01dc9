//! Texts: the byte order mark that some editors and languages put in front, and sizes in bytes for people.

use std::fmt;

/// The byte order mark of UTF-8. It is no part of the text (RFC 8259, section 8.1).
pub const MARK: &[u8] = b"\xef\xbb\xbf";
/// The byte order marks of UTF-16.
const UTF16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// The error for UTF-16.
pub const UTF16_RULE: &str = "it is UTF-16: save it as UTF-8";

/// Whether a text says of itself that it is UTF-16, which is read nowhere.
pub fn is_utf16(text: &[u8]) -> bool {
    UTF16.iter().any(|mark| text.starts_with(mark))
}

/// Bytes for people: `512 bytes`, `1.5 MiB`, `80 GiB`.
#[derive(Debug, Clone, Copy)]
pub struct ByteSize(pub u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
        let unit = (self.0.checked_ilog2().unwrap_or(0) as usize / 10).min(UNITS.len() - 1);
        let whole = self.0 >> (10 * unit);
        if unit == 0 || whole >= 10 {
            return write!(f, "{whole} {}", UNITS[unit]);
        }
        let tenths = (self.0 >> (10 * (unit - 1))) % 1024 * 10 / 1024;
        write!(f, "{whole}.{tenths} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::ByteSize;

    #[test]
    fn sizes_have_a_unit_and_two_digits_at_least() {
        let sizes = [0, 1023, 1536, 20 << 20, (1 << 30) - 1, 5 << 29, 80 << 30, 3 << 50, u64::MAX];
        assert_eq!(
            sizes.map(|bytes| ByteSize(bytes).to_string()),
            ["0 bytes", "1023 bytes", "1.5 KiB", "20 MiB", "1023 MiB", "2.5 GiB", "80 GiB", "3072 TiB", "16777215 TiB"]
        );
    }
}
