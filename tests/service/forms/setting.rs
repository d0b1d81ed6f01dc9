//! The form of a queue: kept byte for byte, named by its digest, refused at the place that is wrong.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{FORM_KEY, VERDICT};
use crate::world::{World, access::key};

/// Spaces, an order and a number as no program would write them.
const TEXT: &str =
    r#"{ "type" : "object",  "properties":{"z":{"type":"number","maximum":1.50},"a":{"type":"boolean"}} }"#;

async fn set_text(w: &World, text: &str) {
    w.request("PATCH", "/queues/default").json(format!(r#"{{"result_schema": {text} }}"#)).send().await.is(200);
}

#[tokio::test]
async fn form_is_kept_byte_for_byte_and_named_by_its_digest() {
    let w = World::start().await;
    w.enqueue(1).await;
    let asked = w.script_runs("form").await;
    assert_eq!(w.queue().await["result_schema"], Value::Null);
    assert_eq!(w.script_runs("form").await, asked, "only a queue that has one is asked for it");
    set_text(&w, TEXT).await;
    let digest: String = Sha256::digest(TEXT).iter().map(|byte| format!("{byte:02x}")).collect();

    let queue = w.get("/queues/default").await;
    assert!(queue.text().contains(&format!(r#""result_schema":{TEXT}"#)), "{}", queue.text());
    assert_eq!(w.get("/queues/default/form").await.text(), format!(r#"{{"result_schema":{TEXT}}}"#));
    assert_eq!(queue.json()["settings"]["result_schema_sha256"], digest);
    let list = w.get("/queues").await.is(200);
    assert_eq!(list["queues"][0]["settings"]["result_schema_sha256"], digest);
    assert!(list["queues"][0].get("result_schema").is_none(), "a list has no texts");
    w.check().await;

    let settings = w.update_settings(json!({ "result_schema": null })).await;
    assert_eq!(settings["result_schema_sha256"], Value::Null);
    assert_eq!(w.queue().await["result_schema"], Value::Null);
    assert_eq!(w.engine.run::<u64>(&format!("EXISTS {FORM_KEY}")).await, 0);
    w.check().await;
}

#[tokio::test]
async fn text_that_is_no_form_is_refused_at_its_place() {
    let w = World::start().await;
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    let before = w.queue().await;
    let refuse =
        async |form: Value| w.patch("/queues/default", json!({ "lease_ms": 9_000, "result_schema": form })).await;
    refuse(json!("text")).await.invalid_at(&["/result_schema"]);
    refuse(json!({ "type": "object", "properties": { "a/b": { "type": "string", "contentEncoding": "base64" } } }))
        .await
        .invalid_at(&["/result_schema/properties/a~1b/contentEncoding"]);
    let wide: Value =
        (0..65).map(|n| (format!("p{n}"), json!({ "type": "boolean" }))).collect::<serde_json::Map<_, _>>().into();
    refuse(json!({ "type": "object", "properties": wide })).await.refused("invalid-request");
    assert_eq!(w.queue().await, before, "nothing was stored");
    w.check().await;
}

#[tokio::test]
async fn list_of_actions_names_a_form_by_its_digest() {
    let w = World::plan().with_keys(&[("ops", "operator", "*")]).start().await;
    let ops = w.with_credential(&key("ops"));
    let digest = ops.patch("/queues/default", json!({ "result_schema": VERDICT.clone() })).await.is(201)["settings"]
        ["result_schema_sha256"]
        .clone();
    let actions = ops.get("/queues/default/actions").await;
    let change = &actions.is(200)["actions"][0]["settings"];
    assert_eq!(*change, json!([{ "name": "result_schema_sha256", "from": null, "to": digest }]));
    assert!(!actions.text().contains("harmful"), "{}", actions.text());
    w.check().await;
}

#[tokio::test]
async fn form_stays_when_the_jobs_are_purged() {
    let w = World::start().await;
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    w.enqueue(1).await;
    w.delete("/queues/default?state=all").await.is(200);
    assert_eq!(w.queue().await["result_schema"], *VERDICT);
    w.check().await;
}
