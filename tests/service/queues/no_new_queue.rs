//! What is put in with `create=false` makes no queue.

use serde_json::{Value, json};

use crate::world::{Answer, Client, World};

async fn lines(client: &Client, query: &str, text: &str) -> Vec<Value> {
    let call = client.request("POST", &format!("/jobs?create=false{query}"));
    let answer = call.header("content-type", "application/x-ndjson").body(text.to_owned()).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The slugs of the refused items; an accepted one has none.
fn refused(answer: &Answer, list: &str) -> Vec<Option<String>> {
    let items = answer.json()[list].as_array().expect("a list").clone();
    items.iter().map(|item| item["error"]["type"].as_str().map(str::to_owned)).collect()
}

async fn assert_not_made(w: &World) {
    let keys: Vec<String> = w.engine.run("KEYS intray:{reviws}:*").await;
    let listed: Option<f64> = w.engine.run("ZSCORE intray:2:queues reviws").await;
    assert_eq!((keys, listed), (vec![], None));
}

#[tokio::test]
async fn job_that_may_not_make_its_queue_is_refused() {
    let w = World::start().await;
    let job = |queue: &str, n: u64| json!({ "queue": queue, "payload": n });
    w.post("/jobs?create=false", job("reviws", 1)).await.refused("unknown-queue");
    w.post("/jobs?create=perhaps", job("reviws", 1)).await.invalid_by("parameter", &["create"]);
    w.post("/jobs?create=true", job("reviews", 1)).await.is(201);
    w.post("/jobs?create=false", job("reviews", 2)).await.is(201);
    w.configure("quiet", json!({ "paused": true })).await;
    let several =
        json!([job("reviews", 3), job("reviws", 4), { "queue": "reviws" }, job("quiet", 5), job("reviws", 6)]);
    let answer = w.post("/jobs?create=false", several).await;
    answer.is(200);
    let [unknown, invalid] = ["unknown-queue", "invalid-request"].map(|slug| Some(format!("/problems/{slug}")));
    assert_eq!(refused(&answer, "jobs"), [None, unknown.clone(), invalid, None, unknown]);
    assert_not_made(&w).await;
    w.check().await;
}

#[tokio::test]
async fn lines_that_may_not_make_their_queue_are_refused_alone() {
    let w = World::start().await;
    w.enqueue_with(json!({ "queue": "reviews", "payload": 0 })).await;
    let job = |n: u64| {
        format!("{{\"queue\":\"{}\",\"payload\":{n}}}\n", if n.is_multiple_of(3) { "reviws" } else { "reviews" })
    };
    let text: String = (1..=2_000).map(job).collect();
    let answers = lines(&w, "&answers=all", &text).await;
    let (last, each) = answers.split_last().expect("a last line");
    let expected =
        json!({ "lines": 2_000, "created": 1_334, "known": 0, "duplicates": 0, "errors": 666, "complete": true });
    assert_eq!(*last, expected);
    for (line, answer) in (1..).zip(each) {
        let slug = if line % 3 == 0 { json!("/problems/unknown-queue") } else { Value::Null };
        assert_eq!((&answer["line"], &answer["error"]["type"]), (&json!(line), &slug), "{answer}");
    }
    // In the order of the lines.
    let page = w.get("/queues/reviews/jobs?limit=5").await.is(200);
    let payloads: Vec<_> = page["jobs"].as_array().expect("a list").iter().map(|job| job["payload"].clone()).collect();
    assert_eq!(payloads, [0, 1, 2, 4, 5]);
    assert_not_made(&w).await;
    w.check().await;
}

#[tokio::test]
async fn batch_that_may_not_make_its_queue_is_refused() {
    let w = World::start().await;
    let batch = |queue: &str| json!({ "queue": queue, "jobs": [{ "payload": 1 }] });
    let opinions = |queue: &str| json!({ "queue": queue, "overlap": 2, "job": { "payload": 1 } });
    for new in [batch("reviws"), opinions("reviws")] {
        w.post("/batches?create=false", new).await.refused("unknown-queue");
    }
    let answer = w.post("/batches?create=false", json!([opinions("reviws")])).await;
    answer.is(200);
    w.enqueue_with(json!({ "queue": "reviews", "payload": 0 })).await;
    let answer =
        w.post("/batches?create=false", json!([opinions("reviews"), opinions("reviws"), opinions("reviews")])).await;
    answer.is(201);
    assert_eq!(refused(&answer, "batches"), [None, Some("/problems/unknown-queue".to_owned()), None]);
    w.post("/batches?create=false", batch("reviews")).await.is(201);
    assert_not_made(&w).await;
    w.check().await;
}

#[tokio::test]
async fn repeated_array_of_batches_names_the_known_ones() {
    let w = World::start().await;
    let opinions = |n: u64| json!({ "overlap": 2, "job": { "payload": n } });
    let known = async |key: &str, array: Value| {
        let call = w.request("POST", "/batches").header("idempotency-key", key).json(array.to_string());
        let answer = call.send().await.is(201);
        answer["batches"].as_array().expect("a list").iter().map(|item| item["known"].clone()).collect::<Vec<_>>()
    };
    for known_then in [false, true] {
        assert_eq!(known("k", json!([opinions(1), opinions(2)])).await, [known_then, known_then]);
    }
    assert_eq!(known("other", json!([opinions(1)])).await, [false]);
    w.check().await;
}

#[tokio::test]
async fn forgotten_queue_is_not_made_again_by_a_job() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    w.enqueue_with(json!({ "queue": "reviws", "payload": 1 })).await;
    w.delete("/queues/reviws?state=all").await.is(200);
    other.delete("/queues/reviws?forget=true").await.is(200);
    // The first instance has used the queue a moment ago.
    w.post("/jobs?create=false", json!({ "queue": "reviws", "payload": 2 })).await.refused("unknown-queue");
    w.post("/batches?create=false", json!({ "queue": "reviws", "jobs": [] })).await.refused("unknown-queue");
    assert_not_made(&w).await;
    w.check().await;
}
