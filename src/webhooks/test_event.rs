//! The event by which an operator tests a webhook.

use std::{fmt, sync::Arc};

use futures_util::{StreamExt, stream};
use intray_webhook::{Attempt, Sender};
use serde::Serialize;

use super::{body::WebhookBody, file::Webhooks, line::Webhook};
use crate::{job::Millis, store::DeliveryId};

/// Tests at the same time.
const CONCURRENT_TESTS: usize = 8;

#[derive(Serialize)]
struct NoData {}

/// Sends `intray.test` once, on a new connection: a test shows where the name leads now.
pub async fn send_test(sender: &Sender, webhook: &Webhook) -> Attempt {
    let timestamp = Millis(jiff::Timestamp::now().as_millisecond().unsigned_abs());
    let body = serde_json::to_vec(&WebhookBody { kind: "intray.test", timestamp, data: NoData {} });
    let body = body.expect("no member is a map or can fail");
    sender.reconnect();
    sender.send(&webhook.target, &webhook.secrets, &DeliveryId::random().to_string(), body.into()).await
}

/// What a webhook's test got. Shows the host, and no more of the URL.
pub struct TestReport {
    pub webhook: Arc<Webhook>,
    pub attempt: Attempt,
}

/// Tests all of them, and reports in their order.
pub async fn test_all(sender: &Sender, webhooks: &Webhooks) -> Vec<TestReport> {
    let tests = webhooks.iter().map(async |webhook| {
        let attempt = send_test(sender, webhook).await;
        TestReport { webhook: webhook.clone(), attempt }
    });
    stream::iter(tests).buffered(CONCURRENT_TESTS).collect().await
}

impl fmt::Display for TestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { webhook, attempt } = self;
        write!(f, "webhook {}: {}", webhook.name.as_str(), webhook.target.host())?;
        match (attempt.status, attempt.error) {
            (Some(status), _) => write!(f, " answered {status} in {} ms", attempt.took.as_millis()),
            (None, Some(error)) => write!(f, ": {error}"),
            (None, None) => f.write_str(": no answer"),
        }
    }
}
