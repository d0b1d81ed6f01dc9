//! All jobs of a list, page by page as the reader takes them; only one page is in memory.

mod csv;
mod format;
mod heartbeat;

use std::{
    io,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde::Serialize;

pub use self::{
    csv::{Columns, quote_formula, write as write_row},
    format::ListFormat,
    heartbeat::Heartbeat,
};
use crate::{
    http::{
        middleware::revalidate::LongCall,
        request::{lines::NDJSON, long_work, reader},
        response::{
            counted::{UntilTaken, take_chunk},
            problem::Problem,
            shapes,
        },
    },
    job::QueueName,
    store::{Cursor, JobFilter, JobPage},
    waiting::{ListWatcher, ReaderId, WaitedRead, Waiting},
    waits::hurried,
};

/// A blank line is sent this often without other output, so that the connection is not taken for dead.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// Bytes of JSON that are written before other tasks run.
const BYTES_PER_POLL: usize = 64 << 10;

/// The format of the answer.
pub enum ExportFormat {
    Lines,
    Table(Columns),
}

/// One export.
pub struct Export {
    pub waiting: Waiting,
    pub list: ListWatcher,
    pub queue: QueueName,
    pub who: ReaderId,
    /// Starts after the jobs that were sent.
    pub filter: JobFilter,
    pub form: ExportFormat,
    /// Waits for more jobs at the end of the list.
    pub follows: bool,
    pub long_call: LongCall,
    pub quiet: Heartbeat,
}

/// A page whose jobs are written as the reader takes them: only the rows of a few are in memory.
struct OpenPage {
    read: WaitedRead<JobPage>,
    /// How many of its jobs are written.
    written: usize,
    /// The rows that are not sent yet.
    rest: Bytes,
}

/// A job and the cursor after it.
#[derive(Serialize)]
struct ExportLine<'a> {
    #[serde(flatten)]
    job: shapes::JobBody<'a>,
    next: Option<&'a Cursor>,
}

/// A line before a page: how many ended jobs before it were removed.
#[derive(Serialize)]
struct ForgottenLine {
    forgotten: shapes::ForgottenBody,
}

/// The last line of an incomplete answer.
#[derive(Serialize)]
struct Truncated<'a> {
    error: &'a Problem,
    next: Option<&'a Cursor>,
}

/// The next step of an export.
enum NextStep {
    Page(UntilTaken<OpenPage>),
    Look,
    Nothing,
}

impl Export {
    /// The answer starts with its first page, so that a failed first read is a refusal.
    ///
    /// # Errors
    /// A problem, when the first page cannot be read.
    pub async fn answer(self) -> Result<Response, Problem> {
        let first = self.waiting.jobs(&self.queue, self.filter.clone(), Duration::ZERO, &self.who).await;
        let first = first.map_err(reader::read_problem)?;
        let (kind, head) = match &self.form {
            ExportFormat::Lines => (NDJSON, None),
            ExportFormat::Table(columns) => ("text/csv; charset=utf-8", Some(Ok(columns.head()))),
        };
        let pages = stream::unfold(
            (self, NextStep::Page(UntilTaken::new(OpenPage::new(first)))),
            |(mut export, next)| async move {
                let (chunk, next) = export.step(next).await?;
                Some((chunk, (export, next)))
            },
        );
        let all = stream::iter(head).chain(pages);
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
            (header::VARY, HeaderValue::from_static("accept")),
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        Ok((headers, Body::from_stream(all)).into_response())
    }

    async fn step(&mut self, next: NextStep) -> Option<(io::Result<Bytes>, NextStep)> {
        match next {
            NextStep::Nothing => None,
            NextStep::Page(page) => Some(self.send(page).await),
            NextStep::Look => match self.look().await {
                Ok(None) => Some((Ok(Bytes::from_static(b"\n")), NextStep::Look)),
                Ok(Some(page)) => Some(self.send(UntilTaken::new(OpenPage::new(page))).await),
                Err(problem) => Some((self.truncated(&problem), NextStep::Nothing)),
            },
        }
    }

    /// The next page, while the credential is valid.
    async fn look(&mut self) -> Result<Option<WaitedRead<JobPage>>, Problem> {
        let wait = if self.follows { hurried(HEARTBEAT_INTERVAL) } else { Duration::ZERO };
        let turn = self.long_call.rate_permit();
        let looking = async {
            turn.await;
            self.list.next(&self.filter, wait).await
        };
        let page = tokio::select! {
            // The credential is checked before a page is read for a slow reader.
            biased;
            problem = self.long_call.ended() => return Err(problem),
            page = looking => page,
        };
        page.map_err(reader::read_problem)
    }

    /// Sends the next chunk of a page. A reader who has not taken the whole page in time is cut off.
    async fn send(&mut self, page: UntilTaken<OpenPage>) -> (io::Result<Bytes>, NextStep) {
        tokio::task::yield_now().await;
        match page.with(|open| self.next_chunk(open)) {
            Ok(Ok((chunk, Some(next)))) => (Ok(chunk), next),
            Ok(Ok((chunk, None))) => (Ok(chunk), NextStep::Page(page)),
            Ok(Err(error)) => {
                tracing::error!(%error, "a job cannot be written");
                (self.truncated(&Problem::internal()), NextStep::Nothing)
            }
            Err(too_slow) => (Err(too_slow), NextStep::Nothing),
        }
    }

    /// A chunk, and the next step after the last one of the page.
    fn next_chunk(&mut self, page: &mut OpenPage) -> serde_json::Result<(Bytes, Option<NextStep>)> {
        if page.rest.is_empty() {
            page.rest = self.write(page)?.into();
        }
        let chunk = take_chunk(&mut page.rest);
        let is_end = page.rest.is_empty() && page.written == page.read.what.jobs.len();
        Ok((chunk, is_end.then(|| self.close(&page.read.what))))
    }

    /// Writes the next jobs of a page.
    fn write(&mut self, page: &mut OpenPage) -> serde_json::Result<Vec<u8>> {
        let mut text = if page.written == 0 { self.gap(&page.read.what) } else { Vec::new() };
        let mut read = 0;
        while read < BYTES_PER_POLL && page.written < page.read.what.jobs.len() {
            match long_work::run(page.read.what.bytes as usize, || self.write_job(page, &mut text)) {
                Ok(bytes) => read += bytes,
                Err(error) => {
                    let last = page.written.checked_sub(1).and_then(|last| page.read.what.places[last].clone());
                    self.filter.after = last.or(self.filter.after.take());
                    return Err(error);
                }
            }
            page.written += 1;
        }
        let WaitedRead { what, turn } = &page.read;
        turn.finish_read(what.bytes as usize + text.len());
        if page.written == what.jobs.len() && matches!(self.form, ExportFormat::Lines) {
            self.quiet.fill(&mut text, Instant::now());
        }
        text.shrink_to_fit();
        Ok(text)
    }

    /// Writes the next job. Returns how many bytes of JSON that took.
    fn write_job(&self, page: &OpenPage, text: &mut Vec<u8>) -> serde_json::Result<usize> {
        let JobPage { jobs, places, .. } = &**page.read.what;
        let job = shapes::JobBody::new(&jobs[page.written]);
        match &self.form {
            ExportFormat::Lines => {
                let line = ExportLine { job, next: places[page.written].as_ref() };
                let begin = text.len();
                serde_json::to_writer(&mut *text, &line)?;
                end_line(text, begin);
                Ok(text.len() - begin)
            }
            ExportFormat::Table(columns) => columns.row(&job, text),
        }
    }

    /// The step after a page.
    fn close(&mut self, page: &JobPage) -> NextStep {
        let last = page.places.last().cloned().flatten();
        if let Some(after) = page.resume.clone().or(page.next.clone()).or(last) {
            self.filter.after = Some(after);
        }
        if page.next.is_some() || self.follows { NextStep::Look } else { NextStep::Nothing }
    }

    fn gap(&self, page: &JobPage) -> Vec<u8> {
        let gap = ForgottenLine { forgotten: shapes::ForgottenBody::new(page.forgotten) };
        if matches!(self.form, ExportFormat::Table(_)) || gap.forgotten.is_none() {
            return Vec::new();
        }
        let mut line = serde_json::to_vec(&gap).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Marks an incomplete answer: lines end with the reason; a table has no room for it, so its connection is cut.
    fn truncated(&self, problem: &Problem) -> io::Result<Bytes> {
        let cut = Truncated { error: problem, next: self.filter.after.as_ref() };
        match &self.form {
            ExportFormat::Lines => serde_json::to_vec(&cut).map_err(io::Error::other).map(|mut text| {
                text.push(b'\n');
                text.into()
            }),
            ExportFormat::Table(_) => Err(io::Error::other("not all of it")),
        }
    }
}

impl OpenPage {
    fn new(read: WaitedRead<JobPage>) -> Self {
        Self { read, written: 0, rest: Bytes::new() }
    }
}

/// Replaces line breaks by blanks. They can occur only between the tokens of a payload, because JSON escapes them in
/// strings.
fn end_line(text: &mut Vec<u8>, begin: usize) {
    text[begin..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    text.push(b'\n');
}
