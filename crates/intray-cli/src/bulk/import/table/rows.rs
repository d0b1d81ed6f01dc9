//! Reads the rows of a table in constant memory. A row's number is that of a spreadsheet: blank rows count, line breaks in cells do not.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::bulk::table_options::Separator;

/// What is wrong with a row as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFault {
    /// It was not kept.
    TooLong,
    /// The file ends within its quotes.
    OpenQuote,
}

pub struct TableRow {
    pub number: u64,
    /// Size in the file with the blank rows before it, in bytes.
    pub read: u64,
    pub fault: Option<RowFault>,
    /// The file ends with it, without a line break.
    pub is_cut: bool,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl TableRow {
    pub fn cells(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(move |(begin, end)| &self.text[begin..*end])
    }
}

pub struct RowReader<R> {
    input: R,
    parser: Reader,
    /// Rows so far.
    number: u64,
    /// Bytes so far.
    read: u64,
    /// The last byte that was read.
    last: u8,
    /// Maximum bytes of the cells of a row, and how many there may be.
    limits: (usize, usize),
}

impl<R: BufRead> RowReader<R> {
    /// `input` has no byte order mark.
    pub fn new(input: R, Separator(separator): Separator, limits: (usize, usize)) -> Self {
        let parser = ReaderBuilder::new().delimiter(separator).build();
        Self { input, parser, number: 0, read: 0, last: b'\n', limits }
    }

    /// Returns the next row that is not blank, `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn next_row(&mut self) -> io::Result<Option<TableRow>> {
        let before = self.read;
        if !self.skip_blank_rows()? {
            return Ok(None);
        }
        self.number += 1;
        let mut row = TableRow {
            number: self.number,
            read: 0,
            fault: None,
            is_cut: false,
            text: vec![0; self.limits.0.min(1 << 10)],
            ends: vec![0; self.limits.1.min(64)],
        };
        self.fill(&mut row)?;
        row.read = self.read - before;
        Ok(Some(row))
    }

    fn fill(&mut self, row: &mut TableRow) -> io::Result<()> {
        let (mut length, mut cells) = (0, 0);
        loop {
            let input = self.input.fill_buf()?;
            row.is_cut = input.is_empty();
            // Without a line break at its end the last row is given one. Within quotes it ends nothing.
            let given = if row.is_cut { &b"\n"[..] } else { input };
            let (state, taken, written, ended) =
                self.parser.read_record(given, &mut row.text[length..], &mut row.ends[cells..]);
            (length, cells) = (length + written, cells + ended);
            if !row.is_cut && taken > 0 {
                self.last = given[taken - 1];
                self.read += taken as u64;
                self.input.consume(taken);
            }
            match state {
                ReadRecordResult::Record | ReadRecordResult::End => break,
                ReadRecordResult::InputEmpty if row.is_cut => {
                    row.fault = Some(RowFault::OpenQuote);
                    break;
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if !grow(&mut row.text, self.limits.0) => {
                    (row.fault, length) = (Some(RowFault::TooLong), 0);
                }
                ReadRecordResult::OutputEndsFull if !grow(&mut row.ends, self.limits.1) => {
                    (row.fault, cells) = (Some(RowFault::TooLong), 0);
                }
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
            }
        }
        let kept = if row.fault.is_none() { (length, cells) } else { (0, 0) };
        row.text.truncate(kept.0);
        row.ends.truncate(kept.1);
        Ok(())
    }

    /// Counts blank rows. False: the input ends.
    fn skip_blank_rows(&mut self) -> io::Result<bool> {
        loop {
            let Some(&byte) = self.input.fill_buf()?.first() else { return Ok(false) };
            match byte {
                b'\n' if self.last == b'\r' => {}
                b'\n' | b'\r' => self.number += 1,
                _ => return Ok(true),
            }
            self.last = byte;
            self.read += 1;
            self.input.consume(1);
        }
    }
}

/// Doubles a buffer up to its limit. False: it has reached it.
fn grow<T: Clone + Default>(buffer: &mut Vec<T>, limit: usize) -> bool {
    let length = buffer.len();
    buffer.resize((length * 2).min(limit), T::default());
    buffer.len() > length
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    type Read = Vec<(u64, Vec<String>, Option<RowFault>, bool)>;

    fn read(text: &str, capacity: usize) -> Read {
        let mut rows = RowReader::new(BufReader::with_capacity(capacity, text.as_bytes()), Separator(b';'), (16, 8));
        let (mut all, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next_row().expect("it is in memory") {
            bytes += row.read;
            let cells = row.cells().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
            all.push((row.number, cells, row.fault, row.is_cut));
        }
        assert!(bytes as usize <= text.len(), "{bytes} bytes of {}", text.len());
        all
    }

    fn row(number: u64, cells: &[&str]) -> (u64, Vec<String>, Option<RowFault>, bool) {
        (number, cells.iter().map(|cell| (*cell).to_owned()).collect(), None, false)
    }

    #[test]
    fn rows_do_not_depend_on_chunks() {
        let text = "a;b\r\n\r\n\"1\r\n2\";\"x \"\"y\"\"\"\r\n;\r\n\n\r\"\";z";
        let mut last = row(7, &["", "z"]);
        last.3 = true;
        let expected = vec![row(1, &["a", "b"]), row(3, &["1\r\n2", "x \"y\""]), row(4, &["", ""]), last];
        for capacity in 1..=text.len() {
            assert_eq!(read(text, capacity), expected, "{capacity} bytes at a time");
        }
    }

    #[test]
    fn lone_carriage_returns_end_rows() {
        assert_eq!(read("a;b\r1;2\r\r3;4\r", 3), [row(1, &["a", "b"]), row(2, &["1", "2"]), row(4, &["3", "4"])]);
    }

    #[test]
    fn too_long_row_is_not_kept_and_the_next_is_read() {
        let long = "x".repeat(1_000);
        for text in [
            format!("1;2\n{long};3\n4;5\n"),
            format!("1;2\n\"{long}\n{long}\";3\n4;5\n"),
            format!("1;2\n{}\n4;5\n", ";".repeat(50)),
        ] {
            for capacity in [1, 7, 4_096] {
                let rows = read(&text, capacity);
                assert_eq!([&rows[0], &rows[2]], [&row(1, &["1", "2"]), &row(3, &["4", "5"])]);
                assert_eq!((rows.len(), rows[1].0, &rows[1].1, rows[1].2), (3, 2, &vec![], Some(RowFault::TooLong)));
            }
        }
    }

    #[test]
    fn open_quote_at_the_end_is_a_fault_of_its_row() {
        for torn in ["\"", "1;\"", "1;\"2\n3;4\n", "\"\"\"", "\"a\"\"\n"] {
            let rows = read(&format!("a;b\n{torn}"), 4);
            assert_eq!((rows.len(), rows[1].0, rows[1].2), (2, 2, Some(RowFault::OpenQuote)), "{torn:?}");
        }
        for whole in ["\"\"", "1;\"2\"", "a\"b", "\"a\"\"\""] {
            let rows = read(&format!("a;b\n{whole}"), 4);
            assert_eq!((rows.len(), rows[1].2, rows[1].3), (2, None, true), "{whole:?}");
        }
        assert!(read("", 4).is_empty() && read("\r\n\n", 4).is_empty());
    }
}
