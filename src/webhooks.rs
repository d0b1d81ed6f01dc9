//! Webhooks: the operator's file of them, and the test of one.

mod file;
mod line;
mod test_event;
mod types;

pub use self::{
    file::{WebhookFile, Webhooks},
    line::{NewWebhook, Webhook, WebhookName},
    test_event::{TestReport, message_id, send_test, test_all},
    types::Types,
};
