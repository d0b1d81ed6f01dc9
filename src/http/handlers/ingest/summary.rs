//! The answer to lines: the refused ones or all of them, and a summary.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;

use super::{Import, LineAnswer};
use crate::{
    http::{
        request::lines::NDJSON,
        response::{problem::Problem, shapes},
    },
    job::QueueName,
};

/// Bytes of refusals that are listed; further ones are only counted.
const MAX_LISTED_BYTES: usize = 64 << 10;

/// Lines by outcome.
#[derive(Default)]
pub struct LineCounts {
    created: u64,
    /// Jobs that an earlier call has stored.
    known: u64,
    duplicates: u64,
    errors: u64,
    /// Errors that may pass when the line is sent again.
    retryable: u64,
    /// Why reading stopped.
    pub stopped: Option<Problem>,
}

/// The last line. Without it the answer is incomplete.
#[derive(Serialize)]
pub struct Summary<'a> {
    lines: u64,
    created: u64,
    known: u64,
    duplicates: u64,
    errors: u64,
    #[serde(skip_serializing_if = "is_zero")]
    retryable: u64,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Problem>,
}

#[derive(Serialize)]
struct RefusedLine<'a> {
    line: u64,
    /// The queue whose server failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a QueueName>,
    error: &'a Problem,
}

#[derive(Serialize)]
struct EnqueuedLine<'a> {
    line: u64,
    #[serde(flatten)]
    job: &'a shapes::EnqueuedBody,
}

impl LineCounts {
    pub fn count(&mut self, answer: &LineAnswer) {
        let may_pass = answer.trouble.as_ref().is_some_and(|trouble| trouble.untried.is_some());
        self.retryable += u64::from(may_pass);
        *match &answer.outcome {
            Ok(job) if job.duplicate => &mut self.duplicates,
            Ok(job) if job.is_new => &mut self.created,
            Ok(_) => &mut self.known,
            Err(_) => &mut self.errors,
        } += 1;
    }

    pub fn summary(&self, lines: u64) -> Summary<'_> {
        let Self { created, known, duplicates, errors, retryable, ref stopped } = *self;
        let (complete, error) = (stopped.is_none(), stopped.as_ref());
        Summary { lines, created, known, duplicates, errors, retryable, complete, error }
    }
}

/// Answers after the last line, so that clients that read nothing before can send all of it.
pub async fn stream_errors(mut import: Import) -> Response {
    let mut text = Vec::new();
    while let Some(answers) = import.step().await {
        for answer in answers.iter().filter(|answer| answer.outcome.is_err()) {
            if text.len() < MAX_LISTED_BYTES {
                write_answer(&mut text, answer);
            }
        }
    }
    write(&mut text, &import.summary());
    answer(text)
}

/// Answers while lines are read; a client that does not read is not read from. The answer starts with the first line
/// that is done, so that `Expect: 100-continue` is answered first.
pub async fn stream_all(mut import: Import) -> Response {
    let first = Some(import.step().await);
    let lines = stream::unfold((Some(import), first), |(import, ready)| async move {
        let mut import = import?;
        let answers = match ready {
            Some(ready) => ready,
            None => import.step().await,
        };
        let mut text = Vec::new();
        let rest = match answers {
            Some(answers) => {
                answers.iter().for_each(|answer| write_answer(&mut text, answer));
                Some(import)
            }
            None => {
                write(&mut text, &import.summary());
                None
            }
        };
        Some((Ok::<_, Infallible>(Bytes::from(text)), (rest, None)))
    });
    let mut answer = answer(Body::from_stream(lines));
    // Asks proxies not to buffer the answer.
    answer.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}

fn write_answer(text: &mut Vec<u8>, answer: &LineAnswer) {
    let line = answer.line;
    let queue = answer.trouble.as_ref().map(|trouble| &trouble.queue);
    match &answer.outcome {
        Ok(job) => write(text, &EnqueuedLine { line, job }),
        Err(error) => write(text, &RefusedLine { line, queue, error }),
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn write(text: &mut Vec<u8>, line: &impl Serialize) {
    let begin = text.len();
    if let Err(error) = serde_json::to_writer(&mut *text, line) {
        tracing::error!(%error, "a line cannot be written");
        text.truncate(begin);
    }
    text.push(b'\n');
}

fn answer(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, NDJSON)], body.into()).into_response()
}
