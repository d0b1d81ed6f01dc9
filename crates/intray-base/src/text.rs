//! What stands before a text: a byte order mark, which some editors and languages put there.

/// That of UTF-8. It is no part of the text (RFC 8259, section 8.1).
pub const MARK: &[u8] = b"\xef\xbb\xbf";
/// Those of UTF-16.
const UTF16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// The error for UTF-16.
pub const UTF16_RULE: &str = "it is UTF-16: save it as UTF-8";

/// Whether a text says of itself that it is UTF-16, which is read nowhere.
pub fn is_utf16(text: &[u8]) -> bool {
    UTF16.iter().any(|mark| text.starts_with(mark))
}
