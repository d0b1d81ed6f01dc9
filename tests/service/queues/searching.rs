//! What payloads and errors contain: found page by page, in bounded looks that say how many jobs they were.

use serde_json::{Value, json};

use crate::world::{Answer, World};

async fn list(w: &World, query: &str) -> Answer {
    w.get(&format!("/queues/default/jobs?{query}")).await
}

fn payloads(page: &Value) -> Vec<Value> {
    page["jobs"].as_array().expect("jobs").iter().map(|job| job["payload"]["n"].clone()).collect()
}

#[tokio::test]
async fn a_text_is_found_in_payloads_however_large_and_in_errors() {
    let w = World::start().await;
    w.set(json!({ "max_attempts": 1 })).await;
    let job = |n: u64, text: String| json!({ "payload": { "n": n, "text": text } });
    let large = format!("{}needle", "x".repeat(5_000));
    w.enqueue_many([job(1, "a needle".into()), job(2, "hay".into()), job(3, large), job(4, "NEEDLE".into())]).await;
    let page = list(&w, "search=needle").await.is(200);
    assert_eq!((payloads(&page), &page["next"], &page["looked"]), (vec![json!(1), json!(3)], &Value::Null, &json!(4)));
    assert_eq!(payloads(&list(&w, "search=%22n%22:2,").await.is(200)), [json!(2)], "as it was sent");
    assert_eq!(payloads(&list(&w, "search=needle&limit=1").await.is(200)), [json!(1)]);
    w.fail_with(&w.reserve().await, "socket closed").await.is(200);
    assert_eq!(payloads(&list(&w, "state=dead&search=socket").await.is(200)), [json!(1)]);
    assert_eq!(payloads(&list(&w, "state=dead&search=a%20needle&error=socket").await.is(200)), [json!(1)]);
    assert_eq!(payloads(&list(&w, "state=dead&search=needle&error=timeout").await.is(200)), [] as [Value; 0]);
    list(&w, "search=").await.blames_by("parameter", &["search"]);
    list(&w, &format!("search={}", "x".repeat(129))).await.blames_by("parameter", &["search"]);
    list(&w, &format!("search={}", "x".repeat(128))).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn a_look_is_bounded_and_says_where_the_next_goes_on() {
    let w = World::start().await;
    w.enqueue_many((0..1_000).map(|n| json!({ "payload": { "n": n } }))).await;
    w.enqueue_many((1_000..1_500).map(|n| json!({ "payload": { "n": n, "is": "last" } }))).await;
    let first = list(&w, "search=last").await.is(200);
    assert_eq!((payloads(&first), &first["looked"]), (vec![], &json!(1_000)), "no more than that are looked at");
    let next = first["next"].as_str().expect("where to go on");
    let second = list(&w, &format!("search=last&limit=3&after={next}")).await.is(200);
    assert_eq!(payloads(&second), [1_000, 1_001, 1_002].map(|n| json!(n)));
    w.check().await;
}

#[tokio::test]
async fn payloads_that_are_kept_apart_are_looked_into_a_few_a_script() {
    let w = World::start().await;
    let text = "x".repeat(60_000);
    let job = |n| json!({ "payload": { "n": n, "text": text, "is": if n == 39 { "last" } else { "" } } });
    for part in 0..4 {
        w.enqueue_many((part * 10..part * 10 + 10).map(job)).await;
    }
    let mut meter = w.meter().await;
    let (mut found, mut after, mut scripts) = (Vec::new(), String::new(), 0);
    loop {
        let page = list(&w, &format!("search=%22last%22{after}")).await.is(200);
        scripts += meter.is_bounded("a look into large payloads", &w.engine).await.len();
        found.extend(payloads(&page));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found, [json!(39)]);
    assert!(scripts >= 2_400_000 / (524_288 + 60_100), "half a MiB a script: {scripts} scripts for 2.4 MB");
    w.check().await;
}
