//! Text from files, answers and errors on its way to a terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthChar;

/// Replaces control characters and invisible characters, so that text cannot control the terminal.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.width().is_none_or(|width| width == 0) { '\u{fffd}' } else { c }).collect()
}

/// The same for a text of several lines.
pub fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Writes clean lines. An unfinished line is kept until its end or a flush.
pub(crate) struct TerminalWriter<W> {
    into: W,
    line: Vec<u8>,
}

impl<W> TerminalWriter<W> {
    pub(crate) fn new(into: W) -> Self {
        Self { into, line: Vec::new() }
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend(bytes);
        if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let lines = std::mem::replace(&mut self.line, rest);
            self.into.write_all(clean_lines(&String::from_utf8_lossy(&lines)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.line);
        self.into.write_all(clean_lines(&String::from_utf8_lossy(&rest)).as_bytes())?;
        self.into.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cleaned_wherever_they_are_cut() {
        let text = "{\"a\":\"日\u{9b}0m\"}\nend\u{1b}";
        for cut in 0..=text.len() {
            let mut writer = TerminalWriter::new(Vec::new());
            for part in [&text.as_bytes()[..cut], &text.as_bytes()[cut..]] {
                writer.write_all(part).expect("room");
            }
            writer.flush().expect("room");
            assert_eq!(String::from_utf8_lossy(&writer.into), clean_lines(text), "cut at {cut}");
        }
    }

    #[test]
    fn text_gives_a_terminal_no_orders() {
        assert_eq!(clean("a\u{1b}[2Jb\u{202e}c\td\ne"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e");
        assert_eq!(clean("Ägypten 日本"), "Ägypten 日本");
        assert_eq!(clean_lines("a\u{7}\nb\u{9b}0m"), "a\u{fffd}\nb\u{fffd}0m");
    }
}
