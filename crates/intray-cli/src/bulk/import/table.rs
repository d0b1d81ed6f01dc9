//! Sends the rows of a table as jobs, or as batches of opinions. A row's number is that of its line in `POST /jobs`.

pub(in crate::bulk) mod batches;
mod columns;
mod form;
mod rows;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, BufReader, Chain, Cursor, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};

use self::{
    columns::{RowError, TableColumns, TableJob},
    rows::{RowReader, TableRow},
};
use super::{
    ImportSummary, MAX_BYTES, MAX_LINES, deliver, finished,
    source::{MAX_LINE_BYTES, OpenedFile},
};
use crate::{
    bulk::{bar::Bar, options::ImportOptions, retry_budget::RetryBudget},
    client::Service,
    terminal::clean,
};

/// Maximum cells of a row.
const MAX_CELLS: usize = 16 << 10;
/// Maximum blank or refused rows in the middle of a call, which sends each as a blank line.
const MAX_GAP: u64 = 1_000;
/// Maximum refused rows that are named.
const MAX_NAMED: u64 = 1_000;
/// The jobs that a dry run shows.
const SHOWN: u64 = 5;

type Input = Chain<Cursor<Vec<u8>>, BufReader<Box<dyn Read>>>;

/// An open table, after its first row.
struct TableImport<'o> {
    name: PathBuf,
    rows: RowReader<Input>,
    columns: TableColumns,
    options: &'o ImportOptions,
    key: String,
    bar: Bar,
    /// Bytes so far.
    read: u64,
    /// Rows that became no job.
    refused: u64,
    /// The first row of the next call.
    ahead: Option<(u64, TableJob)>,
}

/// The jobs of one call, each in the line of its row.
struct RowLines {
    first: u64,
    rows: u64,
    text: Vec<u8>,
}

/// # Errors
/// One line that says why the import did not finish.
pub async fn import(options: &ImportOptions) -> anyhow::Result<u64> {
    let mut table = TableImport::open(options)?;
    if options.table.dry_run {
        return table.preview();
    }
    let service = Service::new(&options.remote).map_err(anyhow::Error::msg)?;
    let mut sum = match options.table.overlap {
        Some(overlap) => batches::send(&service, &mut table, overlap).await?,
        None => table.send(&service).await?,
    };
    sum.add(table.refused, &ImportSummary { errors: table.refused, ..ImportSummary::default() });
    let key = table.close();
    println!("{}", sum.text("rows"));
    finished(&sum, &key)
}

impl<'o> TableImport<'o> {
    fn open(options: &'o ImportOptions) -> anyhow::Result<Self> {
        let OpenedFile { name, mut beginning, rest, size, key } = OpenedFile::open(&options.file)?;
        let of_the_file = |what: String| anyhow!("{} {what}", name.display());
        if let Some(foreign) = form::foreign(&beginning) {
            return Err(of_the_file(foreign));
        }
        if size.is_some() && !is_utf8(&options.file).with_context(|| name.display().to_string())? {
            return Err(of_the_file(form::NOT_UTF8.to_owned()));
        }
        let declared = form::declared_separator(&beginning).map(|(separator, length)| {
            beginning.drain(..length);
            separator
        });
        let separator = match options.table.separator.or(declared) {
            Some(separator) => separator,
            None => form::separator(&beginning).map_err(of_the_file)?,
        };
        let limits = (MAX_LINE_BYTES as usize, MAX_CELLS);
        let mut rows = RowReader::new(Cursor::new(beginning).chain(BufReader::new(rest)), separator, limits);
        let heading = rows.next_row().with_context(|| name.display().to_string())?;
        let Some(heading) = heading else {
            return Err(of_the_file("is empty: its first row must name the columns".to_owned()));
        };
        let columns = TableColumns::new(&heading, &options.table).map_err(of_the_file)?;
        let bar = Bar::of_table(size, columns.fields());
        let key = options.idempotency_key.clone().unwrap_or_else(|| key.with(columns.names().as_bytes()));
        Ok(Self { name, rows, columns, options, key, bar, read: heading.read, refused: 0, ahead: None })
    }

    /// Returns the next job with its row's number. Rows that become none are named.
    fn job(&mut self) -> anyhow::Result<Option<(u64, TableJob)>> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        while let Some(row) = self.row()? {
            match self.columns.job(&row) {
                Ok(Some(job)) => return Ok(Some((row.number, job))),
                Ok(None) => {}
                Err(error) => self.refuse(row.number, &error),
            }
        }
        Ok(None)
    }

    fn row(&mut self) -> anyhow::Result<Option<TableRow>> {
        while let Some(row) = self.rows.next_row().with_context(|| self.name.display().to_string())? {
            self.read += row.read;
            if row.number >= self.options.first_line {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn refuse(&mut self, number: u64, RowError { column, detail }: &RowError) {
        if self.counts_refused() {
            let column = column.as_ref().map(|column| format!(", column {column}")).unwrap_or_default();
            self.bar.says(&format!("row {number}{column}: {detail}"));
        }
    }

    /// Counts a refused row, and returns whether it is to be named.
    fn counts_refused(&mut self) -> bool {
        self.refused += 1;
        self.refused <= MAX_NAMED
    }

    /// Shows what an import would send.
    fn preview(mut self) -> anyhow::Result<u64> {
        let (queue, overlap) = (self.options.queue.as_ref(), self.options.table.overlap);
        let mut jobs = 0;
        while let Some((_, job)) = self.job()? {
            jobs += 1;
            if jobs <= SHOWN {
                let text = overlap.map_or_else(|| job.line(queue), |overlap| job.batch(queue, overlap));
                print(&clean(&text))?;
            }
        }
        let refused = self.refused;
        let what = overlap.map_or_else(|| "jobs".to_owned(), |overlap| format!("batches of {overlap} jobs"));
        self.close();
        print(&format!("{} rows: {jobs} {what}, {refused} refused; nothing was sent", jobs + refused))?;
        Ok(refused)
    }

    /// Counts the refused rows that were not named, removes the bar and returns the key.
    fn close(self) -> String {
        if self.refused > MAX_NAMED {
            self.bar.says(&format!("and {} more rows", self.refused - MAX_NAMED));
        }
        self.key
    }

    async fn send(&mut self, service: &Service) -> anyhow::Result<ImportSummary> {
        let (mut sum, mut away) = (ImportSummary::default(), RetryBudget::new());
        while let Some(RowLines { first, rows, text }) = self.lines()? {
            let summary = deliver(service, &self.key, first, text.into(), (&self.bar, &mut away)).await;
            sum.add(rows, &summary.with_context(|| stopped_before(first))?);
            self.show(&sum);
        }
        Ok(sum)
    }

    fn show(&self, sum: &ImportSummary) {
        self.bar.is_at(self.read, sum.created + sum.known + sum.duplicates);
    }

    /// Returns the rows of the next call.
    fn lines(&mut self) -> anyhow::Result<Option<RowLines>> {
        let Some((first, job)) = self.job()? else { return Ok(None) };
        let queue = self.options.queue.as_ref();
        let mut lines = RowLines { first, rows: 1, text: job.line(queue).into_bytes() };
        let mut last = first;
        while last - first < MAX_LINES && lines.text.len() < MAX_BYTES {
            let Some((number, job)) = self.job()? else { break };
            if number - last > MAX_GAP {
                self.ahead = Some((number, job));
                break;
            }
            (last..number).for_each(|_| lines.text.push(b'\n'));
            lines.text.extend(job.line(queue).into_bytes());
            lines.rows += 1;
            last = number;
        }
        Ok(Some(lines))
    }
}

/// Writes a line to standard output. A reader that closes the pipe early is no error.
fn print(line: &str) -> io::Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn stopped_before(row: u64) -> String {
    format!("stopped before row {row}")
}

/// Reads a whole file, before anything is sent.
fn is_utf8(file: &Path) -> io::Result<bool> {
    let (mut file, mut piece, mut cut) = (File::open(file)?, vec![0; 64 << 10], 0);
    loop {
        let read = file.read(&mut piece[cut..])?;
        let end = cut + read;
        match std::str::from_utf8(&piece[..end]) {
            Ok(_) if read == 0 => return Ok(true),
            Ok(_) => cut = 0,
            Err(error) if error.error_len().is_some() || read == 0 => return Ok(false),
            // A character continues in the next piece.
            Err(error) => {
                piece.copy_within(error.valid_up_to()..end, 0);
                cut = end - error.valid_up_to();
            }
        }
    }
}
