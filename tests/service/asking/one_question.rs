//! A question is asked under a key: however often, by however many, through crashes, it is one job with one answer.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::{ChildProcess, World, assert_contains, eventually, id_of, tool};

/// A process that asks under one key and waits for the answer, as often as it must, in `shell`.
fn asker(url: &str, output: &std::path::Path) -> ChildProcess {
    let script = format!(
        r#"while :; do
ID=$(curl -sS -H 'Content-Type: application/json' -H 'Idempotency-Key: run-17-refund-3' -d '{{"payload":{{"tool":"refund","eur":180}},"expires_ms":900000}}' "{url}/jobs" | grep -o '"id":"[^"]*"' | cut -d '"' -f 4)
curl -fsS "{url}/jobs/$ID?wait_ms=30000" -o "$OUT.part" && grep -Eq '"state":"(completed|cancelled)"' "$OUT.part" && break
sleep 0.05
done
mv "$OUT.part" "$OUT""#
    );
    let mut command = tool("sh");
    command.args(["-c", &script]).env("OUT", output).stderr(Stdio::null());
    ChildProcess::spawn(command)
}

fn read(path: &std::path::Path) -> Option<Value> {
    std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok())
}

#[tokio::test]
async fn ten_askers_of_one_key_get_one_job_and_equal_answers() {
    let w = World::start().await;
    let (second, _) = w.start_instance().await;
    let outputs: Vec<_> = (0..10).map(|n| w.folder().join(format!("answer-{n}"))).collect();
    let urls = [w.service.url().to_owned(), second.url().to_owned()];
    let askers: Vec<_> = outputs.iter().enumerate().map(|(n, output)| asker(&urls[n % 2], output)).collect();
    eventually("they ask", async || Some(w.get("/queues/default").await.status).filter(|status| *status == 200)).await;
    let held = w.reserve_as("ann").await;
    w.complete_with(&held, json!({ "approved": true })).await.is(200);
    let mut answers = Vec::new();
    for output in &outputs {
        answers.push(eventually("an answer", async || read(output)).await);
    }
    assert_contains(
        &answers[0],
        json!({ "id": held.id, "result": { "approved": true }, "completed": { "worker": "ann" } }),
    );
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(w.queue().await["totals"]["enqueued"], 1);
    drop(askers);
    w.check().await;
}

#[tokio::test]
async fn killed_service_and_killed_asker_end_with_the_same_answer() {
    let mut w = World::plan().own_process().durable().start().await;
    let first = w.folder().join("first");
    let mut killed = asker(w.service.url(), &first);
    eventually("it asks", async || Some(w.get("/queues/default").await.status).filter(|status| *status == 200)).await;
    let id = eventually("it asks", async || w.list_ids("waiting").await.into_iter().next()).await;
    killed.kill();
    let held = w.reserve_as("ann").await;
    w.service.kill();
    w.restart().await;
    let again = w.folder().join("again");
    let _asker = asker(w.service.url(), &again);
    w.complete_with(&held, "approved").await.is(200);
    let answer = eventually("an answer", async || read(&again)).await;
    assert_contains(&answer, json!({ "id": id, "state": "completed", "result": "approved" }));
    assert_eq!(w.queue().await["totals"]["enqueued"], 1);
    w.check().await;
}

#[tokio::test]
async fn expiry_passes_while_the_service_is_down() {
    let mut w = World::plan().own_process().sweep_every(50).start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": 60_000 })).await;
    let held = w.reserve_as("ann").await;
    w.service.kill();
    w.advance_clock(60_000);
    w.restart().await;
    w.complete_with(&held, "yes").await.lost("expired", "cancelled");
    let answer = w.get(&format!("/jobs/{id}?wait_ms=30000")).await.is(200);
    assert_contains(&answer, json!({ "state": "cancelled", "cancelled": { "reason": "expired" }, "result": null }));
    w.check().await;
}

#[tokio::test]
async fn waiting_asker_hears_of_the_expiry() {
    let w = World::plan().sweep_every(50).start().await;
    let ask = async |body: Value| {
        w.request("POST", "/jobs").header("idempotency-key", "k").json(body.to_string()).send().await
    };
    let id = id_of(&ask(json!({ "payload": 1, "expires_ms": 60_000 })).await.is(201));
    let path = format!("/jobs/{id}?wait_ms=30000");
    let (answer, ()) = tokio::join!(w.get(&path), async { w.advance_clock(60_000) });
    assert_contains(&answer.is(200), json!({ "state": "cancelled", "cancelled": { "reason": "expired" } }));
    let again = ask(json!({ "payload": 1, "expires_ms": 60_000 })).await.is(201);
    assert_eq!((id_of(&again), &again["state"]), (id, &json!("cancelled")), "the same question has had its answer");
    ask(json!({ "payload": 2, "expires_ms": 60_000 })).await.refused("idempotency-key-reused");
    w.check().await;
}
