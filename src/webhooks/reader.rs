//! Reads the events of a queue after the cursors of webhooks, and makes deliveries of them. Every instance does so; the script that
//! moves a cursor lets one of them win.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{
    body::Contents,
    context::{QueueTask, RETRY_AFTER, ServedWebhook},
    line::Webhook,
};
use crate::{
    job::{Millis, Name, limits},
    store::{Event, EventLimit, Fault, Forward, Forwarded, OutboxState, Position},
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

/// The part of a queue's task that reads.
pub(super) struct QueueReader<'t> {
    task: &'t QueueTask,
    readings: HashMap<Name, Reading>,
    next_check: Instant,
}

impl<'t> QueueReader<'t> {
    pub(super) fn new(task: &'t QueueTask) -> Self {
        Self { task, readings: HashMap::new(), next_check: Instant::now() }
    }

    /// Reads when there is news, for as long as it is polled.
    pub(super) async fn run(mut self) {
        let (mut served, mut webhooks) = (self.task.served.clone(), Vec::new());
        loop {
            let current = self.task.webhooks();
            if current != webhooks {
                (webhooks, self.next_check) = (current, Instant::now());
            }
            let visit = self.task.context.visits.acquire().await;
            let outcome = Box::pin(self.visit(&webhooks)).await;
            drop(visit);
            // Where no webhook can take more deliveries, hints of new events are of no use.
            let has_room = self.readings.is_empty() || self.readings.values().any(|reading| !reading.is_full);
            self.task.context.hear(&self.task.queue, has_room);
            if outcome.is_err() {
                tokio::time::sleep(RETRY_AFTER).await;
                continue;
            }
            tokio::select! {
                () = self.task.has_events.notified() => {}
                Ok(()) = served.changed() => {}
                () = tokio::time::sleep_until(self.next_check.into()) => {}
            }
        }
    }

    /// Forwards all events that are for these webhooks.
    ///
    /// # Errors
    /// When Redis is not well, or has no memory for deliveries. The next visit continues from there.
    async fn visit(&mut self, webhooks: &[ServedWebhook]) -> Result<(), Fault> {
        if Instant::now() >= self.next_check {
            self.check(webhooks).await?;
            self.next_check = Instant::now() + CHECK_EVERY;
        }
        while self.read_page(webhooks).await? {}
        Ok(())
    }

    /// Forwards all events, and stores that they are read.
    ///
    /// # Errors
    /// As [`Self::visit`].
    pub(super) async fn catch_up(mut self) -> Result<(), Fault> {
        Box::pin(self.visit(&self.task.webhooks())).await?;
        for (name, reading) in &mut self.readings {
            if reading.unstored > 0 && !reading.is_full {
                store(self.task, name, reading).await?;
            }
        }
        Ok(())
    }

    /// Learns how the webhooks stand here, and stores where they have read to.
    async fn check(&mut self, webhooks: &[ServedWebhook]) -> Result<(), Fault> {
        let task = self.task;
        let QueueTask { context, queue, .. } = task;
        let states = context.queues.outbox(queue).await?;
        self.readings.retain(|name, _| webhooks.iter().any(|(webhook, _)| webhook.name == *name));
        for (webhook, since) in webhooks {
            let state = states.iter().find(|state| state.webhook == webhook.name);
            self.resume(&webhook.name, *since, state).await?;
            let Some(state) = state else { continue };
            if state.has_old {
                // Deliveries are collected only where one is due.
                context.queues.collect(queue, &webhook.name, 0, 0).await?;
            }
            if let Some(next) = state.next {
                task.due_in(&webhook.name, next);
            }
        }
        context.counts.put(queue, states);
        Ok(())
    }

    /// Continues where the webhook has read to, on any instance.
    async fn resume(&mut self, webhook: &Name, since: Millis, state: Option<&OutboxState>) -> Result<(), Fault> {
        let stored = state.map(|state| state.cursor.clone());
        let from = stored.as_deref().map_or_else(|| begin(since), parse);
        let reading = self.readings.entry(webhook.clone()).or_insert_with(|| Reading {
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
            store(self.task, webhook, reading).await?;
        }
        Ok(())
    }

    /// Reads a page from where the slowest webhook is. Returns whether there may be more.
    async fn read_page(&mut self, webhooks: &[ServedWebhook]) -> Result<bool, Fault> {
        let task = self.task;
        let from = self.readings.values().filter(|reading| !reading.is_full).map(|reading| reading.position).min();
        let Some(from) = from else { return Ok(false) };
        let page = task.context.queues.events_after(&task.queue, from, PAGE).await?;
        let is_for = |event: &Event, webhook: &Webhook, readings: &HashMap<Name, Reading>| {
            let reading = readings.get(&webhook.name).filter(|reading| !reading.is_full);
            reading.is_some_and(|reading| event.at > reading.position && webhook.types.wants(event.kind))
        };
        let is_wanted = |event: &&Event| webhooks.iter().any(|(webhook, _)| is_for(event, webhook, &self.readings));
        let wanted: Vec<_> = page.events.iter().filter(is_wanted).collect();
        // Held until all webhooks have what was read.
        let permit = if wanted.is_empty() { None } else { Some(task.context.waiting.webhook_permit().await) };
        let (contents, count) = Contents::read(&task.context.queues, &task.queue, &wanted).await?;
        permit.iter().for_each(|permit| permit.finish_read(contents.size()));
        let (part, rest) = wanted.split_at(count);
        // The jobs of the rest had no room: these events are read again.
        let reached = if rest.is_empty() { page.reached } else { part.last().map_or(from, |event| event.at) };
        let mut more = page.more || !rest.is_empty();
        for (webhook, _) in webhooks {
            let events: Vec<_> = part.iter().copied().filter(|event| is_for(event, webhook, &self.readings)).collect();
            let reading = self.readings.get_mut(&webhook.name).filter(|reading| !reading.is_full);
            let Some(reading) = reading else { continue };
            if !send(task, webhook, reading, &contents, &events).await? {
                // Another instance was faster, and this one continues after it.
                more |= !reading.is_full;
                continue;
            }
            reading.position = reading.position.max(reached);
            reading.unstored += page.events.len();
            if reading.unstored >= MAX_UNSTORED {
                store(task, &webhook.name, reading).await?;
            }
        }
        Ok(more)
    }
}

/// Makes deliveries of these events. False: another instance was faster, or too many wait.
async fn send(
    task: &QueueTask,
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
            if !forward(task, &webhook.name, reading, std::mem::take(&mut step)).await? {
                return Ok(false);
            }
            task.due_in(&webhook.name, Duration::ZERO);
            bytes = 0;
        }
    }
    Ok(true)
}

/// Stores where a webhook has read to.
async fn store(task: &QueueTask, webhook: &Name, reading: &mut Reading) -> Result<(), Fault> {
    let step = Forward { reached: reading.position.to_string(), ..Forward::default() };
    forward(task, webhook, reading, step).await.map(drop)
}

/// Returns whether this instance has moved the cursor.
async fn forward(task: &QueueTask, webhook: &Name, reading: &mut Reading, step: Forward) -> Result<bool, Fault> {
    let step = Forward { read: reading.stored.clone(), ..step };
    match task.context.queues.forward(&task.queue, webhook, &step).await? {
        Forwarded::Done => {
            (reading.position, reading.stored, reading.unstored) = (parse(&step.reached), Some(step.reached), 0);
            return Ok(true);
        }
        // In this way what this instance has sent without learning of it is noticed too.
        Forwarded::Moved(stored) => {
            reading.position = stored.as_deref().map_or(reading.position, parse);
            reading.stored = stored;
        }
        Forwarded::Full => reading.is_full = true,
    }
    Ok(false)
}

/// Before the first event of the millisecond in which the webhook became known.
fn begin(since: Millis) -> Position {
    Position { ms: since.0.saturating_sub(1), sequence: u64::MAX, index: u32::MAX }
}

/// A cursor that cannot be read begins again: its events are sent twice rather than not.
fn parse(cursor: &str) -> Position {
    Position::parse(cursor).unwrap_or_default()
}
