//! What is said of lines that came: of those that were refused, or of each, and at the end how many there were.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;

use super::{Answer, Intake};
use crate::{
    http::{
        request::lines::NDJSON,
        response::{problem::Problem, shapes},
    },
    job::QueueName,
};

/// Bytes of refusals that are listed; the others are counted.
const LISTED: usize = 64 << 10;

/// How many there were of which kind.
#[derive(Default)]
pub struct Tally {
    created: u64,
    duplicates: u64,
    errors: u64,
    /// Of the errors, those that may be none when the same line is sent again.
    retryable: u64,
    /// Why nothing more was read.
    pub stopped: Option<Problem>,
}

/// The last line: who does not get it knows that the answer was cut.
#[derive(Serialize)]
pub struct Told<'a> {
    lines: u64,
    created: u64,
    duplicates: u64,
    errors: u64,
    #[serde(skip_serializing_if = "is_zero")]
    retryable: u64,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Problem>,
}

#[derive(Serialize)]
struct Refused<'a> {
    line: u64,
    /// Whose server is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<shapes::Text<&'a QueueName>>,
    error: &'a Problem,
}

#[derive(Serialize)]
struct Done<'a> {
    line: u64,
    #[serde(flatten)]
    job: &'a shapes::Enqueued,
}

impl Tally {
    pub fn count(&mut self, answer: &Answer) {
        let may_pass = answer.trouble.as_ref().is_some_and(|trouble| trouble.untried.is_some());
        self.retryable += u64::from(may_pass);
        *match &answer.outcome {
            Ok(job) if job.duplicate => &mut self.duplicates,
            Ok(_) => &mut self.created,
            Err(_) => &mut self.errors,
        } += 1;
    }

    pub fn told(&self, lines: u64) -> Told<'_> {
        let Self { created, duplicates, errors, retryable, ref stopped } = *self;
        Told { lines, created, duplicates, errors, retryable, complete: stopped.is_none(), error: stopped.as_ref() }
    }
}

/// Answers at the end, so that nobody has to read before all is sent.
pub async fn errors(mut intake: Intake) -> Response {
    let mut text = Vec::new();
    while let Some(answers) = intake.step().await {
        for answer in answers.iter().filter(|answer| answer.outcome.is_err()) {
            if text.len() < LISTED {
                said(&mut text, answer);
            }
        }
    }
    write(&mut text, &intake.told());
    answer(text)
}

/// Answers as the lines are done: who does not read is not read from. It begins with the first of them, so that whoever asks
/// whether to send is told so before.
pub async fn each(mut intake: Intake) -> Response {
    let first = Some(intake.step().await);
    let lines = stream::unfold((Some(intake), first), |(intake, ready)| async move {
        let mut intake = intake?;
        let answers = match ready {
            Some(ready) => ready,
            None => intake.step().await,
        };
        let mut text = Vec::new();
        let rest = match answers {
            Some(answers) => {
                answers.iter().for_each(|answer| said(&mut text, answer));
                Some(intake)
            }
            None => {
                write(&mut text, &intake.told());
                None
            }
        };
        Some((Ok::<_, Infallible>(Bytes::from(text)), (rest, None)))
    });
    let mut answer = answer(Body::from_stream(lines));
    // A proxy passes it on as it comes.
    answer.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}

fn said(text: &mut Vec<u8>, answer: &Answer) {
    let line = answer.line;
    let queue = answer.trouble.as_ref().map(|trouble| shapes::Text(&trouble.queue));
    match &answer.outcome {
        Ok(job) => write(text, &Done { line, job }),
        Err(error) => write(text, &Refused { line, queue, error }),
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
