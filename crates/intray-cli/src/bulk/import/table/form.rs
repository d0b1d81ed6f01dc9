//! Recognises files that are no tables by their first bytes, and finds what separates the cells of a table.

use serde::de::IgnoredAny;
use serde_json::error::Category;

use crate::bulk::{import::form::UTF16, table_options::Separator};

/// Workbooks, old and new; the new ones are zip archives.
const WORKBOOKS: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];
/// What separates cells, as an error names it.
const SEPARATORS: [(u8, &str); 3] = [(b',', ","), (b';', ";"), (b'\t', "tab")];

/// Returns a sentence if the file does not begin as a table in UTF-8. `beginning` has no byte order mark.
pub fn foreign(beginning: &[u8]) -> Option<String> {
    let first = beginning.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    if WORKBOOKS.iter().any(|mark| beginning.starts_with(mark)) {
        return Some("is a workbook or an archive, not a table as text: save the sheet as CSV UTF-8".to_owned());
    }
    let is_utf16 = UTF16.iter().any(|mark| beginning.starts_with(mark));
    if is_utf16 || matches!(beginning, [0, 1..=255, ..] | [1..=255, 0, ..]) {
        return Some("is UTF-16, not UTF-8: iconv -f UTF-16 -t UTF-8 FILE >table.csv".to_owned());
    }
    if beginning.contains(&0) {
        return Some("is no text: a table is wanted, as CSV in UTF-8".to_owned());
    }
    // A character may be cut at the end of the beginning.
    if std::str::from_utf8(beginning).is_err_and(|error| error.error_len().is_some()) {
        return Some(NOT_UTF8.to_owned());
    }
    if first.starts_with(b"{") || first.starts_with(b"[") {
        let is_json = match serde_json::from_slice::<IgnoredAny>(first) {
            Ok(_) => true,
            Err(error) => error.classify() == Category::Eof,
        };
        return is_json.then(|| "is JSON, not a table: leave out --csv".to_owned());
    }
    first.starts_with(b"<").then(|| "is XML or HTML: a table is wanted, as CSV in UTF-8".to_owned())
}

/// What to do about a table in another encoding.
pub const NOT_UTF8: &str = "is not UTF-8: save it as CSV UTF-8, or iconv -f WINDOWS-1252 -t UTF-8 FILE >table.csv";

/// Returns the separator that a first line like `sep=;` names, and the length of that line. Excel reads such a line and does not
/// keep it, so it is no row.
pub fn declared_separator(beginning: &[u8]) -> Option<(Separator, usize)> {
    let end = beginning.iter().position(|byte| b"\r\n".contains(byte))?;
    let line = &beginning[..end];
    let text = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (byte, name) = text.split_last()?;
    let separator = Separator::of(*byte).filter(|_| name.eq_ignore_ascii_case(b"sep="))?;
    let line_break = if beginning[end..].starts_with(b"\r\n") { 2 } else { 1 };
    Some((separator, end + line_break))
}

/// Finds the one separator in the first row, outside of quotes. A table with one column has none.
///
/// # Errors
/// A sentence about the file, if there are two, or another that is likely.
pub fn separator(beginning: &[u8]) -> Result<Separator, String> {
    let unquoted = unquoted_bytes(beginning);
    let found: Vec<_> = SEPARATORS.iter().filter(|(byte, _)| unquoted.contains(byte)).collect();
    let what = match found.as_slice() {
        [] if unquoted.contains(&b'|') => "no comma, semicolon or tab in its first row, but |".to_owned(),
        [] => return Ok(Separator(b',')),
        [(byte, _)] => return Ok(Separator(*byte)),
        [(_, one), (_, other), ..] => format!("{one} and {other} in its first row"),
    };
    Err(format!("has {what}: name what separates the cells by --separator"))
}

/// The bytes of the first row that are outside of quotes. A quote within a cell is a character like others.
fn unquoted_bytes(beginning: &[u8]) -> Vec<u8> {
    let (mut is_quoted, mut may_quote, mut unquoted) = (false, true, Vec::new());
    for byte in beginning.iter().skip_while(|byte| b"\r\n".contains(byte)) {
        match byte {
            b'"' if is_quoted || may_quote => (is_quoted, may_quote) = (!is_quoted, true),
            _ if is_quoted => {}
            b'\r' | b'\n' => break,
            _ => {
                may_quote = SEPARATORS.iter().any(|(separator, _)| separator == byte);
                unquoted.push(*byte);
            }
        }
    }
    unquoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_tables_are_known_by_their_beginning() {
        for (beginning, words) in [
            (&b"PK\x03\x04\x14"[..], "workbook"),
            (b"\xd0\xcf\x11\xe0\xa1", "workbook"),
            (b"\xff\xfea\0;\0", "UTF-16"),
            (b"a\0;\0", "UTF-16"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no text"),
            (b"name;gr\xf6\xdfe\n", "iconv -f WINDOWS-1252"),
            (b"{\"payload\":1}\n", "JSON"),
            (b"[\n{", "JSON"),
            (b"{\n", "JSON"),
            (b"<?xml", "XML"),
        ] {
            let message = foreign(beginning).unwrap_or_default();
            assert!(message.contains(words), "{beginning:?}: {message}");
        }
        for table in ["", "id;text\n", "[id],[text]\n", "{id}\n", "gr\u{f6}\u{df}e", "id"] {
            assert_eq!(foreign(table.as_bytes()), None, "{table}");
        }
        assert_eq!(foreign(&"größe".as_bytes()[..3]), None, "a character is cut");
    }

    #[test]
    fn separator_is_found_if_the_first_row_has_one() {
        for (text, byte) in [
            ("a,b\n1;2", b','),
            ("a;b\r\n1,2", b';'),
            ("a\tb", b'\t'),
            ("\r\n\"a,b\";\"c\td\"\n", b';'),
            ("\"a\n,\";b", b';'),
            ("5\" wide;\"a,b\"", b';'),
            ("\"5\"\" wide\";a", b';'),
            ("a", b','),
            ("", b','),
        ] {
            assert_eq!(separator(text.as_bytes()), Ok(Separator(byte)), "{text:?}");
        }
        for (text, words) in [("a,b;c", ", and ;"), ("a;b\tc", "; and tab"), ("a|b", "but |")] {
            assert!(separator(text.as_bytes()).is_err_and(|error| error.contains(words)), "{text:?}");
        }
    }
}
