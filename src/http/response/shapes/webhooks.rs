//! Webhooks and their deliveries.

use std::{sync::Arc, time::Duration};

use intray_webhook::Attempt;
use serde::Serialize;

use crate::{
    job::{DeliveryState, Millis},
    store::{Cursor, Delivery, DeliveryId, DeliveryPage},
    webhooks::{Webhook, WebhookState},
};

#[derive(Serialize)]
pub struct WebhookListBody<'a> {
    webhooks: Vec<WebhookStateBody<'a>>,
}

/// Never a secret, and of the URL the host alone.
#[derive(Serialize)]
struct WebhookStateBody<'a> {
    name: &'a str,
    host: &'a str,
    queues: &'a str,
    types: Vec<&'static str>,
    state: &'static str,
    waiting: u64,
    failed: u64,
    lost: u64,
    oldest_ms: Option<u64>,
    last_status: Option<u16>,
    last_error: Option<&'a str>,
    last_at: Option<Millis>,
}

impl<'a> WebhookListBody<'a> {
    pub fn new(webhooks: &'a [Arc<Webhook>], states: &'a [WebhookState]) -> Self {
        let body = |(webhook, state): (&'a Arc<Webhook>, &'a WebhookState)| {
            let last = state.last.as_ref();
            WebhookStateBody {
                name: webhook.name.as_str(),
                host: webhook.target.host(),
                queues: webhook.pattern.as_str(),
                types: webhook.types.words().collect(),
                state: state.health.word(),
                waiting: state.counts.waiting,
                failed: state.counts.failed,
                lost: state.counts.lost,
                oldest_ms: state.counts.oldest.map(millis),
                last_status: last.and_then(|last| last.status),
                last_error: last.map(|last| last.error.as_str()).filter(|error| !error.is_empty()),
                last_at: last.map(|last| last.at),
            }
        };
        Self { webhooks: webhooks.iter().zip(states).map(body).collect() }
    }
}

#[derive(Serialize)]
pub struct DeliveryPageBody<'a> {
    deliveries: Vec<DeliveryBody<'a>>,
    next: Option<&'a Cursor>,
}

#[derive(Serialize)]
struct DeliveryBody<'a> {
    webhook_id: &'a DeliveryId,
    #[serde(rename = "type")]
    kind: &'a str,
    job: Option<&'a str>,
    attempts: u32,
    last_status: Option<u16>,
    last_error: Option<&'a str>,
    next_at: Option<Millis>,
    failed_at: Option<Millis>,
}

impl<'a> DeliveryPageBody<'a> {
    pub fn new(page: &'a DeliveryPage, state: DeliveryState) -> Self {
        let body = |Delivery { id, at, head }: &'a Delivery| DeliveryBody {
            webhook_id: id,
            kind: &head.kind,
            job: Some(head.subject.as_str()).filter(|subject| !subject.is_empty()),
            attempts: head.attempts,
            last_status: head.status,
            last_error: Some(head.error.as_str()).filter(|error| !error.is_empty()),
            next_at: (state == DeliveryState::Waiting).then_some(*at),
            failed_at: (state == DeliveryState::Failed).then_some(*at),
        };
        Self { deliveries: page.deliveries.iter().map(body).collect(), next: page.next.as_ref() }
    }
}

#[derive(Serialize)]
pub struct RedeliveredBody {
    pub redelivered: u64,
}

#[derive(Serialize)]
pub struct WebhookTestedBody {
    status: Option<u16>,
    ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl WebhookTestedBody {
    pub fn new(attempt: &Attempt) -> Self {
        let error = attempt.error.map(|error| error.to_string());
        Self { status: attempt.status, ms: millis(attempt.took), error }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
