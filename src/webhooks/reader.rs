//! Reads the events of queues after the cursors of webhooks, and makes deliveries of them. Every instance does so; the script that
//! moves a cursor lets one of them win.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{body::Contents, line::Webhook, shared::Shared};
use crate::{
    job::{Name, QueueName, limits},
    store::{Event, EventLimit, Fault, Forward, Forwarded, KnownWebhook, Position, Queues},
};

/// The state of a queue's webhooks is read at least this often: another instance may have stopped, or moved a cursor.
const CHECK_EVERY: Duration = Duration::from_secs(10);
/// Deliveries of one call, and the bytes of their bodies; one body alone may have more.
const MAX_DELIVERIES: usize = 50;
const MAX_BYTES: usize = 1 << 20;
const PAGE: EventLimit = EventLimit { entries: 200, events: 200 };

/// Events after which a cursor is stored.
const MAX_UNSTORED: usize = 20_000;

/// Where a webhook reads in a queue.
struct Reading {
    /// The cursor as it is stored; `None`: there is none.
    stored: Option<String>,
    /// It has read up to here. Events that are not for it move this alone, and the stored cursor follows at the next check, or after
    /// many of them, because what it has not read is kept for it.
    position: Position,
    /// Events since the stored cursor.
    unstored: usize,
    /// The limit of waiting deliveries is reached.
    is_full: bool,
}

/// One queue, as this instance reads it.
pub(super) struct QueueReader {
    pub(super) queue: QueueName,
    readings: HashMap<Name, Reading>,
    checked: Option<Instant>,
    /// The version of the file when it was last checked.
    version: u64,
}

impl QueueReader {
    pub(super) fn new(queue: QueueName) -> Self {
        Self { queue, readings: HashMap::new(), checked: None, version: 0 }
    }

    /// Whether a webhook can take more deliveries: otherwise it needs no hints of new events.
    pub(super) fn has_room(&self) -> bool {
        self.readings.is_empty() || self.readings.values().any(|reading| !reading.is_full)
    }

    pub(super) fn is_due(&self, version: u64) -> bool {
        version != self.version || self.checked.is_none_or(|checked| checked.elapsed() >= CHECK_EVERY)
    }

    /// Forwards all events that are for these webhooks.
    ///
    /// # Errors
    /// When Redis is not well, or has no memory for deliveries. The next visit continues from there.
    pub(super) async fn visit(
        &mut self,
        shared: &Shared,
        webhooks: &[(Arc<Webhook>, KnownWebhook)],
        version: u64,
    ) -> Result<(), Fault> {
        if self.is_due(version) {
            self.check(shared, webhooks).await?;
            (self.checked, self.version) = (Some(Instant::now()), version);
        }
        while self.read_page(shared, webhooks).await? {}
        Ok(())
    }

    /// Learns how the webhooks stand here, and stores where they have read to.
    async fn check(&mut self, shared: &Shared, webhooks: &[(Arc<Webhook>, KnownWebhook)]) -> Result<(), Fault> {
        let states = shared.queues.outbox(&self.queue).await?;
        self.readings.retain(|name, _| webhooks.iter().any(|(webhook, _)| webhook.name == *name));
        for (webhook, known) in webhooks {
            let state = states.iter().find(|state| state.webhook == webhook.name);
            let stored = state.map(|state| state.cursor.clone());
            let from = stored.as_deref().map_or_else(|| begin(known), parse);
            let reading = self.readings.entry(webhook.name.clone()).or_insert_with(|| Reading {
                stored: stored.clone(),
                position: from,
                unstored: 0,
                is_full: false,
            });
            if reading.stored != stored {
                (reading.stored, reading.position) = (stored.clone(), from);
            }
            reading.is_full = state.is_some_and(|state| state.waiting >= limits::WAITING_DELIVERIES);
            if stored.as_deref() != Some(reading.position.to_string().as_str()) && !reading.is_full {
                store(&shared.queues, &self.queue, &webhook.name, reading).await?;
            }
            if state.is_some_and(|state| state.has_old) {
                // Couriers come only where something is due.
                shared.queues.collect(&self.queue, &webhook.name, 0, 0).await?;
            }
            if let Some(next) = state.and_then(|state| state.next) {
                shared.courier(&webhook.name).due_in(&self.queue, next);
            }
        }
        for (webhook, lost) in shared.counts.put(&self.queue, states) {
            tracing::warn!(
                webhook = webhook.as_str(), queue = %self.queue, lost,
                "events were deleted before this webhook could read them: it is too far behind"
            );
        }
        Ok(())
    }

    /// Reads a page from where the slowest webhook is. Returns whether there may be more.
    async fn read_page(&mut self, shared: &Shared, webhooks: &[(Arc<Webhook>, KnownWebhook)]) -> Result<bool, Fault> {
        let from = self.readings.values().filter(|reading| !reading.is_full).map(|reading| reading.position).min();
        let Some(from) = from else { return Ok(false) };
        let page = shared.queues.events_after(&self.queue, from, PAGE).await?;
        let is_for = |webhook: &Webhook, reading: &Reading, event: &Event| {
            event.at > reading.position && webhook.types.wants(event.kind)
        };
        let mine = |webhook: &Webhook| self.readings.get(&webhook.name).filter(|reading| !reading.is_full);
        let wanted = |event: &&Event| {
            webhooks.iter().any(|(webhook, _)| mine(webhook).is_some_and(|reading| is_for(webhook, reading, event)))
        };
        let wanted: Vec<_> = page.events.iter().filter(wanted).collect();
        let (mut rest, mut overtaken) = (&wanted[..], HashSet::new());
        while !rest.is_empty() {
            let permit = shared.waiting.webhook_permit().await;
            let (contents, count) = Contents::read(&shared.queues, &self.queue, rest).await?;
            permit.finish_read(contents.size());
            let (part, later) = rest.split_at(count);
            for (webhook, _) in webhooks {
                let Some(reading) = self.readings.get_mut(&webhook.name).filter(|reading| !reading.is_full) else {
                    continue;
                };
                let events: Vec<_> = part.iter().copied().filter(|event| is_for(webhook, reading, event)).collect();
                if !overtaken.contains(&webhook.name)
                    && !send(shared, &self.queue, webhook, reading, &contents, &events).await?
                {
                    overtaken.insert(&webhook.name);
                }
            }
            rest = later;
        }
        let mut more = page.more;
        for (webhook, _) in webhooks {
            let Some(reading) = self.readings.get_mut(&webhook.name).filter(|reading| !reading.is_full) else {
                continue;
            };
            if overtaken.contains(&webhook.name) {
                // Another instance was faster: this one continues after it.
                more = true;
                continue;
            }
            reading.position = reading.position.max(page.reached);
            reading.unstored += page.events.len();
            if reading.unstored >= MAX_UNSTORED {
                store(&shared.queues, &self.queue, &webhook.name, reading).await?;
            }
        }
        Ok(more)
    }
}

/// Makes deliveries of these events. False: another instance was faster, or too many wait.
async fn send(
    shared: &Shared,
    queue: &QueueName,
    webhook: &Webhook,
    reading: &mut Reading,
    contents: &Contents,
    events: &[&Event],
) -> Result<bool, Fault> {
    let (mut step, mut bytes) = (Forward::default(), 0);
    for (nth, event) in events.iter().enumerate() {
        let delivery = contents.delivery(&webhook.name, event);
        bytes += delivery.2.len();
        step.reached = event.at.to_string();
        step.deliveries.push(delivery);
        let is_last = nth + 1 == events.len();
        if is_last || step.deliveries.len() == MAX_DELIVERIES || bytes >= MAX_BYTES {
            if !forward(&shared.queues, queue, &webhook.name, reading, std::mem::take(&mut step)).await? {
                return Ok(false);
            }
            shared.courier(&webhook.name).due_in(queue, Duration::ZERO);
            bytes = 0;
        }
    }
    Ok(true)
}

/// Stores where a webhook has read to.
async fn store(queues: &Queues, queue: &QueueName, webhook: &Name, reading: &mut Reading) -> Result<(), Fault> {
    let step = Forward { reached: reading.position.to_string(), ..Forward::default() };
    forward(queues, queue, webhook, reading, step).await.map(drop)
}

/// Returns whether this instance has moved the cursor.
async fn forward(
    queues: &Queues,
    queue: &QueueName,
    webhook: &Name,
    reading: &mut Reading,
    step: Forward,
) -> Result<bool, Fault> {
    let step = Forward { read: reading.stored.clone(), ..step };
    match queues.forward(queue, webhook, &step).await? {
        Forwarded::Done => {
            (reading.position, reading.stored, reading.unstored) = (parse(&step.reached), Some(step.reached), 0);
        }
        // In this way what this instance has sent without learning of it is noticed too.
        Forwarded::Moved(stored) => {
            reading.position = stored.as_deref().map_or(reading.position, parse);
            reading.stored = stored;
            return Ok(false);
        }
        Forwarded::Full => {
            reading.is_full = true;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Before the first event of the millisecond in which the webhook became known.
fn begin(known: &KnownWebhook) -> Position {
    Position { ms: known.since.0.saturating_sub(1), sequence: u64::MAX, index: u32::MAX }
}

/// A cursor that cannot be read begins again: its events are sent twice rather than not.
fn parse(cursor: &str) -> Position {
    Position::parse(cursor).unwrap_or_default()
}
