//! The body of a webhook: an event with its job, made once and sent unchanged at each attempt.

use std::collections::HashMap;

use serde::Serialize;

use crate::{
    job::{BatchId, BatchState, Concern, EventKind, JobId, Millis, Name, QueueName, WorkerAccess},
    payload::Json,
    sha256::Sha256,
    store::{DeliveryHead, DeliveryId, Event, Fault, JobContent, Queues, Subject},
};

/// Jobs of one read, and the bytes of their payloads and results.
const MAX_JOBS: usize = 50;
const MAX_READ_BYTES: usize = 1 << 20;

/// A payload and a result that are longer together are left out.
const MAX_CONTENT_BYTES: usize = 65_536;

/// The members of every body, in this order.
#[derive(Serialize)]
pub(super) struct WebhookBody<'e, D> {
    #[serde(rename = "type")]
    pub(super) kind: &'e str,
    pub(super) timestamp: Millis,
    pub(super) data: D,
}

#[derive(Serialize)]
struct EventData<'e> {
    queue: &'e QueueName,
    /// The job, or the batch; null for the queue itself.
    id: Option<&'e str>,
    state: Option<&'e str>,
    worker: Option<&'e Name>,
    client: Option<&'e Name>,
    batch: Option<BatchId>,
    late: bool,
    held_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'e WorkerAccess>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'e Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'e str>,
    #[serde(flatten)]
    content: Content<'e>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'e> {
    Whole {
        payload: Option<&'e Json>,
        result: Option<&'e Json>,
    },
    /// Too large, or no longer kept.
    Truncated {
        truncated: bool,
    },
}

/// The type of an event, as receivers read it.
fn type_of(kind: EventKind) -> String {
    match kind.concerns() {
        Concern::Job(_) => format!("job.{}", kind.word()),
        Concern::Batch => kind.word().replacen('-', ".", 1),
        Concern::Queue => format!("queue.{}", kind.word()),
    }
}

/// The jobs of some events, each read once.
pub(super) struct Contents {
    jobs: HashMap<JobId, Option<JobContent>>,
}

impl Contents {
    /// Those of the first of these events of a queue, as many as one read has room for, and the number of these events.
    ///
    /// # Errors
    /// When Redis is not well.
    pub(super) async fn read(queues: &Queues, queue: &QueueName, events: &[&Event]) -> Result<(Self, usize), Fault> {
        let mut ids: Vec<&JobId> = Vec::new();
        for id in events.iter().filter_map(|event| job_of(event)) {
            if ids.len() < MAX_JOBS && !ids.contains(&id) {
                ids.push(id);
            }
        }
        let found = queues.contents(queue, &ids, MAX_CONTENT_BYTES, MAX_READ_BYTES).await?;
        let jobs: HashMap<_, _> = ids.into_iter().cloned().zip(found).collect();
        let is_read = |event: &&&Event| job_of(event).is_none_or(|id| jobs.contains_key(id));
        let count = events.iter().take_while(is_read).count();
        Ok((Self { jobs }, count))
    }

    /// The bytes of payloads and results.
    pub(super) fn size(&self) -> usize {
        self.jobs.values().flatten().map(JobContent::size).sum()
    }

    /// The event as it is sent to a webhook.
    pub(super) fn delivery(&self, webhook: &Name, event: &Event) -> (DeliveryId, DeliveryHead, Vec<u8>) {
        let kind = type_of(event.kind);
        let subject = match &event.subject {
            Subject::Job(job) | Subject::Member(job) => job.to_string(),
            Subject::Batch(batch) => batch.to_string(),
            Subject::Queue => String::new(),
        };
        let body = serde_json::to_vec(&self.body(&kind, &subject, event)).unwrap_or_default();
        let id = id_of(webhook, event, &subject);
        (id, DeliveryHead { attempts: 0, status: None, kind, subject, error: String::new() }, body)
    }

    fn body<'e>(&'e self, kind: &'e str, subject: &'e str, event: &'e Event) -> WebhookBody<'e, EventData<'e>> {
        let (state, batch, content) = match &event.subject {
            Subject::Job(id) => (state_of(event), None, self.content_of(id)),
            Subject::Member(id) => (state_of(event), Some(id.batch()), self.content_of(id)),
            Subject::Batch(id) => (state_of(event), Some(id.clone()), Content::Whole { payload: None, result: None }),
            Subject::Queue => (None, None, Content::Whole { payload: None, result: None }),
        };
        let completed = event.completed.as_ref();
        let data = EventData {
            queue: &event.queue,
            id: Some(subject).filter(|subject| !subject.is_empty()),
            state,
            worker: event.worker.as_ref(),
            client: event.client.as_ref(),
            batch,
            late: completed.is_some_and(|completed| completed.late),
            held_ms: completed.map(|completed| completed.held_ms),
            access: event.access.as_ref(),
            by: event.by.as_ref(),
            reason: event.reason().filter(|_| completed.is_none()),
            content,
        };
        WebhookBody { kind, timestamp: event.time(), data }
    }

    fn content_of(&self, id: &JobId) -> Content<'_> {
        let Some(job) = self.jobs.get(id).and_then(Option::as_ref) else {
            return Content::Truncated { truncated: true };
        };
        if job.size() > MAX_CONTENT_BYTES {
            return Content::Truncated { truncated: true };
        }
        Content::Whole { payload: job.payload.as_ref(), result: job.result.as_ref() }
    }
}

/// The state of the job or batch after the event, which the note of the event says for a batch: it may be gone by now.
fn state_of(event: &Event) -> Option<&'static str> {
    match event.kind.concerns() {
        Concern::Job(state) => Some(state.word()),
        Concern::Batch => BatchState::parse(&event.note).map(BatchState::word),
        Concern::Queue => None,
    }
}

fn job_of(event: &Event) -> Option<&JobId> {
    match &event.subject {
        Subject::Job(id) | Subject::Member(id) => Some(id),
        Subject::Batch(_) | Subject::Queue => None,
    }
}

/// The same for the same event of the same webhook, on any instance. Its place in the stream is not enough: after a failover that
/// lost events, another event may have it.
fn id_of(webhook: &Name, event: &Event, subject: &str) -> DeliveryId {
    let place = event.at.to_string();
    let parts = [webhook.as_str(), event.queue.as_str(), &place, event.kind.word(), subject];
    DeliveryId::new(event.time(), &Sha256::digest(parts.join("\0")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Position;

    #[test]
    fn reservation_says_the_access_of_its_worker() {
        let queue = QueueName::parse("q").expect("a name");
        let id = JobId::parse(&format!("q-{}", "0".repeat(26))).expect("an id");
        for (access, shown) in [
            (None, serde_json::Value::Null),
            (
                Some(WorkerAccess::Key("desk".into())),
                serde_json::json!({ "kind": "key", "key": "desk", "issuer": null }),
            ),
        ] {
            let (at, worker, client, by, note, completed, ended_as, given_back) = Default::default();
            let (queue, kind, subject) = (queue.clone(), EventKind::Reserved, Subject::Job(id.clone()));
            let event =
                Event { queue, at, kind, subject, worker, client, by, note, completed, ended_as, given_back, access };
            let contents = Contents { jobs: HashMap::new() };
            let (.., body) = contents.delivery(&Name::parse("shop").expect("a name"), &event);
            let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!((&body["data"]["access"], body["data"].get("access").is_some()), (&shown, !shown.is_null()));
        }
    }

    #[test]
    fn end_of_a_batch_says_how_though_the_batch_is_gone() {
        let queue = QueueName::parse("q").expect("a name");
        let id = BatchId::parse(&format!("q-{}", "0".repeat(26))).expect("an id");
        for state in [BatchState::Completed, BatchState::Failed, BatchState::Cancelled] {
            let (worker, client, by, completed, ended_as, given_back, access) = Default::default();
            let (at, subject, note) = (Position::default(), Subject::Batch(id.clone()), state.word().to_owned());
            let (queue, kind) = (queue.clone(), EventKind::BatchCompleted);
            let event =
                Event { queue, at, kind, subject, worker, client, by, note, completed, ended_as, given_back, access };
            let contents = Contents { jobs: HashMap::new() };
            let (.., body) = contents.delivery(&Name::parse("shop").expect("a name"), &event);
            let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(body["data"]["state"], state.word(), "{body}");
        }
    }
}
