//! Day sheets: what each worker did per day, as JSON or CSV. They are read and sent in parts, so that no answer is in memory as a whole.

use std::{borrow::Cow, collections::VecDeque, io};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use crate::{
    access::{Caller, Pass, Pattern, Role},
    http::{
        handlers::{
            export::{ListFormat, quote_formula, write_row},
            queues::require_queue,
        },
        middleware::{
            audit::{AuditEntry, Audited},
            auth,
            revalidate::LongCall,
        },
        request::{
            path::InPath,
            query::{NoQuery, Query},
            reader::ReadCall,
        },
        response::{counted::CountedAnswer, field_error::FieldError, json::JSON, problem::Problem, shapes},
    },
    job::{Day, Name, QueueName, limits},
    sheets::{ForgetOutcome, SheetBook, Sheets},
    store::Queues,
};

/// A part ends with the day with which it is this large.
const PART_BYTES: usize = 64 << 10;

/// `GET /queues/{queue}/sheets`
pub async fn sheets(
    State(sheets): State<Sheets>,
    State(leaving): State<CancellationToken>,
    pass: Pass,
    InPath(queue): InPath<QueueName>,
    reader: ReadCall,
    headers: HeaderMap,
    mut query: Query,
) -> Result<Response, Problem> {
    let range = read_range(&mut query);
    let worker = query.take("worker", Name::of_worker);
    let (range, worker) = query.finish(Some((range, worker)))?;
    let worker = readable(&pass.caller, worker)?;
    require_queue(sheets.queues(), &queue).await?;
    let permit = reader.read_permit().await?;
    let book = sheets.open(&queue).await.map_err(Problem::from_read)?;
    drop(permit);
    let range = book.as_ref().map(|book| chosen(range, book)).transpose()?;
    let days = book.iter().flat_map(|book| &book.head.days).copied();
    let days = days.filter(|day| range.is_some_and(|(from, to)| (from..=to).contains(day))).collect();
    let is_table = ListFormat::accepted(&headers) == ListFormat::Table;
    let long_call = LongCall::new(pass, leaving);
    let head = shapes::SheetsBody::new(book.as_ref(), range);
    SheetsAnswer { sheets, queue, worker, days, reader, long_call, is_table, lines: 0, is_over: false }
        .answer(&head)
        .await
}

/// `DELETE /workers/{worker}`
pub async fn forget(
    State(queues): State<Queues>,
    State(sheets): State<Sheets>,
    caller: Caller,
    InPath(worker): InPath<Name>,
    _: NoQuery,
) -> Result<Audited<shapes::ErasedBody>, Problem> {
    let mut names = queues.names().await?;
    names.retain(|queue| caller.may_see(queue));
    let patterns: Vec<_> = caller.patterns().iter().map(Pattern::as_str).collect();
    match sheets.forget(&names, &worker, &patterns.join(",")).await? {
        ForgetOutcome::Erased(erased) => {
            let entry = AuditEntry::on_worker_everywhere("forget-worker", &worker, &caller);
            Ok(Audited(entry.counted(erased.lines + erased.jobs), shapes::ErasedBody::new(&erased)))
        }
        ForgetOutcome::Holds(queue) => Err(Problem::worker_holds(&queue)),
        ForgetOutcome::Closing(queue, left) => Err(Problem::worker_may_undo(&queue, left)),
    }
}

/// A worker's token reads its own lines, and a worker's key those of the worker that it names.
fn readable(caller: &Caller, worker: Option<Name>) -> Result<Option<Name>, Problem> {
    auth::worker(caller, worker.as_ref())?;
    match (caller.role, &caller.worker) {
        (Role::Worker, None) if worker.is_none() => Err(Problem::forbidden("a worker's key names the worker")),
        (Role::Worker, own) => Ok(worker.or_else(|| own.clone())),
        (Role::Asker | Role::Producer | Role::Viewer | Role::Operator, _) => Ok(worker),
    }
}

fn read_range(query: &mut Query) -> (Option<Day>, Option<Day>) {
    let (from, to) = (query.take("from", Day::parse), query.take("to", Day::parse));
    if let (Some(from), Some(to)) = (from, to) {
        match to.since(from) {
            ..0 => query.reject("from", "must not be after to"),
            days if is_too_long(days) => query.reject("from", TOO_LONG),
            _ => {}
        }
    }
    (from, to)
}

const TOO_LONG: &str = "must be at most 399 days before to: one call reads 400 days";

fn is_too_long(days: i64) -> bool {
    days >= i64::from(*limits::SHEETS_DAYS.end())
}

/// The first and the last day: all that is kept until today, where the caller names none.
fn chosen((from, to): (Option<Day>, Option<Day>), book: &SheetBook) -> Result<(Day, Day), Problem> {
    let to = to.unwrap_or_else(|| book.today().max(from.unwrap_or_else(|| book.today())));
    let from = from.unwrap_or_else(|| to.min(book.today()).before(book.state.days - 1).min(to));
    if is_too_long(to.since(from)) {
        return Err(Problem::invalid(vec![FieldError::parameter("from", TOO_LONG)]));
    }
    Ok((from, to))
}

/// An answer on its way.
struct SheetsAnswer {
    sheets: Sheets,
    queue: QueueName,
    worker: Option<Name>,
    days: VecDeque<Day>,
    reader: ReadCall,
    long_call: LongCall,
    is_table: bool,
    /// Written so far.
    lines: u64,
    is_over: bool,
}

impl SheetsAnswer {
    /// The answer starts with its first part, so that a failed first read is a refusal.
    async fn answer(mut self, head: &shapes::SheetsBody<'_>) -> Result<Response, Problem> {
        let kind = if self.is_table { HeaderValue::from_static("text/csv; charset=utf-8") } else { JSON };
        let first = self.part(self.head(head)?).await?;
        let parts = stream::unfold((self, first), |(mut answer, mut rest)| async move {
            if rest.is_empty() {
                match answer.next_part().await? {
                    Ok(part) => rest = part,
                    // There is no room for a problem after what was sent: the connection is cut.
                    Err(_) => return Some((Err(io::Error::other("not all of it")), (answer, rest))),
                }
            }
            Some((rest.next_chunk(), (answer, rest)))
        });
        let headers = [(header::CONTENT_TYPE, kind), (header::VARY, HeaderValue::from_static("accept"))];
        Ok((headers, Body::from_stream(parts.boxed())).into_response())
    }

    fn head(&self, head: &shapes::SheetsBody<'_>) -> Result<Vec<u8>, Problem> {
        let mut text = Vec::new();
        if self.is_table {
            write_row(shapes::SheetLineBody::names().map(Cow::from), &mut text);
            return Ok(text);
        }
        serde_json::to_writer(&mut text, head).map_err(|_| Problem::internal())?;
        // The lines go into the same object.
        text.pop();
        text.extend(br#","lines":["#);
        Ok(text)
    }

    /// `None` at the end.
    async fn next_part(&mut self) -> Option<Result<CountedAnswer, Problem>> {
        if self.is_over {
            return None;
        }
        let turn = self.long_call.rate_permit();
        let ended = tokio::select! {
            // The credential is checked before a part is read for a slow reader.
            biased;
            problem = self.long_call.ended() => Some(problem),
            () = turn => None,
        };
        let part = match ended {
            Some(problem) => Err(problem),
            None => self.part(Vec::new()).await,
        };
        self.is_over |= part.is_err();
        Some(part)
    }

    /// Days until there are enough bytes.
    async fn part(&mut self, mut text: Vec<u8>) -> Result<CountedAnswer, Problem> {
        let permit = self.reader.page_permit().await?;
        while text.len() < PART_BYTES
            && let Some(day) = self.days.pop_front()
        {
            let lines = self.sheets.day(&self.queue, day, self.worker.as_ref()).await.map_err(Problem::from_read)?;
            for line in &lines {
                self.write(&shapes::SheetLineBody::new(day, line), &mut text)?;
            }
        }
        if self.days.is_empty() {
            self.is_over = true;
            if !self.is_table {
                text.extend(b"]}");
            }
        }
        Ok(CountedAnswer::new(permit, text))
    }

    fn write(&mut self, line: &shapes::SheetLineBody<'_>, text: &mut Vec<u8>) -> Result<(), Problem> {
        self.lines += 1;
        if self.is_table {
            let worker = quote_formula(line.worker().unwrap_or_default().into());
            let numbers = line.numbers().map(|number| number.map_or_else(String::new, |n| n.to_string()).into());
            write_row([line.day().to_string().into(), worker].into_iter().chain(numbers), text);
            return Ok(());
        }
        if self.lines > 1 {
            text.push(b',');
        }
        serde_json::to_writer(text, line).map_err(|_| Problem::internal())
    }
}
