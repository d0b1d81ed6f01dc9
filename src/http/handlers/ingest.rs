//! Any number of jobs as lines: they are enqueued in order while they are read, and only pending lines are in memory.

mod outage;
mod summary;

use std::pin::Pin;

use axum::response::Response;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, future::ready, stream::FuturesOrdered};

use self::{
    outage::Outages,
    summary::{LineCounts, Summary},
};
use crate::{
    http::{
        handlers::{
            made_queues::MadeQueues,
            new_job::{EnqueueContext, enqueued},
            task::NdjsonCall,
        },
        middleware::revalidate::LongCall,
        request::{
            lines::{BodyLine, BodyLines},
            rules,
        },
        response::{
            problem::{Problem, ProblemType},
            shapes,
        },
    },
    job::{QueueName, limits},
    store::{Applied, Fault, NewJob, Queues},
};

/// Pending lines, and bytes of them, before reading pauses.
const MAX_PENDING_LINES: usize = 512;
const MAX_PENDING_BYTES: usize = 1 << 20;
/// Bytes that a line may have in addition to the payload.
const MAX_ENVELOPE_BYTES: usize = 16 << 10;

type LineOutcome = Result<shapes::EnqueuedBody, Problem>;
type PendingLine = Pin<Box<dyn Future<Output = (usize, LineAnswer)> + Send>>;

/// The answer to a line.
struct LineAnswer {
    line: u64,
    outcome: LineOutcome,
    trouble: Option<LineFault>,
}

/// A line after parsing.
struct ReadLine {
    number: u64,
    bytes: usize,
    job: Result<NewJob, Problem>,
}

/// A fault of a server, not of the line.
struct LineFault {
    queue: QueueName,
    /// The answer for further lines of the queue, which are not tried; `None` if a retry would not help either.
    untried: Option<Problem>,
    /// No queue can be served.
    is_of_all: bool,
}

/// `POST /jobs` with NDJSON.
///
/// # Errors
/// A problem, when the query is wrong.
pub async fn take(queues: Queues, max_payload: usize, lined: NdjsonCall) -> Result<Response, Problem> {
    let NdjsonCall { pass, leaving, repeat, traceparent, mut query, budget, body } = lined;
    let all = query.take("answers", |word| match word {
        "errors" => Ok(false),
        "all" => Ok(true),
        _ => Err("must be errors or all"),
    });
    let first = query.take("first_line", rules::whole_text(1..=limits::COUNT)).unwrap_or(1);
    let creates = query.take("create", rules::flag_text).unwrap_or(true);
    let all = query.finish(Some(all.unwrap_or(false)))?;
    let call =
        EnqueueContext { caller: pass.caller.clone(), repeat, traceparent, max_payload, index: 0, derived: Vec::new() };
    let intake = Import {
        queues,
        call,
        lines: BodyLines::new(body, &budget, max_payload + MAX_ENVELOPE_BYTES),
        before: u64::from(first) - 1,
        creates,
        pending: FuturesOrdered::new(),
        pending_bytes: 0,
        paid: limits::ENQUEUE_ITEMS as u64,
        long_call: LongCall::new(pass, leaving),
        input_ended: false,
        away: Outages::default(),
        tally: LineCounts::default(),
    };
    if all { Ok(summary::stream_all(intake).await) } else { Ok(summary::stream_errors(intake).await) }
}

/// One call while its lines are read and enqueued.
struct Import {
    queues: Queues,
    call: EnqueueContext,
    lines: BodyLines,
    /// Line numbers before the first line of this body.
    before: u64,
    /// A queue that is not there is made.
    creates: bool,
    pending: FuturesOrdered<PendingLine>,
    /// Bytes of pending lines.
    pending_bytes: usize,
    /// Lines that the call has paid for by the rate limit; bytes count as lines too.
    paid: u64,
    long_call: LongCall,
    /// The body has ended, or reading has stopped.
    input_ended: bool,
    /// Queues whose server failed a moment ago.
    away: Outages,
    tally: LineCounts,
}

impl Import {
    /// The next answers in the order of the lines; `None` at the end.
    async fn step(&mut self) -> Option<Vec<LineAnswer>> {
        self.lines.reset_deadline();
        loop {
            let wants_more =
                !self.input_ended && self.pending.len() < MAX_PENDING_LINES && self.pending_bytes < MAX_PENDING_BYTES;
            if self.pending.is_empty() && !wants_more {
                return None;
            }
            let owes = self.lines.cost() >= self.paid;
            let turn = self.long_call.rate_permit();
            tokio::select! {
                // The credential is checked before the lines of a slow sender are enqueued.
                biased;
                problem = self.long_call.ended(), if !self.input_ended => self.stop(problem),
                Some(done) = self.pending.next() => return Some(self.answers(done)),
                () = turn, if wants_more && owes => {
                    self.paid += limits::ENQUEUE_ITEMS as u64;
                    self.lines.reset_deadline();
                }
                lines = self.lines.next(self.pending_bytes), if wants_more && !owes => match lines {
                    Ok(lines) if lines.is_empty() => self.input_ended = self.lines.is_finished(),
                    Ok(lines) => self.send_all(lines).await,
                    Err(problem) => self.stop(problem),
                },
            }
        }
    }

    /// The first answer, and all that are ready after it.
    fn answers(&mut self, first: (usize, LineAnswer)) -> Vec<LineAnswer> {
        let mut answers = Vec::new();
        let mut next = Some(first);
        while let Some((bytes, answer)) = next {
            self.pending_bytes -= bytes;
            self.tally.count(&answer);
            match (&answer.outcome, &answer.trouble) {
                (Err(problem), Some(LineFault { is_of_all: true, .. })) => self.stop(problem.clone()),
                (_, Some(trouble)) => self.away.record(trouble),
                (_, None) => {}
            }
            answers.push(answer);
            next = self.pending.next().now_or_never().flatten();
        }
        self.lines.reset_deadline();
        answers
    }

    /// Enqueues lines in their order.
    async fn send_all(&mut self, lines: Vec<(u64, BodyLine)>) {
        if self.creates {
            return lines.into_iter().for_each(|(number, line)| {
                let read = self.read_line(self.before + number, line);
                self.send(read, &MadeQueues::default());
            });
        }
        let lines: Vec<_> =
            lines.into_iter().map(|(number, line)| self.read_line(self.before + number, line)).collect();
        let named = lines.iter().filter_map(|read| read.job.as_ref().ok()).map(|job| &job.id.queue);
        let served = named.filter(|queue| self.away.of(queue).is_none());
        let made = MadeQueues::find(&self.queues, false, served).await;
        lines.into_iter().for_each(|read| self.send(read, &made));
    }

    fn read_line(&mut self, number: u64, line: BodyLine) -> ReadLine {
        let (bytes, job) = match line {
            BodyLine::Text(text) => (text.len(), self.read(number, &text)),
            BodyLine::TooLong => {
                let max = self.call.max_payload + MAX_ENVELOPE_BYTES;
                (0, Err(Problem::new(ProblemType::TooLarge, format!("a line has at most {max} bytes here"))))
            }
        };
        ReadLine { number, bytes, job }
    }

    fn send(&mut self, ReadLine { number, bytes, job }: ReadLine, made: &MadeQueues) {
        self.pending_bytes += bytes;
        let refused = |problem, trouble| LineAnswer { line: number, outcome: Err(problem), trouble };
        let sent: PendingLine = match job {
            Err(problem) => Box::pin(ready((bytes, refused(problem, None)))),
            Ok(job) => match self.away.of(&job.id.queue) {
                Some((problem, trouble)) => Box::pin(ready((bytes, refused(problem, Some(trouble))))),
                None => {
                    let is_made = made.has(&job.id.queue);
                    let enqueued = enqueue_line(self.queues.clone(), number, job, is_made);
                    Box::pin(enqueued.map(move |answer| (bytes, answer)))
                }
            },
        };
        self.pending.push_back(sent);
    }

    /// Parses a line. Its fingerprint distinguishes a repeated line from another one in the same place.
    fn read(&mut self, number: u64, text: &Bytes) -> Result<NewJob, Problem> {
        let line = std::str::from_utf8(text)
            .map_err(|error| Problem::new(ProblemType::NotJson, format!("not UTF-8: {error}")))?
            .trim_ascii();
        if let Some(repeat) = &mut self.call.repeat {
            repeat.set_line(text.slice_ref(line.as_bytes()));
        }
        self.call.index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        let job = self.call.job(line);
        // Unused here, and without it the list would grow with the body.
        self.call.derived.clear();
        if let Some(repeat) = &mut self.call.repeat {
            // The buffer of the lines is used again only when no part of it is kept.
            repeat.set_line(Bytes::new());
        }
        job.map(|((), job)| job)
    }

    /// Stops reading; pending lines are still enqueued.
    fn stop(&mut self, problem: Problem) {
        self.input_ended = true;
        self.tally.stopped.get_or_insert(problem);
    }

    fn summary(&self) -> Summary<'_> {
        self.tally.summary(self.lines.read)
    }
}

async fn enqueue_line(queues: Queues, line: u64, job: NewJob, is_made: Result<bool, Fault>) -> LineAnswer {
    let queue = job.id.queue.clone();
    let outcome = match is_made {
        Ok(true) => queues.enqueue(job).await.map(Some),
        Ok(false) => Ok(None),
        Err(fault) => Err(fault),
    };
    match outcome {
        Ok(outcome) => LineAnswer { line, outcome: enqueued(outcome), trouble: None },
        Err(fault) => {
            let is_of_all = queues.is_of_all(&fault).await;
            let untried = fault.is_passing().then(|| fault.clone().with(Applied::No).into());
            LineAnswer { line, outcome: Err(fault.into()), trouble: Some(LineFault { queue, untried, is_of_all }) }
        }
    }
}
