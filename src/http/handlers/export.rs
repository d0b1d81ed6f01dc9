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
        request::{lines::NDJSON, reader},
        response::{counted::CountedAnswer, problem::Problem, shapes},
    },
    job::QueueName,
    store::{Cursor, JobFilter, JobPage},
    waiting::{ListWatcher, ReaderId, WaitedRead, Waiting},
    waits::hurried,
};

/// A blank line is sent this often without other output, so that the connection is not taken for dead.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

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
    /// Starts behind the jobs that were sent.
    pub filter: JobFilter,
    pub form: ExportFormat,
    /// Waits for more jobs at the end of the list.
    pub follows: bool,
    pub long_call: LongCall,
    pub quiet: Heartbeat,
    /// The part of the last page that is not sent yet.
    pub rest: Option<CountedAnswer>,
}

/// A job and the cursor behind it.
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
    Page(WaitedRead<JobPage>),
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
        let pages = stream::unfold((self, NextStep::Page(first)), |(mut export, next)| async move {
            let (chunk, next) = export.step(next).await?;
            Some((chunk, (export, next)))
        });
        let all = stream::iter(head).chain(pages);
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
            (header::VARY, HeaderValue::from_static("accept")),
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        Ok((headers, Body::from_stream(all)).into_response())
    }

    async fn step(&mut self, next: NextStep) -> Option<(io::Result<Bytes>, NextStep)> {
        if let Some(rest) = self.rest.as_mut().filter(|rest| !rest.is_empty()) {
            return Some((rest.next_chunk(), next));
        }
        match next {
            NextStep::Nothing => None,
            NextStep::Page(page) => Some(self.write_page(page)),
            NextStep::Look => match self.look().await {
                Ok(None) => Some((Ok(Bytes::from_static(b"\n")), NextStep::Look)),
                Ok(Some(page)) => Some(self.write_page(page)),
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

    fn write_page(&mut self, WaitedRead { what: page, turn }: WaitedRead<JobPage>) -> (io::Result<Bytes>, NextStep) {
        let mut text = self.gap(&page);
        for (job, place) in page.jobs.iter().zip(&page.places) {
            let written = match &self.form {
                ExportFormat::Lines => {
                    let line = ExportLine { job: shapes::JobBody::new(job), next: place.as_ref() };
                    let begin = text.len();
                    serde_json::to_writer(&mut text, &line).map(|()| end_line(&mut text, begin))
                }
                ExportFormat::Table(columns) => columns.row(&shapes::JobBody::new(job), &mut text),
            };
            if let Err(error) = written {
                tracing::error!(%error, "a job cannot be written");
                return (self.truncated(&Problem::internal()), NextStep::Nothing);
            }
        }
        let last = page.places.last().cloned().flatten();
        let next = if page.next.is_some() || self.follows { NextStep::Look } else { NextStep::Nothing };
        if let Some(after) = page.resume.clone().or(page.next.clone()).or(last) {
            self.filter.after = Some(after);
        }
        if matches!(self.form, ExportFormat::Lines) {
            self.quiet.fill(&mut text, Instant::now());
        }
        text.shrink_to_fit();
        (self.rest.insert(CountedAnswer::new(turn, text)).next_chunk(), next)
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

/// Replaces line breaks by blanks. They can occur only between the tokens of a payload, because JSON escapes them in
/// strings.
fn end_line(text: &mut Vec<u8>, begin: usize) {
    text[begin..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    text.push(b'\n');
}
