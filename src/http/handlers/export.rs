//! All jobs of a list, page by page, as the reader takes them: nothing is kept but the page that is on its way.

mod form;
mod quiet;
mod table;

use std::{
    io,
    sync::Arc,
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

pub use self::{form::Kind, quiet::Quiet, table::Columns};
use crate::{
    http::{
        middleware::revalidate::Lasting,
        request::{lines::NDJSON, reader},
        response::{counted, problem::Problem, shapes},
    },
    job::QueueName,
    store::{Cursor, JobFilter, JobPage},
    waiting::{ListWatcher, WaitedRead, Waiting},
};

/// A blank line is said so often while there is nothing to say, so that nobody takes the connection for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How jobs are written.
pub enum Form {
    Lines,
    Table(Columns),
}

/// One reader.
pub struct Walk {
    pub waiting: Waiting,
    pub list: ListWatcher,
    pub queue: QueueName,
    pub who: Arc<str>,
    /// Behind what the reader has.
    pub filter: JobFilter,
    pub form: Form,
    /// At the end it waits for more.
    pub follows: bool,
    pub lasting: Lasting,
    pub quiet: Quiet,
    /// Of what was said last, what has not gone out yet.
    pub rest: Bytes,
}

/// A job on a line, and where a list goes on behind it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    job: shapes::Job<'a>,
    next: Option<shapes::Text<&'a Cursor>>,
}

/// A line before the jobs of a page, when others that ended before them are gone.
#[derive(Serialize)]
struct Gap {
    forgotten: shapes::Forgotten,
}

/// The last line, when it is not all.
#[derive(Serialize)]
struct Cut<'a> {
    error: &'a Problem,
    next: Option<shapes::Text<&'a Cursor>>,
}

/// What is to be said next.
enum Next {
    Page(WaitedRead<JobPage>),
    Look,
    Nothing,
}

impl Walk {
    /// The answer begins with its first page, so that what cannot be read at all is a refusal.
    ///
    /// # Errors
    /// A problem with the first page.
    pub async fn answer(self) -> Result<Response, Problem> {
        let first = self.waiting.jobs(&self.queue, self.filter.clone(), Duration::ZERO, &self.who).await;
        let first = first.map_err(reader::refused)?;
        let (kind, head) = match &self.form {
            Form::Lines => (NDJSON, None),
            Form::Table(columns) => ("text/csv; charset=utf-8", Some(Ok(columns.head()))),
        };
        let pages = stream::unfold((self, Next::Page(first)), |(mut walk, next)| async move {
            let (said, next) = walk.step(next).await?;
            Some((said, (walk, next)))
        });
        let all = stream::iter(head).chain(pages);
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
            (header::VARY, HeaderValue::from_static("accept")),
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        Ok((headers, Body::from_stream(all)).into_response())
    }

    async fn step(&mut self, next: Next) -> Option<(io::Result<Bytes>, Next)> {
        if !self.rest.is_empty() {
            return Some((Ok(counted::piece(&mut self.rest)), next));
        }
        match next {
            Next::Nothing => None,
            Next::Page(page) => Some(self.say(page)),
            Next::Look => match self.look().await {
                Ok(None) => Some((Ok(Bytes::from_static(b"\n")), Next::Look)),
                Ok(Some(page)) => Some(self.say(page)),
                Err(problem) => Some((self.cut(&problem), Next::Nothing)),
            },
        }
    }

    /// The next page, while the reader may have it.
    async fn look(&mut self) -> Result<Option<WaitedRead<JobPage>>, Problem> {
        let wait = if self.follows { HEARTBEAT } else { Duration::ZERO };
        let turn = self.lasting.turn();
        let looking = async {
            turn.await;
            self.list.next(&self.filter, wait).await
        };
        let page = tokio::select! {
            // No page is read for a reader who stood still before the key is looked at.
            biased;
            problem = self.lasting.is_over() => return Err(problem),
            page = looking => page,
        };
        page.map_err(reader::refused)
    }

    fn say(&mut self, WaitedRead { what: page, turn }: WaitedRead<JobPage>) -> (io::Result<Bytes>, Next) {
        let mut text = self.gap(&page);
        for (job, place) in page.jobs.iter().zip(&page.places) {
            let written = match &self.form {
                Form::Lines => {
                    let line = Line { job: shapes::Job::new(job), next: place.as_ref().map(shapes::Text) };
                    let begin = text.len();
                    serde_json::to_writer(&mut text, &line).map(|()| end_line(&mut text, begin))
                }
                Form::Table(columns) => columns.row(&shapes::Job::new(job), &mut text),
            };
            if let Err(error) = written {
                tracing::error!(%error, "a job cannot be written");
                return (self.cut(&Problem::internal()), Next::Nothing);
            }
        }
        let last = page.places.last().cloned().flatten();
        let next = if page.next.is_some() || self.follows { Next::Look } else { Next::Nothing };
        if let Some(after) = page.resume.clone().or(page.next.clone()).or(last) {
            self.filter.after = Some(after);
        }
        if matches!(self.form, Form::Lines) {
            self.quiet.is_broken_by(&mut text, Instant::now());
        }
        text.shrink_to_fit();
        self.rest = counted::counted(turn, text);
        (Ok(counted::piece(&mut self.rest)), next)
    }

    fn gap(&self, page: &JobPage) -> Vec<u8> {
        let gap = Gap { forgotten: shapes::Forgotten::new(page.forgotten) };
        if matches!(self.form, Form::Table(_)) || gap.forgotten.is_none() {
            return Vec::new();
        }
        let mut line = serde_json::to_vec(&gap).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// An end that nobody takes for the end of the list: lines say why, and of a table, which has no room for it, the
    /// connection is cut.
    fn cut(&self, problem: &Problem) -> io::Result<Bytes> {
        let cut = Cut { error: problem, next: self.filter.after.as_ref().map(shapes::Text) };
        match &self.form {
            Form::Lines => serde_json::to_vec(&cut).map_err(io::Error::other).map(|mut text| {
                text.push(b'\n');
                text.into()
            }),
            Form::Table(_) => Err(io::Error::other("not all of it")),
        }
    }
}

/// White space of what people sent may hold line breaks, and in a line it must not: within JSON they stand between its tokens
/// only, so that a blank will do.
fn end_line(text: &mut Vec<u8>, begin: usize) {
    text[begin..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    text.push(b'\n');
}
