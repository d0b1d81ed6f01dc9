//! Answers of webhook routes.

use serde_json::{Value, json};

use super::Operation;
use crate::{
    webhooks::SECRET,
    world::{Answer, World},
};

pub const NAME: &str = "shop";
pub const DELIVERIES: &str = "/webhooks/{name}/deliveries";

/// A line of the webhooks file. Its receiver refuses connections, so that deliveries wait.
pub fn line() -> String {
    format!("{NAME} http://127.0.0.1:1/ default completed {SECRET}")
}

pub fn redelivery() -> Value {
    json!({ "queue": "default" })
}

pub async fn succeed(w: &World, operation: &Operation<'_>) -> Answer {
    match (operation.method, operation.template) {
        ("POST", "/webhooks/{name}/redeliver") => w.post(&operation.path, redelivery()).await,
        ("POST", _) => w.post(&operation.path, json!({})).await,
        (_, DELIVERIES) => w.get(&format!("{}?queue=default", operation.path)).await,
        (method, _) => w.request(method, &operation.path).send().await,
    }
}

pub async fn refuse(w: &World, operation: &Operation<'_>, slug: &str) -> Answer {
    let Operation { method, template, path } = operation;
    assert_eq!(slug, "unknown-webhook", "{method} {template}");
    w.request(method, &path.replace(NAME, "nothing")).json("{}").send().await
}
