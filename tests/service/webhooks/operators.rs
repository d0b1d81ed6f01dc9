//! What operators see of webhooks and do with them: by role and pattern, and never a secret.

use serde_json::json;

use crate::{
    webhooks::{SECRET, line},
    world::{
        World,
        access::key,
        assert_contains, eventually,
        receiver::{Reaction, Receiver},
    },
};

/// The path and the query of a receiver's URL are secrets.
const PATH_WORD: &str = "hunter2";

#[tokio::test]
async fn callers_see_and_change_only_webhooks_of_their_queues() {
    let receiver = Receiver::start().await;
    let keys = [
        ("viewer", "viewer", "reviews*"),
        ("lead", "operator", "reviews-de"),
        ("other", "operator", "texts*"),
        ("page", "worker", "*"),
    ];
    let lines = [line("shop", &receiver, "reviews*", "completed"), line("audit", &receiver, "audit", "all")];
    let w = World::plan().with_keys(&keys).with_webhooks(lines).start().await;
    let [viewer, lead, other, page] = ["viewer", "lead", "other", "page"].map(|name| w.with_credential(&key(name)));
    receiver.react(|_| Reaction::Status(500));
    for queue in ["reviews-de", "reviews-fr"] {
        w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await;
        let held = w.reserve_with(json!({ "queues": [queue] })).await;
        w.complete(&held).await.is(200);
    }
    let names = |body: &serde_json::Value| -> Vec<String> {
        let webhooks = body["webhooks"].as_array().expect("a list");
        webhooks.iter().map(|webhook| webhook["name"].as_str().expect("a name").to_owned()).collect()
    };
    let waiting = async || w.get("/webhooks").await.is(200)["webhooks"][0]["waiting"] == 2;
    eventually("both wait", async || waiting().await.then_some(())).await;
    assert_eq!(names(&w.get("/webhooks").await.is(200)), ["shop", "audit"]);
    assert_eq!(names(&viewer.get("/webhooks").await.is(200)), ["shop"]);
    let of_lead = lead.get("/webhooks").await.is(200);
    assert_contains(
        &of_lead["webhooks"][0],
        json!({ "name": "shop", "waiting": 1, "host": "127.0.0.1", "queues": "reviews*" }),
    );
    assert_eq!(names(&other.get("/webhooks").await.is(200)), [""; 0]);
    page.get("/webhooks").await.refused("forbidden");

    let listed = lead.get("/webhooks/shop/deliveries?queue=reviews-de").await.is(200);
    assert_eq!(listed["deliveries"].as_array().expect("a list").len(), 1);
    lead.get("/webhooks/shop/deliveries?queue=reviews-fr").await.refused("forbidden");
    lead.get("/webhooks/shop/deliveries").await.invalid_by("parameter", &["queue"]);
    lead.get("/webhooks/shop/deliveries?queue=reviews-de&state=gone").await.invalid_by("parameter", &["state"]);
    let again = json!({ "queue": "reviews-de" });
    for name in ["audit", "nothing", "%20"] {
        lead.get(&format!("/webhooks/{name}/deliveries?queue=reviews-de")).await.refused("unknown-webhook");
        lead.post(&format!("/webhooks/{name}/redeliver"), again.clone()).await.refused("unknown-webhook");
        lead.post(&format!("/webhooks/{name}/test"), json!({})).await.refused("unknown-webhook");
    }
    viewer.post("/webhooks/shop/redeliver", again.clone()).await.refused("forbidden");
    lead.post("/webhooks/shop/redeliver", json!({})).await.invalid_at(&["/queue"]);
    lead.post("/webhooks/shop/redeliver", json!({ "queue": "reviews-de", "webhook_id": "x" }))
        .await
        .invalid_at(&["/webhook_id"]);
    lead.post("/webhooks/shop/redeliver", json!({ "queue": "reviews-fr" })).await.refused("forbidden");
    let none = w.post("/webhooks/shop/redeliver", json!({ "queue": "reviews-never" })).await.is(200);
    assert_eq!(none, json!({ "redelivered": 0 }));
    // A test goes to the receiver of all queues of the webhook.
    lead.post("/webhooks/shop/test", json!({})).await.refused("forbidden");
    w.check().await;
}

#[tokio::test]
async fn test_reports_what_came_back_and_runs_once_a_second() {
    let mut receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "completed")]).start().await;
    let tested = w.post("/webhooks/shop/test", json!({})).await.is(200);
    assert!(tested["status"] == 204 && tested["ms"].is_u64() && tested.get("error").is_none(), "{tested}");
    let posted = receiver.wait_for(1).await.remove(0);
    assert!(posted.kind() == "intray.test" && posted.is_signed_by(SECRET), "{posted:?}");
    receiver.go_down().await;
    let refused = eventually("it may be tested again", async || {
        let answer = w.post("/webhooks/shop/test", json!({})).await;
        if answer.status == 429 {
            answer.refused("rate-limited");
            return None;
        }
        Some(answer.is(200))
    })
    .await;
    assert_contains(&refused, json!({ "status": null, "error": "connection refused" }));
    assert_eq!(w.get("/webhooks").await.is(200)["webhooks"][0]["last_at"], json!(null), "a test is no delivery");
}

#[tokio::test]
async fn test_and_redeliver_open_new_connections() {
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "enqueued")]).start().await;
    let mut count = 0;
    let mut deliver = async || {
        count += 1;
        w.enqueue_with(json!({ "payload": count, "dedupe": false })).await;
        receiver.wait_for(count).await[count - 1].peer
    };
    let first = deliver().await;
    // Its connection is idle again once the webhook has seen the end of the answer.
    eventually("a connection is used again", async || (deliver().await == deliver().await).then_some(())).await;
    let kept = deliver().await;
    w.post("/webhooks/shop/redeliver", json!({ "queue": "default" })).await.is(200);
    let after = deliver().await;
    assert!(after != kept && after != first, "{after}");
    w.post("/webhooks/shop/test", json!({})).await.is(200);
    let peers: Vec<_> = receiver.posted().iter().map(|posted| posted.peer).collect();
    assert!(peers.iter().filter(|peer| *peer == peers.last().expect("a test")).count() == 1, "{peers:?}");
}

#[tokio::test]
async fn metrics_of_a_webhook_leave_with_its_line() {
    let receiver = Receiver::start().await;
    let w = World::plan().own_process().with_webhooks([line("shop", &receiver, "*", "enqueued")]).start().await;
    w.enqueue(1).await;
    receiver.wait_for(1).await;
    let shown = async || {
        let metrics = w.get("/metrics").await.text();
        let named = |name: &str| metrics.lines().filter(|line| line.contains(&format!("webhook=\"{name}\""))).count();
        (named("shop"), named("store"))
    };
    eventually("it is counted", async || (shown().await == (4, 0)).then_some(())).await;
    std::fs::write(w.folder().join("webhooks"), line("store", &receiver, "*", "enqueued")).expect("written");
    eventually("the new name is shown", async || (shown().await == (0, 3)).then_some(())).await;
    w.enqueue(2).await;
    receiver.wait_for(2).await;
    eventually("it is counted", async || (shown().await == (0, 4)).then_some(())).await;
}

#[tokio::test]
async fn no_log_answer_or_metric_shows_a_path_or_a_secret() {
    let mut receiver = Receiver::start().await;
    let lines = [line("shop", &receiver, "*", "all")];
    let w = World::plan().own_process().with_webhooks(lines).trace_logs().start().await;
    let work = async || {
        w.enqueue("x").await;
        w.complete(&w.reserve().await).await.is(200);
        w.post("/webhooks/shop/test", json!({})).await;
    };
    work().await;
    receiver.wait_for(3).await;
    receiver.react(|_| Reaction::Status(410));
    work().await;
    receiver.go_down().await;
    w.post("/webhooks/shop/redeliver", json!({ "queue": "default" })).await.is(200);
    let fails = async || w.get("/webhooks").await.is(200)["webhooks"][0]["last_error"] == "connection refused";
    eventually("it fails", async || fails().await.then_some(())).await;
    let file = w.folder().join("webhooks");
    std::fs::write(&file, format!("shop https://u:{PATH_WORD}@example.org/{PATH_WORD} * all {SECRET}"))
        .expect("written");
    eventually("the broken file is named", async || {
        w.service.output().contains("cannot be used; the previous content stays in use: line 1").then_some(())
    })
    .await;
    let mut shown = w.service.output();
    for path in ["/webhooks", "/webhooks/shop/deliveries?queue=default", "/metrics"] {
        shown.push_str(&w.get(path).await.text());
    }
    let secret = SECRET.trim_start_matches("whsec_");
    let lines: Vec<_> = shown.lines().filter(|line| line.contains(PATH_WORD) || line.contains(secret)).collect();
    assert!(lines.is_empty(), "{lines:#?}");
    let metrics = w.get("/metrics").await.text();
    assert!(metrics.contains("intray_webhook_deliveries_total{outcome=\"taken\",webhook=\"shop\"}"), "{metrics}");
}

#[tokio::test]
async fn dead_webhook_does_not_delay_another() {
    let (receiver, mut dead) = (Receiver::start().await, Receiver::start().await);
    let lines = [line("dead", &dead, "*", "completed"), line("shop", &receiver, "*", "completed")];
    let w = World::plan().with_webhooks(lines).start().await;
    dead.go_down().await;
    for n in 0..50 {
        w.enqueue(n).await;
        w.complete(&w.reserve().await).await.is(200);
    }
    receiver.wait_for(50).await;
    let waits = async || w.get("/webhooks").await.is(200)["webhooks"][0]["waiting"] == 50;
    eventually("all of the dead one wait", async || waits().await.then_some(())).await;
}
