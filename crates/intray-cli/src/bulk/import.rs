//! Sends the lines of a file as jobs, in batches under one idempotency key. A batch can be sent again after any failure, and
//! each line still becomes one job.

mod again;
mod form;
mod job;
mod source;
pub(super) mod table;
#[cfg(test)]
mod tests;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use serde::Deserialize;

use self::source::LineSource;
use super::{
    bar::Bar,
    calls::{Failure, NDJSON, ServiceRefusal, call, whole},
    options::ImportOptions,
    retry_budget::{AskedPause, RetryBudget},
    silence,
};
use crate::client::Service;

/// A batch is sent once it has this many lines or bytes.
const MAX_LINES: u64 = 10_000;
const MAX_BYTES: usize = 4 << 20;

/// The last line of an answer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ImportSummary {
    lines: u64,
    created: u64,
    /// Jobs that an earlier call with the same key has created, perhaps of this import. An older service counts them as created.
    #[serde(default)]
    known: u64,
    duplicates: u64,
    errors: u64,
    /// The errors that may go away when the same lines are sent again.
    #[serde(default)]
    retryable: u64,
    complete: bool,
    error: Option<ServiceRefusal>,
}

impl ImportSummary {
    /// Adds what became of so many more lines of the file.
    fn add(&mut self, lines: u64, more: &Self) {
        self.lines += lines;
        self.created += more.created;
        self.known += more.known;
        self.duplicates += more.duplicates;
        self.errors += more.errors;
        self.retryable += more.retryable;
    }

    /// The last line of the output.
    fn text(&self, parts: &str) -> String {
        let Self { lines, created, known, duplicates, errors, .. } = self;
        format!(
            "{lines} {parts}: {created} new, {known} known; {duplicates} equal to one that is there; {errors} refused"
        )
    }
}

#[derive(Deserialize)]
pub(super) struct Refused {
    line: u64,
    /// The queue whose server is the reason, if one is.
    queue: Option<String>,
    error: ServiceRefusal,
}

/// The lines of one batch. `read` is their size in the file, in bytes.
#[derive(Default)]
struct ImportChunk {
    text: Vec<u8>,
    lines: u64,
    read: u64,
}

/// Imports a file and returns the number of refused lines.
///
/// # Errors
/// One line that says why the import did not finish.
pub async fn import(options: &ImportOptions) -> anyhow::Result<u64> {
    if options.table.csv {
        return table::import(options).await;
    }
    let service = Service::new(&options.remote).map_err(anyhow::Error::msg)?;
    let mut source = LineSource::open(&options.file, options.payloads)?;
    let key = options.idempotency_key.as_ref().unwrap_or(&source.key).clone();
    let bar = Bar::new(source.size);
    let (mut sum, mut bytes) = (ImportSummary::default(), source.pass_over(options.first_line - 1)?);
    let mut away = RetryBudget::new();
    loop {
        let some = next(&mut source, options)?;
        if some.lines == 0 {
            break;
        }
        let before = options.first_line - 1 + sum.lines;
        let summary = deliver(&service, &key, before + 1, some.text.into(), (&bar, &mut away)).await;
        let summary = summary.with_context(|| match before {
            0 => "stopped before the first line".to_owned(),
            line => format!("stopped after line {line}"),
        })?;
        bytes += some.read;
        sum.add(some.lines, &summary);
        bar.is_at(bytes, sum.created + sum.known + sum.duplicates);
    }
    drop(bar);
    println!("{}", sum.text("lines"));
    finished(&sum, &key)
}

/// Fails if refused lines may be accepted later: such an import is not finished.
fn finished(sum: &ImportSummary, key: &str) -> anyhow::Result<u64> {
    match sum.retryable {
        0 => Ok(sum.errors),
        lines => Err(anyhow!(
            "not finished: {lines} of the lines were refused because the servers of their queues are away or full; \
             the same import with --idempotency-key {key} puts in what is missing"
        )),
    }
}

fn next(source: &mut LineSource, options: &ImportOptions) -> anyhow::Result<ImportChunk> {
    let mut some = ImportChunk::default();
    while some.lines < MAX_LINES && some.text.len() < MAX_BYTES {
        let Some(line) = source.line()? else { break };
        some.text.extend(job::of(&line, options));
        some.text.push(b'\n');
        some.lines += 1;
        some.read += line.read;
    }
    Ok(some)
}

/// Sends a batch until the service accepts it. All batches share one time limit for queues that are away, so that later lines
/// are not delayed again.
async fn deliver(
    service: &Service,
    key: &str,
    first: u64,
    some: Bytes,
    (bar, away): (&Bar, &mut RetryBudget),
) -> anyhow::Result<ImportSummary> {
    let (mut retries, mut has_waited) = (RetryBudget::new(), false);
    loop {
        match send_some(service, key, first, some.clone()).await {
            Ok((refused, summary)) if summary.retryable > 0 && away.rest(asked_by(&refused)).await => has_waited = true,
            Ok((refused, summary)) => {
                if has_waited && summary.retryable == 0 {
                    away.reset();
                }
                say(bar, first, &refused, &summary);
                return Ok(summary);
            }
            Err(Failure::Passing(error, asked)) => retries.after(error, asked).await?,
            Err(Failure::Final(error)) => return Err(error),
        }
    }
}

/// The pause that the first of the lines asks for that a retry may bring in.
fn asked_by(refused: &[Refused]) -> AskedPause {
    let passing = refused.iter().find(|line| line.error.is_passing());
    passing.map_or(AskedPause::None, |line| line.error.pause())
}

fn say(bar: &Bar, first: u64, refused: &[Refused], summary: &ImportSummary) {
    let listed = refused.len() as u64;
    for Refused { line, queue, error } in refused {
        bar.refuses(*line, queue.as_deref(), &error.detail);
    }
    if summary.errors > listed {
        let (more, last) = (summary.errors - listed, first + summary.lines - 1);
        bar.says(&format!("and {more} more up to {} {last}", bar.noun()));
    }
}

pub(super) async fn send_some(
    service: &Service,
    key: &str,
    first: u64,
    some: Bytes,
) -> Result<(Vec<Refused>, ImportSummary), Failure> {
    let path = format!("/jobs?first_line={first}");
    let headers = [("content-type", NDJSON), ("idempotency-key", key)];
    let answer = call(service, ("POST", &path), &headers, some, NDJSON).await?;
    read(&whole(answer.into_body(), silence::ANSWER_TIMEOUT).await.map_err(Failure::passing)?)
}

/// Splits an answer into the refused lines and the summary.
fn read(body: &[u8]) -> Result<(Vec<Refused>, ImportSummary), Failure> {
    let broken = |_| Failure::passing(anyhow!("the answer cannot be read"));
    let text = std::str::from_utf8(body).map_err(|_| Failure::passing(anyhow!("the answer is not UTF-8")))?;
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text));
    let summary: ImportSummary = serde_json::from_str(last).map_err(broken)?;
    match summary.error {
        Some(error) if !summary.complete => Err(error.into()),
        _ => Ok((before.lines().map(serde_json::from_str).collect::<Result<_, _>>().map_err(broken)?, summary)),
    }
}
