//! `GET /queues/{queue}/form`: for all who may see the queue, and again only if it has changed.

use serde_json::{Value, json};

use super::VERDICT;
use crate::world::{
    Client, World,
    access::{SECRET, key, signed},
};

async fn form(client: &Client) -> Value {
    client.get("/queues/default/form").await.is(200)["result_schema"].take()
}

#[tokio::test]
async fn form_is_read_by_all_who_may_see_the_queue() {
    let roles = ["worker", "asker", "producer", "viewer", "operator"];
    let mut keys: Vec<_> = roles.map(|role| (role, role, "*")).to_vec();
    keys.push(("elsewhere", "operator", "else*"));
    let w = World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    let id = w.enqueue(1).await;
    for role in roles {
        assert_eq!(form(&w.with_credential(&key(role))).await, *VERDICT, "{role}");
    }
    assert_eq!(form(&w.with_credential(&signed(SECRET, json!({})))).await, *VERDICT);
    let made = w.with_credential(&key("producer")).post("/tokens", json!({ "worker": "ann", "job": id })).await.is(200);
    let for_one_job = w.with_credential(made["token"].as_str().expect("a token"));
    assert_eq!(form(&for_one_job).await, *VERDICT);

    w.without_credential().get("/queues/default/form").await.refused("unauthorized");
    w.with_credential(&key("elsewhere")).get("/queues/default/form").await.refused("forbidden");
    for_one_job.get("/queues/other/form").await.refused("forbidden");
    w.get("/queues/nowhere/form").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn form_that_is_known_is_not_sent_again() {
    let w = World::start().await;
    w.enqueue(1).await;
    let ask = async |tag: &str| w.request("GET", "/queues/default/form").header("if-none-match", tag).send().await;
    let mut tags = Vec::<String>::new();
    for set in [Value::Null, VERDICT.clone(), json!({ "type": "object", "properties": {} })] {
        w.update_settings(json!({ "result_schema": set })).await;
        let answer = w.get("/queues/default/form").await;
        assert_eq!(answer.is(200)["result_schema"], set);
        let tag = answer.header("etag").expect("a tag").to_owned();
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        let again = ask(&tag).await;
        assert_eq!((again.status, again.text().as_str(), again.header("etag")), (304, "", Some(tag.as_str())));
        for older in &tags {
            assert_eq!(ask(older).await.status, 200, "another version");
        }
        tags.push(tag);
    }
    w.check().await;
}
