//! Events of queues as server-sent events (WHATWG HTML, section 9.2).

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue},
    response::{
        IntoResponse, Response,
        sse::{Event as Message, Sse},
    },
};
use futures_util::stream;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::{
    access::Pass,
    http::{
        middleware::auth,
        request::{
            headers::LastEventId,
            path::InPath,
            query::{Query, read_queues},
            reader::{self, ReadCall},
        },
        response::{counted, problem::Problem, shapes},
    },
    job::{BatchId, EventKind, Invalid, JobId, Name, QueueName, chance::between},
    store::{Event, Position, Queues, Subject},
    waiting::{Feed, TailUpdate, Waiting},
    waits::hurried,
};

/// A heartbeat is sent this often, so that a dead connection is noticed.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// How often the reader's credential is checked again.
const DOUBT: Duration = Duration::from_secs(1);

/// Messages that are sent together; then the connection flushes them, and other tasks run.
const MESSAGES_PER_YIELD: usize = 16;

/// `GET /events`
pub async fn events(
    State(waiting): State<Waiting>,
    State(leaving): State<CancellationToken>,
    pass: Pass,
    LastEventId(positions): LastEventId,
    mut query: Query,
) -> Result<Response, Problem> {
    let queues = read_queues(&mut query, &pass.caller);
    let filter = EventFilter::read(&mut query);
    let filter = query.finish(Some(filter))?;
    queues.iter().try_for_each(|queue| auth::queue(&pass.caller, queue))?;
    let position_in =
        |queue: &QueueName| positions.iter().find(|(known, _)| known == queue).map(|(_, position)| *position);
    let from = queues.into_iter().map(|queue| (position_in(&queue), queue)).collect();
    let feed = waiting.feed(from, reader::who(&pass)).await.map_err(Problem::from_read)?;
    Ok(EventStream::new(feed, filter, pass, leaving).into_response())
}

/// `GET /jobs/{id}/events`
pub async fn of_job(
    State(queues): State<Queues>,
    InPath(id): InPath<JobId>,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let position = |text: &str| Position::parse(text).ok_or(Invalid("must be the `next` of a page"));
    let after = query.take("after", position);
    query.finish(Some(()))?;
    let turn = reader.page_permit().await?;
    let story = queues.job_history(&id, after).await.map_err(Problem::from_read)?.ok_or_else(Problem::unknown_job)?;
    let events = story.events.iter().map(shapes::EventBody::new).collect();
    let story = shapes::JobHistoryBody { events, next: story.next, whole: story.complete };
    Ok(counted::answer(turn, &story))
}

/// Which events the reader wants.
struct EventFilter {
    kinds: Vec<EventKind>,
    batch: Option<BatchId>,
    client: Option<Name>,
    worker: Option<Name>,
}

impl EventFilter {
    fn read(query: &mut Query) -> Self {
        let mut kinds = Vec::new();
        for kind in query.list("type", EventKind::ALL.len()) {
            match EventKind::parse(&kind) {
                Some(kind) => kinds.push(kind),
                None => query.reject("type", Invalid("must be a type of event")),
            }
        }
        Self {
            kinds,
            batch: query.take("batch", BatchId::parse),
            client: query.take("client", Name::parse),
            worker: query.take("worker", Name::of_worker),
        }
    }

    fn matches(&self, event: &Event) -> bool {
        let of_batch = |batch: &BatchId| match &event.subject {
            Subject::Member(job) => job.batch() == *batch,
            Subject::Batch(own) => own == batch,
            Subject::Job(_) | Subject::Queue => false,
        };
        (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && self.batch.as_ref().is_none_or(of_batch)
            && self.client.as_ref().is_none_or(|client| event.client.as_ref() == Some(client))
            && self.worker.as_ref().is_none_or(|worker| event.worker.as_ref() == Some(worker))
    }
}

/// One connection. It is polled only when the last message was sent, so nothing is buffered here.
struct EventStream {
    feed: Feed,
    filter: EventFilter,
    heartbeat: Interval,
    pass: Pass,
    recheck: Interval,
    leaving: CancellationToken,
    is_over: bool,
}

impl EventStream {
    fn new(feed: Feed, filter: EventFilter, pass: Pass, leaving: CancellationToken) -> Self {
        let every = |period| {
            let mut interval = tokio::time::interval_at(Instant::now(), period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        };
        // The first heartbeat is sent at once, because its id lets the reader resume.
        let (heartbeat, doubt) = (every(hurried(HEARTBEAT_INTERVAL)), every(DOUBT));
        Self { feed, filter, heartbeat, pass, recheck: doubt, leaving, is_over: false }
    }

    async fn next(&mut self) -> Option<Message> {
        while !self.is_over {
            tokio::select! {
                // The credential is checked before events that waited for a slow reader are sent.
                biased;
                () = self.leaving.cancelled() => {
                    self.is_over = true;
                    return Some(Message::default().retry(Duration::from_millis(between(500, 2_000))));
                }
                // A reader whose credential has ended gets no more events, and learns why on the next call.
                _ = self.recheck.tick() => self.is_over = !self.pass.is_valid(),
                _ = self.heartbeat.tick() => return Some(self.message("heartbeat", &shapes::EmptyBody {})),
                update = self.feed.next() => match update {
                    Ok(TailUpdate::Event(event)) if self.filter.matches(&event) => {
                        return Some(self.message(event.kind.word(), &shapes::EventBody::new(&event)));
                    }
                    Ok(TailUpdate::Event(_)) => {}
                    Ok(TailUpdate::Gap(queue)) => return Some(self.about("gap", queue)),
                    Ok(TailUpdate::Away(queue)) => return Some(self.about("unavailable", queue)),
                    Ok(TailUpdate::Back(_)) => {}
                    // A reader that was cut resumes with its last id, and misses nothing that is kept.
                    Err(_) => self.is_over = true,
                },
            }
        }
        None
    }

    fn about(&self, kind: &str, queue: QueueName) -> Message {
        self.message(kind, &shapes::QueueNameBody { queue })
    }

    fn message(&self, kind: &str, data: &impl serde::Serialize) -> Message {
        let positions: Vec<_> = self.feed.positions().map(|(queue, position)| format!("{queue}@{position}")).collect();
        let data = serde_json::to_string(data).unwrap_or_default();
        Message::default().id(positions.join(",")).event(kind).data(data)
    }
}

impl IntoResponse for EventStream {
    fn into_response(self) -> Response {
        let messages = stream::unfold((self, 0_usize), |(mut reader, sent)| async move {
            if sent == MESSAGES_PER_YIELD {
                tokio::task::yield_now().await;
            }
            let message = reader.next().await?;
            Some((Ok::<_, Infallible>(message), (reader, sent % MESSAGES_PER_YIELD + 1)))
        });
        ([(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))], Sse::new(messages))
            .into_response()
    }
}
