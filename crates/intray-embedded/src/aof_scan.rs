//! Reads an append-only file entry by entry, in constant memory.
//!
//! It is stricter than the server's own loader, which skips the two bytes after a value and so would load a value that a power
//! cut has filled with zeros. `redis-check-aof` is as strict, but reads 155 MB a second where this reads 1.4 GB, so it would
//! nearly double the time of each start; and it does not report where within a transaction the damage begins.

use std::io::{self, BufRead, ErrorKind};

/// The largest value, and the maximum number of values, that a server writes.
const MAX_VALUE_BYTES: u64 = 512 << 20;
const MAX_VALUES: u64 = 1 << 31;

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
            Ok(command) => {
                is_open = command == *b"MULTI\0" || is_open && command != *b"EXEC\0\0";
                whole = if is_open { whole } else { reader.at };
                continue;
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && reader.at == entry && !is_open => AofEnd::Whole,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => AofEnd::Short(entry),
            Err(error) if error.kind() == ErrorKind::InvalidData => AofEnd::Broken { entry, wrong: reader.at },
            Err(error) => return Err(error),
        };
        return Ok(AofScan { whole, end });
    }
}

/// Whether a complete entry begins anywhere after the first byte.
pub(super) fn contains_entry(bytes: &[u8]) -> bool {
    (1..bytes.len()).any(|at| Reader { file: &bytes[at..], at: 0 }.entry().is_ok())
}

struct Reader<R> {
    file: R,
    at: u64,
}

impl<R: BufRead> Reader<R> {
    /// `*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n`; a line that begins with `#` is a timestamp and belongs to the next entry.
    /// Returns the start of the command's name.
    fn entry(&mut self) -> io::Result<[u8; 6]> {
        while self.peek()? == b'#' {
            while let byte @ b' '..=b'~' = self.peek()? {
                self.expect(byte)?;
            }
            self.line_end()?;
        }
        let values = self.number(b'*', 1..=MAX_VALUES)?;
        let command = self.value()?;
        for _ in 1..values {
            self.value()?;
        }
        Ok(command)
    }

    /// A number with a prefix, on a line of its own.
    fn number(&mut self, prefix: u8, range: std::ops::RangeInclusive<u64>) -> io::Result<u64> {
        self.expect(prefix)?;
        let mut number = None;
        while let digit @ b'0'..=b'9' = self.peek()?
            && number.unwrap_or(0) <= *range.end()
        {
            number = Some(number.unwrap_or(0) * 10 + u64::from(digit - b'0'));
            self.expect(digit)?;
        }
        let number = number.filter(|number| range.contains(number)).ok_or(ErrorKind::InvalidData)?;
        self.line_end()?;
        Ok(number)
    }

    /// A value and its line end. Returns the first bytes of the value in upper case.
    fn value(&mut self) -> io::Result<[u8; 6]> {
        let length = self.number(b'$', 0..=MAX_VALUE_BYTES)?;
        let mut first = [0; 6];
        let kept = usize::try_from(length).map_or(first.len(), |length| length.min(first.len()));
        self.file.read_exact(&mut first[..kept])?;
        first.make_ascii_uppercase();
        let mut rest = length - kept as u64;
        while rest > 0 {
            self.peek()?;
            let some = self.file.fill_buf()?.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
            self.file.consume(some);
            rest -= some as u64;
        }
        self.at += length;
        self.line_end()?;
        Ok(first)
    }

    fn line_end(&mut self) -> io::Result<()> {
        self.expect(b'\r')?;
        self.expect(b'\n')
    }

    fn expect(&mut self, byte: u8) -> io::Result<()> {
        if self.peek()? != byte {
            return Err(ErrorKind::InvalidData.into());
        }
        self.file.consume(1);
        self.at += 1;
        Ok(())
    }

    fn peek(&mut self) -> io::Result<u8> {
        self.file.fill_buf()?.first().copied().ok_or(ErrorKind::UnexpectedEof.into())
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
    fn entries_after_a_cut_are_found_at_their_start() {
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
