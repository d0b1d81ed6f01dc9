//! Recognises files that are not lines of JSON by their first bytes, to report this once and not for each line.

use serde_json::{error::Category, value::RawValue};

/// The first bytes of each format, its description, and the program that unpacks it.
const PACKED: [(&[u8], &str, &str); 5] = [
    (b"\x1f\x8b", "compressed by gzip", "gunzip -c"),
    (b"PK\x03\x04", "a zip archive", "unzip -p"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "zstd -dc"),
    (b"\xfd7zXZ\0", "compressed by xz", "xz -dc"),
    (b"BZh", "compressed by bzip2", "bzip2 -dc"),
];
pub const UTF16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Returns a sentence if the file does not begin with lines of JSON. `beginning` has no UTF-8 byte order mark.
pub fn foreign(beginning: &[u8], payloads: bool) -> Option<String> {
    let by = |program: &str| format!("{program} FILE | intray import -");
    if let Some((_, what, program)) = PACKED.iter().find(|(first, ..)| beginning.starts_with(first)) {
        return Some(format!("is {what}, not text: {}", by(program)));
    }
    let is_utf16 = UTF16.iter().any(|mark| beginning.starts_with(mark));
    if is_utf16 || matches!(beginning, [0, 1..=255, ..] | [1..=255, 0, ..]) {
        return Some(format!("is UTF-16, not UTF-8: {}", by("iconv -f UTF-16 -t UTF-8")));
    }
    if beginning.contains(&0) {
        return Some("is no text: a job a line is wanted, as JSON in UTF-8".to_owned());
    }
    let (line, is_whole) = first_line(beginning);
    let several = is_whole && goes_on(line);
    match line.first()? {
        b'[' if several || !payloads => Some(format!("is one array, not a job a line: {}", by("jq -c '.[]'"))),
        b'{' if several => Some(format!("is JSON over several lines, not a job a line: {}", by("jq -c ."))),
        b'<' => Some("is XML or HTML: a job a line is wanted, as JSON".to_owned()),
        _ if is_heading(line) => Some("is a table, not a job a line: intray import --csv FILE".to_owned()),
        _ => None,
    }
}

/// Returns the first line that is not blank, and whether it is complete.
fn first_line(beginning: &[u8]) -> (&[u8], bool) {
    let text = beginning.trim_ascii_start();
    match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => (text[..end].trim_ascii_end(), true),
        None => (text.trim_ascii_end(), false),
    }
}

/// Whether the line is the start of JSON that spans several lines.
fn goes_on(line: &[u8]) -> bool {
    let cut = |error: serde_json::Error| error.classify() == Category::Eof;
    line.last().is_some_and(|last| b"{[,".contains(last)) && serde_json::from_slice::<&RawValue>(line).is_err_and(cut)
}

/// Whether the line holds column names: JSON never has two words with only a separator between them.
fn is_heading(line: &[u8]) -> bool {
    let is_name = |cell: &[u8]| {
        let cell = cell.trim_ascii();
        let cell = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell);
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b" _-./".contains(byte) || !byte.is_ascii();
        cell.first().is_some_and(|byte| !byte.is_ascii_digit() && *byte != b'-') && cell.iter().all(is_part)
    };
    b",;\t".iter().any(|between| line.contains(between) && line.split(|byte| byte == between).all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(beginning: impl AsRef<[u8]>, payloads: bool) -> Option<String> {
        foreign(beginning.as_ref(), payloads)
    }

    #[test]
    fn files_of_another_form_are_known_by_their_beginning() {
        for (beginning, words) in [
            (&b"\xff\xfe{\0\"\0"[..], "UTF-16"),
            (b"\xfe\xff\0{\0\"", "UTF-16"),
            (b"{\0\"\0p\0", "UTF-16"),
            (b"\0{\0\"\0p", "UTF-16"),
            (b"\x1f\x8b\x08\0\0", "gunzip -c"),
            (b"PK\x03\x04\x14", "unzip -p"),
            (b"\x28\xb5\x2f\xfd\x04", "zstd -dc"),
            (b"\xfd7zXZ\0\0", "xz -dc"),
            (b"BZh91AY", "bzip2 -dc"),
            (b"SQLite format 3\0", "no text"),
            (b"[{\"payload\":1}]", "jq -c '.[]'"),
            (b"\n [\n{\"payload\":1},\n", "jq -c '.[]'"),
            (b"[]", "jq -c '.[]'"),
            (b"{\n  \"payload\": 1\n}\n", "jq -c ."),
            (b"{\"payload\": 1,\n\"queue\": \"a\"}\n", "jq -c ."),
            (b"id,payload\n1,2\n", "a table"),
            (b"\"id\";\"the payload\"\n1;2\n", "a table"),
            (b"id\tpayload\r\n1\t2\r\n", "a table"),
            (b"<?xml version=\"1.0\"?>", "XML"),
        ] {
            let message = complaint(beginning, false).unwrap_or_default();
            assert!(message.contains(words), "{beginning:?}: {message}");
        }
    }

    #[test]
    fn lines_of_json_are_of_the_right_form() {
        for beginning in [
            "",
            "\n\n",
            "{\"payload\":1}\n",
            "{\"payload\":1",
            "{\"payload\":[\"a,b\"]}",
            "nonsense\n",
            "{}",
            "{\"payload\":1,",
        ] {
            assert_eq!(complaint(beginning, false), None, "{beginning}");
        }
        for payload in [
            "1\n2\n",
            "[1]\n[2]\n",
            "[1,2]",
            "\"a,b\"\n",
            "\"a\"\n",
            "-1\n",
            "1,\"priority\":0\n",
            "null\n",
            "[1,",
            "{}\n",
        ] {
            assert_eq!(complaint(payload, true), None, "{payload}");
        }
        for several in ["[\n1,\n2]\n", "{\n\"a\":1}\n", "[1,\n2]\n"] {
            assert!(complaint(several, true).is_some(), "{several}");
        }
    }
}
