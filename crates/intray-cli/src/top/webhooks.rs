//! Webhooks that do not deliver, for the line above the queues.

use serde::Deserialize;

use super::ask::Talk;
use crate::terminal::clean;

#[derive(Deserialize, Default)]
struct WebhooksPage {
    webhooks: Vec<WebhookRow>,
}

#[derive(Deserialize)]
struct WebhookRow {
    name: String,
    state: String,
    waiting: u64,
    failed: u64,
}

/// One note a webhook that fails, is stopped or has failed deliveries. A service of before webhooks has none.
pub(super) async fn notes(talk: &mut Talk<'_>) -> String {
    let page: WebhooksPage = talk.get("/webhooks").await.unwrap_or_default();
    let troubled = page.webhooks.iter().filter(|webhook| webhook.state != "ok" || webhook.failed > 0);
    troubled.map(note).collect()
}

fn note(WebhookRow { name, state, waiting, failed }: &WebhookRow) -> String {
    format!("; webhook {} is {}: {waiting} waiting, {failed} failed", clean(name), clean(state))
}
