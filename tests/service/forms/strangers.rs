//! A caller whose reservation cannot complete the job learns nothing of the form: the answers are those of a queue without one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use super::{VERDICT, no_verdict};
use crate::world::{Answer, Client, ReservedJob, World, access::key, background_caller::BackgroundCaller, eventually};

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
    w.stop_clock();
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

/// The states of Redis in which it refuses a change, and how they end.
const REFUSING: [(&str, &str, u16); 2] = [
    ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", 507),
    ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", 503),
];

#[tokio::test]
async fn redis_that_refuses_changes_tells_nothing_of_a_form() {
    let w = World::start().await;
    let form = json!({
        "type": "object",
        "properties": { "verdict": { "enum": ["fine", "harmful"] }, "note": { "type": "string" } },
        "required": ["verdict"],
    });
    w.configure("formed", json!({ "result_schema": form })).await;
    w.configure("plain", json!({})).await;
    // Large enough that it may not be stored at `maxmemory`.
    let result = |verdict: &str| json!({ "verdict": verdict, "note": "x".repeat(10_000) });
    for (begin, end, status) in REFUSING {
        let _: String = w.engine.run(begin).await;
        let mut answers = Vec::new();
        for (queue, verdict) in [("plain", "fine"), ("formed", "fine"), ("formed", "secret")] {
            let reservation = format!("{queue}-{:026}.{:026}", 7, 7);
            let call = json!({ "reservation": reservation, "result": result(verdict) });
            let answer = w.post("/jobs/complete", call).await;
            assert_eq!(answer.status, status, "{begin}: {queue}, {verdict}: {}", answer.text());
            answers.push(answer.json());
        }
        let _: String = w.engine.run(end).await;
        assert_eq!((&answers[0], &answers[0]), (&answers[1], &answers[2]), "{begin}");
    }
    w.check().await;
}

/// The commands of a call.
async fn commands(w: &World, call: &Value, reservation: impl Fn(u32) -> String) -> u64 {
    let run = async |nth: usize| {
        let mut call = call.clone();
        call["reservation"] = json!(reservation(nth as u32));
        assert_eq!(w.post("/jobs/complete", call).await.status, 409);
    };
    w.engine.fewest_calls(|name| name != "info", run).await.values().sum()
}

/// What a result costs tells as much as an answer.
#[tokio::test]
async fn result_of_a_stranger_costs_the_same_if_it_fits() {
    let w = World::start().await;
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    let (of_the_job, _) = held.reservation.split_once('.').expect("a job and a secret");
    let made_up = [|_: &str, n| format!("default-{n:026}.{n:026}"), |job: &str, n| format!("{job}.{n:026}")];
    for (nth, reservation) in made_up.iter().enumerate() {
        for more in [json!({}), json!({ "undo_ms": 5_000 }), json!({ "resumes": 1 })] {
            let mut costs = Vec::new();
            for result in [json!({ "verdict": "fine" }), no_verdict()] {
                let mut call = more.clone();
                call["result"] = result;
                costs.push(commands(&w, &call, |n| reservation(of_the_job, n + 6 * costs.len() as u32)).await);
            }
            assert_eq!(costs[0], costs[1], "{nth} {more}");
        }
    }
    w.complete_with(&held, json!({ "verdict": "fine" })).await.is(200);
    w.check().await;
}

/// Made-up reservations, 25 a second, with results that fit and others.
async fn guess_forever(client: Client, me: u32, guesses: Arc<AtomicU32>) {
    for n in 0.. {
        let result = if n % 2 == 0 { json!({ "verdict": "fine" }) } else { no_verdict() };
        let reservation = format!("default-{me:026}.{n:026}");
        let answer = client.post("/jobs/complete", json!({ "reservation": reservation, "result": result })).await;
        let problem = answer.json();
        assert_eq!((answer.status, &problem["reason"], problem.get("errors")), (409, &json!("unknown"), None));
        guesses.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(40)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thousand_guesses_a_second_slow_no_other_caller() {
    let (w, quiet) = (World::start_process().await, World::start_process().await);
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    let (guesses, mut strangers) = (Arc::new(AtomicU32::new(0)), JoinSet::new());
    for me in 0..40 {
        strangers.spawn(guess_forever((*w).clone(), me, guesses.clone()));
    }
    let honest = BackgroundCaller::start(&w, &quiet).await;
    sleep(Duration::from_secs(3)).await;
    let measured = honest.stop().await;
    assert!(strangers.try_join_next().is_none(), "a stranger was answered in another way");
    strangers.shutdown().await;
    let guesses = guesses.load(Ordering::Relaxed);
    assert!(guesses > 0);
    measured.assert_not_much_slower(&format!("{guesses} guesses"));
    w.check().await;
}
