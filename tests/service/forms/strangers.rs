//! A caller whose reservation cannot complete the job learns nothing of the form: the answers are those of a queue without one.

use serde_json::{Value, json};

use super::{VERDICT, no_verdict};
use crate::world::{Answer, ReservedJob, World, access::key, eventually};

/// What becomes of a reservation before a result comes that does not fit.
const SITUATIONS: [&str; 9] = [
    "made up",
    "cancelled",
    "released",
    "failed",
    "abandoned",
    "expired with its job",
    "overdue with its job",
    "completed with another result",
    "closing with another result",
];

async fn hold(w: &World, queue: &str, situation: &str) -> ReservedJob {
    let mut job = json!({ "queue": queue, "payload": situation });
    if situation.ends_with("with its job") {
        job["expires_ms"] = json!(200_000);
    }
    let id = w.enqueue_with(job).await;
    let mut held = w.reserve_with(json!({ "id": id })).await;
    let result = json!({ "verdict": "fine" });
    match situation {
        "made up" => held.reservation = format!("{id}.7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
        "cancelled" => drop(w.force_cancel(&id).await.is(200)),
        "released" => assert_eq!(w.release(&id).await, 1),
        "failed" => drop(w.fail(&held).await.is(200)),
        "abandoned" => drop(w.abandon(&held).await.is(200)),
        "completed with another result" => drop(w.complete_with(&held, result).await.is(200)),
        "closing with another result" => drop(w.close(&held, result, 60_000).await.is(200)),
        _ => w.advance_clock(200_000),
    }
    if situation == "expired with its job" {
        w.post(&format!("/queues/{queue}/sweep"), json!({})).await.is(200);
    }
    held
}

fn without_time(answer: &Answer) -> Value {
    let mut problem = answer.json();
    problem.as_object_mut().expect("a problem").remove("final_in_ms");
    problem
}

#[tokio::test]
async fn answer_is_that_of_a_queue_without_a_form() {
    let w = World::start().await;
    w.stop_clock().await;
    w.configure("formed", json!({ "result_schema": VERDICT.clone() })).await;
    for situation in SITUATIONS {
        let mut answers = Vec::new();
        for queue in ["plain", "formed"] {
            let held = hold(&w, queue, situation).await;
            let answer = w.complete_with(&held, no_verdict()).await;
            assert_eq!(answer.status, 409, "{situation}: {}", answer.text());
            answers.push(without_time(&answer));
        }
        assert_eq!(answers[0], answers[1], "{situation}");
        assert!(answers[0].get("errors").is_none(), "{situation}: {}", answers[0]);
    }
    w.check().await;
}

#[tokio::test]
async fn made_up_reservations_count_as_failed_attempts() {
    let w = World::plan().with_keys(&[("desk", "worker", "*")]).start().await;
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    w.enqueue(1).await;
    let stranger = w.without_credential();
    let items: Vec<_> = (0..100)
        .map(|n| json!({ "reservation": format!("default-{n:026}.{n:026}"), "result": no_verdict() }))
        .collect();
    eventually("the address sends too many", async || {
        let answer = stranger.post("/jobs/complete", json!(items)).await;
        if answer.status == 200 {
            for item in answer.json()["jobs"].as_array().expect("jobs") {
                assert_eq!((&item["error"]["reason"], item["error"].get("errors")), (&json!("unknown"), None));
            }
        }
        (answer.status == 429).then_some(())
    })
    .await;
    let held = w.with_credential(&key("desk")).reserve().await;
    let slip = stranger.complete_with(&held, no_verdict()).await;
    slip.refused("invalid-result");
    w.check().await;
}
