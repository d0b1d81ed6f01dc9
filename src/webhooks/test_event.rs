//! The event by which an operator tests a webhook.

use std::{fmt, sync::Arc};

use futures_util::{StreamExt, stream};
use intray_webhook::{Attempt, Sender};
use serde_json::json;

use super::{file::Webhooks, line::Webhook};
use crate::job::ids::random_code;

/// Tests at the same time.
const CONCURRENT_TESTS: usize = 8;

/// A new value of `webhook-id`: 128 unguessable bits.
pub fn message_id() -> String {
    format!("msg_{}", random_code().as_str())
}

/// Sends `intray.test` once.
pub async fn send_test(sender: &Sender, webhook: &Webhook) -> Attempt {
    let body = json!({ "type": "intray.test", "timestamp": jiff::Timestamp::now().to_string(), "data": {} });
    sender.send(&webhook.target, &webhook.secrets, &message_id(), body.to_string().into()).await
}

/// What a webhook's test got. Shows the host, and no more of the URL.
pub struct TestReport {
    pub webhook: Arc<Webhook>,
    pub attempt: Attempt,
}

/// Tests all of them, and reports in their order.
pub async fn test_all(sender: &Sender, webhooks: &Webhooks) -> Vec<TestReport> {
    let tests = webhooks.iter().cloned().map(|webhook| async {
        let attempt = send_test(sender, &webhook).await;
        TestReport { webhook, attempt }
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
