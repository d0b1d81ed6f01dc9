//! Reads an append-only file entry by entry, in constant memory.
//!
//! It is stricter than the server's own loader, which skips the two bytes after a value and so would load a value that a power
//! cut has filled with zeros.

use std::io::{self, BufRead};

/// The largest value, and the maximum number of values, that a server writes.
const MAX_VALUE_BYTES: u64 = 512 << 20;
const MAX_VALUES: u64 = 1 << 31;
/// The maximum digits of a number, and the longest word that opens or closes a transaction.
const DIGITS: usize = 10;
const WORD: usize = "MULTI".len();

/// The result of a scan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AofScan {
    /// Bytes up to the end of the last complete transaction or single entry.
    pub(super) whole: u64,
    pub(super) end: AofEnd,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum AofEnd {
    Whole,
    /// The file ends within a transaction, or within the entry that begins here.
    Short(u64),
    /// The bytes at `entry` are not an entry: the byte at `wrong` is invalid.
    Broken {
        entry: u64,
        wrong: u64,
    },
}

pub(super) fn scan(file: impl BufRead) -> io::Result<AofScan> {
    let mut reader = Reader { file, at: 0 };
    let (mut whole, mut is_open) = (0, false);
    loop {
        let entry = reader.at;
        let end = match reader.entry() {
            Ok(AofEntry::Open) => {
                is_open = true;
                continue;
            }
            Ok(AofEntry::Close) => {
                (whole, is_open) = (reader.at, false);
                continue;
            }
            Ok(AofEntry::Other) => {
                whole = if is_open { whole } else { reader.at };
                continue;
            }
            Err(ScanError::Over) if reader.at == entry && !is_open => AofEnd::Whole,
            Err(ScanError::Over) => AofEnd::Short(entry),
            Err(ScanError::Wrong) => AofEnd::Broken { entry, wrong: reader.at },
            Err(ScanError::Io(error)) => return Err(error),
        };
        return Ok(AofScan { whole, end });
    }
}

/// Whether a complete entry begins anywhere after the first byte.
pub(super) fn contains_entry(bytes: &[u8]) -> bool {
    let stars = bytes.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'*');
    stars.into_iter().any(|(at, _)| Reader { file: &bytes[at..], at: 0 }.entry().is_ok())
}

enum AofEntry {
    /// MULTI
    Open,
    /// EXEC
    Close,
    Other,
}

enum ScanError {
    /// The end of the file.
    Over,
    /// An unexpected byte.
    Wrong,
    Io(io::Error),
}

struct Reader<R> {
    file: R,
    at: u64,
}

impl<R: BufRead> Reader<R> {
    /// `*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n`; a line that begins with `#` is a timestamp and belongs to the next entry.
    fn entry(&mut self) -> Result<AofEntry, ScanError> {
        while self.peek()? == b'#' {
            self.skip_line()?;
        }
        let values = self.number(b'*', 1..=MAX_VALUES)?;
        let length = self.number(b'$', 0..=MAX_VALUE_BYTES)?;
        let mut word = [0; WORD];
        let kept = usize::try_from(length).unwrap_or(usize::MAX).min(WORD);
        self.take(length, &mut word[..kept])?;
        for _ in 1..values {
            let length = self.number(b'$', 0..=MAX_VALUE_BYTES)?;
            self.take(length, &mut [])?;
        }
        let is = |name: &str| length == name.len() as u64 && word[..kept].eq_ignore_ascii_case(name.as_bytes());
        Ok(if is("MULTI") {
            AofEntry::Open
        } else if is("EXEC") {
            AofEntry::Close
        } else {
            AofEntry::Other
        })
    }

    /// A number with a prefix, on a line of its own.
    fn number(&mut self, kind: u8, range: std::ops::RangeInclusive<u64>) -> Result<u64, ScanError> {
        self.expect(kind)?;
        let (mut number, mut digits) = (0, 0);
        while let digit @ b'0'..=b'9' = self.peek()? {
            if digits == DIGITS {
                return Err(ScanError::Wrong);
            }
            number = number * 10 + u64::from(digit - b'0');
            digits += 1;
            self.step(1);
        }
        if digits == 0 || !range.contains(&number) {
            return Err(ScanError::Wrong);
        }
        self.line_end()?;
        Ok(number)
    }

    /// A value and its line end. The first bytes of the value are kept.
    fn take(&mut self, length: u64, mut first: &mut [u8]) -> Result<(), ScanError> {
        let mut left = length;
        while left > 0 {
            let there = self.there()?;
            let some = there.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let kept = some.min(first.len());
            let (now, later) = std::mem::take(&mut first).split_at_mut(kept);
            now.copy_from_slice(&there[..kept]);
            first = later;
            self.step(some);
            left -= some as u64;
        }
        self.line_end()
    }

    fn skip_line(&mut self) -> Result<(), ScanError> {
        while self.peek()? != b'\r' {
            if self.peek()?.is_ascii_control() {
                return Err(ScanError::Wrong);
            }
            self.step(1);
        }
        self.line_end()
    }

    fn line_end(&mut self) -> Result<(), ScanError> {
        self.expect(b'\r')?;
        self.expect(b'\n')
    }

    fn expect(&mut self, byte: u8) -> Result<(), ScanError> {
        if self.peek()? != byte {
            return Err(ScanError::Wrong);
        }
        self.step(1);
        Ok(())
    }

    fn peek(&mut self) -> Result<u8, ScanError> {
        self.there().map(|there| there[0])
    }

    /// The next bytes, at least one.
    fn there(&mut self) -> Result<&[u8], ScanError> {
        match self.file.fill_buf() {
            Ok([]) => Err(ScanError::Over),
            Ok(there) => Ok(there),
            Err(error) => Err(ScanError::Io(error)),
        }
    }

    fn step(&mut self, bytes: usize) {
        self.file.consume(bytes);
        self.at += bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(words: &[&str]) -> String {
        let values: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        format!("*{}\r\n{values}", words.len())
    }

    /// Entries, a transaction and an entry, with the end of each. The transaction has one end only.
    fn sample() -> (String, Vec<u64>) {
        let transaction = [&["MULTI"][..], &["HSET", "h", "f", "*1\r\n"], &["DEL", ""], &["exec"]].map(entry).concat();
        let parts = [entry(&["SELECT", "0"]), entry(&["SET", "k", "v\r\n$3\r\n"]), transaction, entry(&["MULTIPLE"])];
        let ends = (0..=parts.len()).map(|n| parts[..n].concat().len() as u64).collect();
        (parts.concat(), ends)
    }

    fn surveyed(bytes: &[u8]) -> AofScan {
        scan(io::BufReader::with_capacity(3, bytes)).expect("memory does not fail")
    }

    #[test]
    fn wherever_a_file_is_cut_the_last_whole_transaction_is_known() {
        let (sample, ends) = sample();
        for cut in 0..=sample.len() {
            let found = surveyed(&sample.as_bytes()[..cut]);
            let whole = ends.iter().rfind(|end| **end <= cut as u64).copied().expect("0 is one");
            assert_eq!(found.whole, whole, "cut at {cut}");
            assert_eq!(found.end == AofEnd::Whole, whole == cut as u64, "cut at {cut}: {found:?}");
            assert!(!matches!(found.end, AofEnd::Broken { .. }), "cut at {cut}: {found:?}");
        }
    }

    #[test]
    fn entries_behind_a_cut_are_found_at_their_start() {
        let (sample, ends) = sample();
        for cut in 0..=sample.len() {
            for junk in [&[0; 40][..], b"complete nonsense\r\n", &[0xff; 600]] {
                let bytes = [&sample.as_bytes()[..cut], junk].concat();
                let found = surveyed(&bytes);
                let whole = ends.iter().rfind(|end| **end <= cut as u64).copied().expect("0 is one");
                assert_eq!(found.whole, whole, "{junk:?} at {cut}");
                // Only the line end of a value can be wrong, not its content.
                match found.end {
                    AofEnd::Broken { entry, wrong } => assert!(entry <= cut as u64 && wrong >= cut as u64, "{found:?}"),
                    AofEnd::Whole | AofEnd::Short(_) => panic!("{junk:?} at {cut}: {found:?}"),
                }
            }
        }
    }

    #[test]
    fn times_and_large_values_are_read_and_impossible_numbers_are_not() {
        let large = entry(&["SET", "k", &"x".repeat(100_000)]);
        assert_eq!(surveyed(format!("#TS:1700000000\r\n{large}").as_bytes()).end, AofEnd::Whole);
        for broken in
            ["*0\r\n", "*-1\r\n", "*1\r\n$536870913\r\n", "*1\r\n$99999999999\r\n", "*1\n", "#TS\0", "*1\r\n:"]
        {
            assert!(matches!(surveyed(broken.as_bytes()).end, AofEnd::Broken { entry: 0, .. }), "{broken:?}");
        }
    }

    #[test]
    fn a_whole_entry_is_found_among_other_bytes() {
        let good = entry(&["DEL", "k"]);
        assert!(!contains_entry(good.as_bytes()), "the first is not looked at");
        assert!(contains_entry(format!("\0*1*2\r\n{good}").as_bytes()));
        assert!(!contains_entry(&format!("\0{good}").as_bytes()[..good.len()]));
        assert!(!contains_entry(b"") && !contains_entry(&[0; 100]));
    }
}
