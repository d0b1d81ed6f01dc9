//! Skills of tokens: a call narrows them, and never adds one.

use serde_json::{Value, json};

use crate::world::{
    Client, World,
    access::{SECRET, key, signed},
    program, run,
};

async fn start() -> World {
    let keys = [("web", "producer", "*"), ("desk", "worker", "*")];
    World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await
}

async fn reason(client: &Client, request: Value) -> String {
    client.send_reserve(request).await.is(200)["reason"].as_str().unwrap_or("a job").to_owned()
}

#[tokio::test]
async fn skills_of_a_token_are_not_widened() {
    let w = start().await;
    w.enqueue_with(json!({ "payload": 1, "skill": "de" })).await;
    let french = w.with_credential(&signed(SECRET, json!({ "sub": "ann", "skills": ["fr"] })));
    let neither = w.with_credential(&signed(SECRET, json!({ "sub": "ann" })));
    for client in [&french, &neither] {
        assert_eq!(reason(client, json!({ "queues": ["default"] })).await, "ineligible");
        assert_eq!(reason(client, json!({ "queues": ["default"], "skills": ["de", "fr"] })).await, "ineligible");
    }
    let both = w.with_credential(&signed(SECRET, json!({ "sub": "bob", "skills": ["de", "fr"] })));
    for narrowed in [json!([]), json!(["fr"])] {
        assert_eq!(reason(&both, json!({ "queues": ["default"], "skills": narrowed })).await, "ineligible");
    }
    assert_eq!(reason(&both, json!({ "queues": ["default"] })).await, "a job");
    w.check().await;
}

#[tokio::test]
async fn key_of_a_worker_names_the_skills() {
    let w = start().await;
    w.enqueue_with(json!({ "payload": 1, "skill": "de" })).await;
    let desk = w.with_credential(&key("desk"));
    assert_eq!(reason(&desk, json!({ "worker": "ann" })).await, "ineligible");
    assert_eq!(reason(&desk, json!({ "worker": "ann", "skills": ["de"] })).await, "a job");
    w.check().await;
}

#[tokio::test]
async fn minted_and_printed_tokens_have_their_skills() {
    let w = start().await;
    let web = w.with_credential(&key("web"));
    let asked = json!({ "worker": "ann", "queues": ["default"], "skills": ["de", "C1 German"] });
    let minted = web.post("/tokens", asked).await.is(200)["token"].as_str().expect("a token").to_owned();
    let secret = ["--token-secret", SECRET];
    let asked = ["token", "--worker", "ann", "--queue", "default", "--skill", "de", "--skill", "C1 German"];
    let printed = run(program(asked.into_iter().chain(secret))).await;
    assert!(printed.status.success(), "{printed:?}");
    for token in [&*minted, printed.stdout.trim()] {
        let me = w.with_credential(token).get("/me").await.is(200);
        assert_eq!((&me["worker"], &me["skills"]), (&json!("ann"), &json!(["C1 German", "de"])));
    }
    assert_eq!(web.get("/me").await.is(200)["skills"], json!([]));
    let max: Vec<_> = (0..17).map(|n| format!("s{n}")).collect();
    web.post("/tokens", json!({ "worker": "ann", "queues": ["default"], "skills": max }))
        .await
        .invalid_at(&["/skills"]);
    let many = max.iter().flat_map(|skill| ["--skill", skill]);
    let refused =
        run(program(["token", "--worker", "ann", "--queue", "default"].into_iter().chain(secret).chain(many)));
    let refused = refused.await;
    assert!(!refused.status.success() && refused.stderr.contains("at most 16 skills"), "{refused:?}");
}
