//! Jobs that come as lines, as many as there are: they go into their queues while they are read, in their order, and no
//! more of them is in hand than what is on its way.

mod away;
mod told;

use std::pin::Pin;

use axum::response::Response;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, future::ready, stream::FuturesOrdered};

use self::{
    away::Away,
    told::{Tally, Told},
};
use crate::{
    http::{
        handlers::{
            new_job::{Call, enqueued},
            task::Lined,
        },
        middleware::revalidate::Lasting,
        request::{
            lines::{Line, Lines},
            rules,
        },
        response::{
            problem::{Failure, Problem},
            shapes,
        },
    },
    job::{QueueName, limits},
    store::{Applied, NewJob, Queues},
};

/// Lines on their way, and bytes of them, before more are read.
const MOST_LINES: usize = 512;
const MOST_BYTES: usize = 1 << 20;
/// What a line may say beside the payload.
const ENVELOPE: usize = 16 << 10;

type Outcome = Result<shapes::Enqueued, Problem>;
type OnItsWay = Pin<Box<dyn Future<Output = (usize, Answer)> + Send>>;

/// What becomes of a line, by its number.
struct Answer {
    line: u64,
    outcome: Outcome,
    trouble: Option<Trouble>,
}

/// Not the line is wrong: a server is away, full or broken.
struct Trouble {
    queue: QueueName,
    /// What is said of lines of the queue that are not tried; none if trying would help as little later.
    untried: Option<Problem>,
    /// No queue can be served.
    is_of_all: bool,
}

/// `POST /jobs` of lines
///
/// # Errors
/// A problem with what stands before them.
pub async fn take(queues: Queues, max_payload: usize, lined: Lined) -> Result<Response, Problem> {
    let Lined { pass, leaving, repeat, traceparent, mut query, purse, body } = lined;
    let all = query.take("answers", |word| match word {
        "errors" => Ok(false),
        "all" => Ok(true),
        _ => Err("must be errors or all"),
    });
    let first = query.take("first_line", rules::whole_text(1..=limits::COUNT)).unwrap_or(1);
    let all = query.finish(Some(all.unwrap_or(false)))?;
    let call = Call { caller: pass.caller.clone(), repeat, traceparent, max_payload, index: 0, derived: Vec::new() };
    let intake = Intake {
        queues,
        call,
        lines: Lines::new(body, &purse, max_payload + ENVELOPE),
        before: u64::from(first) - 1,
        on_their_way: FuturesOrdered::new(),
        in_hand: 0,
        paid: limits::ENQUEUE_ITEMS as u64,
        lasting: Lasting::new(pass, leaving),
        is_read: false,
        away: Away::default(),
        tally: Tally::default(),
    };
    if all { Ok(told::each(intake).await) } else { Ok(told::errors(intake).await) }
}

/// A body on its way into queues.
struct Intake {
    queues: Queues,
    call: Call,
    lines: Lines,
    /// Lines before the first one of the body.
    before: u64,
    on_their_way: FuturesOrdered<OnItsWay>,
    /// Bytes of those.
    in_hand: usize,
    /// So many lines, or bytes that cost as much, the call is good for; more are as good as another call.
    paid: u64,
    lasting: Lasting,
    /// Nothing more is read, because nothing more comes or something is wrong.
    is_read: bool,
    /// Queues whose server was away a moment ago.
    away: Away,
    tally: Tally,
}

impl Intake {
    /// The next answers, in the order of the lines; none at the end. The caller may have been kept waiting by the reader of
    /// those before.
    async fn step(&mut self) -> Option<Vec<Answer>> {
        self.lines.is_kept_waiting();
        loop {
            let wants_more = !self.is_read && self.on_their_way.len() < MOST_LINES && self.in_hand < MOST_BYTES;
            if self.on_their_way.is_empty() && !wants_more {
                return None;
            }
            let owes = self.lines.cost() >= self.paid;
            let turn = self.lasting.turn();
            tokio::select! {
                // No line of a sender who stood still is sent before the key is looked at.
                biased;
                problem = self.lasting.is_over(), if !self.is_read => self.stop(problem),
                Some(done) = self.on_their_way.next() => return Some(self.answers(done)),
                () = turn, if wants_more && owes => {
                    self.paid += limits::ENQUEUE_ITEMS as u64;
                    self.lines.is_kept_waiting();
                }
                lines = self.lines.next(self.in_hand), if wants_more && !owes => match lines {
                    Ok(lines) if lines.is_empty() => self.is_read = self.lines.is_over(),
                    Ok(lines) => lines.into_iter().for_each(|(number, line)| self.send(self.before + number, line)),
                    Err(problem) => self.stop(problem),
                },
            }
        }
    }

    /// Whoever comes with the first that is done.
    fn answers(&mut self, first: (usize, Answer)) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut next = Some(first);
        while let Some((bytes, answer)) = next {
            self.in_hand -= bytes;
            self.tally.count(&answer);
            match (&answer.outcome, &answer.trouble) {
                (Err(problem), Some(Trouble { is_of_all: true, .. })) => self.stop(problem.clone()),
                (_, Some(trouble)) => self.away.note(trouble),
                (_, None) => {}
            }
            answers.push(answer);
            next = self.on_their_way.next().now_or_never().flatten();
        }
        self.lines.is_kept_waiting();
        answers
    }

    fn send(&mut self, number: u64, line: Line) {
        let (bytes, job) = match line {
            Line::Text(text) => (text.len(), self.read(number, &text)),
            Line::TooLong => {
                let most = self.call.max_payload + ENVELOPE;
                (0, Err(Problem::new(Failure::TooLarge, format!("a line has at most {most} bytes here"))))
            }
        };
        self.in_hand += bytes;
        let refused = |problem, trouble| Answer { line: number, outcome: Err(problem), trouble };
        let sent: OnItsWay = match job {
            Err(problem) => Box::pin(ready((bytes, refused(problem, None)))),
            Ok(job) => match self.away.of(&job.id.queue) {
                Some((problem, trouble)) => Box::pin(ready((bytes, refused(problem, Some(trouble))))),
                None => Box::pin(put(self.queues.clone(), number, job).map(move |answer| (bytes, answer))),
            },
        };
        self.on_their_way.push_back(sent);
    }

    /// A line is told from others in its place as a body is.
    fn read(&mut self, number: u64, text: &Bytes) -> Result<NewJob, Problem> {
        let text = std::str::from_utf8(text)
            .map_err(|error| Problem::new(Failure::NotJson, format!("not UTF-8: {error}")))?
            .trim_ascii();
        if let Some(repeat) = &mut self.call.repeat {
            repeat.is_of(text.as_bytes());
        }
        self.call.index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        let job = self.call.job(text);
        // Nobody asks for them here, and there is no end of them.
        self.call.derived.clear();
        job.map(|((), job)| job)
    }

    /// What is on its way arrives; nothing more is sent.
    fn stop(&mut self, problem: Problem) {
        self.is_read = true;
        self.tally.stopped.get_or_insert(problem);
    }

    fn told(&self) -> Told<'_> {
        self.tally.told(self.lines.read)
    }
}

async fn put(queues: Queues, line: u64, job: NewJob) -> Answer {
    let queue = job.id.queue.clone();
    match queues.enqueue(job).await {
        Ok(outcome) => Answer { line, outcome: enqueued(outcome), trouble: None },
        Err(fault) => {
            let is_of_all = queues.is_of_all(&fault).await;
            let untried = fault.is_passing().then(|| fault.clone().with(Applied::No).into());
            Answer { line, outcome: Err(fault.into()), trouble: Some(Trouble { queue, untried, is_of_all }) }
        }
    }
}
