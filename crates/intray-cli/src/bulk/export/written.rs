//! The part of a list that is written so far, and the cursor to continue from.

use std::{
    io::{self, ErrorKind, Write},
    path::PathBuf,
    time::Duration,
};

use anyhow::anyhow;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use serde::Deserialize;

use super::{heading::Heading, output::ExportOutput};
use crate::bulk::{
    bar::Bar,
    calls::{Failure, ServiceRefusal},
    options::ExportOptions,
    retry_budget::RetryBudget,
    silence::{self, heard},
};

/// The last line of an incomplete list.
#[derive(Deserialize)]
struct Cut {
    error: ServiceRefusal,
    next: Option<String>,
}

/// A line that precedes jobs: other jobs, which ended before them, are no longer stored.
#[derive(Deserialize)]
struct Gap {
    forgotten: Option<u64>,
}

#[derive(Deserialize)]
struct Place {
    next: Option<String>,
}

/// The reason why an answer ended early.
pub enum End {
    Failed(Failure),
    /// The reader of the output closed it.
    Closed,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe { Self::Closed } else { Self::Failed(Failure::Final(error.into())) }
    }
}

impl End {
    fn broke(error: impl Into<anyhow::Error>) -> Self {
        Self::Failed(Failure::passing(error))
    }
}

/// The byte order mark, by which Excel recognises UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The list is incomplete and has no cursor to continue from.
pub struct NoPlace;

pub struct Written {
    /// `None` for standard output.
    file: Option<PathBuf>,
    /// Whether to append to the file.
    appends: bool,
    is_table: bool,
    /// Whether new output begins with [`MARK`].
    bom: bool,
    output: Option<ExportOutput>,
    heading: Heading,
    /// The last whole line.
    last: Vec<u8>,
    /// The cursor from a [`Cut`] line.
    cut_at: Option<String>,
    jobs: u64,
    bytes: u64,
    bar: Bar,
    /// The timeout for each piece of an answer.
    silence: Duration,
}

impl Written {
    pub fn new(options: &ExportOptions) -> Self {
        Self {
            file: options.output.clone(),
            appends: options.after.is_some(),
            is_table: options.csv,
            bom: options.bom,
            output: None,
            heading: Heading::default(),
            last: Vec::new(),
            cut_at: None,
            jobs: 0,
            bytes: 0,
            bar: Bar::new(None),
            silence: if options.csv { silence::TABLE_TIMEOUT } else { silence::ANSWER_TIMEOUT },
        }
    }

    pub fn open(&mut self) -> Result<(), End> {
        if self.output.is_none() {
            let output = match &self.file {
                Some(file) => ExportOutput::of(file, self.appends).map_err(Failure::Final)?,
                None => ExportOutput::of_standard(),
            };
            let is_marked = self.bom && !output.appends;
            self.output = Some(output);
            if is_marked {
                self.put(MARK)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), End> {
        Ok(self.output.as_mut().map_or(Ok(()), |output| output.write_all(bytes))?)
    }

    fn flush(&mut self) -> Result<(), End> {
        Ok(self.output.as_mut().map_or(Ok(()), ExportOutput::flush)?)
    }

    /// Returns the cursor to continue from, `None` to continue from where the export began.
    ///
    /// # Errors
    /// Output was written, and it is a table or has no cursor.
    pub fn place(&mut self) -> Result<Option<String>, NoPlace> {
        let place = self.cut_at.take();
        let place = place.or_else(|| serde_json::from_slice(&self.last).ok().and_then(|place: Place| place.next));
        let is_begun = self.jobs > 0 || self.is_table && self.bytes > 0;
        if is_begun && (place.is_none() || self.is_table) { Err(NoPlace) } else { Ok(place) }
    }

    pub async fn copy<B: Body<Data = Bytes, Error: Into<anyhow::Error>> + Unpin>(
        &mut self,
        mut body: B,
    ) -> Result<(), End> {
        while let Some(frame) = heard(self.silence, body.frame()).await.map_err(End::broke)? {
            let Ok(piece) = frame.map_err(End::broke)?.into_data() else { continue };
            let appends = self.output.as_ref().is_some_and(|output| output.appends);
            let rows = if appends { self.heading.after(&piece) } else { &piece };
            self.put(rows)?;
            self.bytes += piece.len() as u64;
            self.bar.is_at(self.bytes, self.jobs);
        }
        self.flush()
    }

    /// Writes only whole lines, so that an interrupted list can be continued.
    pub async fn lines<B: Body<Data = Bytes, Error: Into<anyhow::Error>> + Unpin>(
        &mut self,
        mut body: B,
        retries: &mut RetryBudget,
    ) -> Result<(), End> {
        let mut rest = Vec::new();
        while let Some(frame) = heard(self.silence, body.frame()).await.map_err(End::broke)? {
            let Ok(piece) = frame.map_err(End::broke)?.into_data() else { continue };
            rest.extend_from_slice(&piece);
            let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { continue };
            let after = rest.split_off(end + 1);
            let whole = std::mem::replace(&mut rest, after);
            for line in whole.split_inclusive(|byte| *byte == b'\n') {
                self.line(line)?;
                retries.reset();
            }
            // A reader of `--follow` gets each job at once.
            self.flush()?;
            self.bytes += whole.len() as u64;
            self.bar.is_at(self.bytes, self.jobs);
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<(), End> {
        if line.starts_with(b"{\"error\":") {
            let broken = |_| Failure::passing(anyhow!("the answer cannot be read"));
            let Cut { error, next } = serde_json::from_slice(line).map_err(broken)?;
            self.flush()?;
            self.cut_at = next;
            return Err(End::Failed(error.into()));
        }
        if line.starts_with(b"{\"forgotten\":") {
            let gap: Option<Gap> = serde_json::from_slice(line).ok();
            self.bar.says(&match gap.and_then(|gap| gap.forgotten) {
                Some(jobs) => format!("{jobs} ended jobs are gone that ended after the place where this continues"),
                None => "ended jobs may be gone that ended after the place where this continues".to_owned(),
            });
            return Ok(());
        }
        if line.len() > 1 {
            self.put(line)?;
            self.last = line.to_vec();
            self.jobs += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
