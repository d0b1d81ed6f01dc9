//! The check of a result at the moment of its completion.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::{Redis, job, queue};
use crate::{
    Actor, Complete, Completion, Lost,
    job::{JobId, QueueName, Reservation, settings::SettingsPatch},
    payload::Json,
    transitions::complete::CheckedCompletion,
};

/// A script's first run, and later ones.
const RUNS: [&str; 2] = ["eval", "evalsha"];
const FORM: &str = r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#;

async fn set_form(redis: &Redis) {
    let patch = SettingsPatch { result_schema: Some(Some(FORM.to_owned())), ..SettingsPatch::default() };
    redis.queues.change_settings(&queue(), &patch, true, &Actor::default()).await.expect("settings");
}

fn completion(reservation: &Reservation, result: &str) -> Complete {
    Complete::new(reservation.clone(), Json::from_text(result.to_owned()))
}

/// A call whose result was found to fit by a form that was read then.
async fn send(redis: &Redis, call: Complete, read: Instant) -> Completion {
    let call = CheckedCompletion { call, queues: redis.queues.clone(), read: Some(read), unfit: None };
    redis.queues.parts.batcher.call(&queue(), call).await.expect("an answer").completion
}

#[tokio::test]
async fn result_checked_too_long_ago_is_checked_when_it_is_sent() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    let held = redis.reserve().await;
    let before = Instant::now();
    set_form(&redis).await;
    let call = completion(&held, r#"{"more":1}"#);
    let outcome = send(&redis, call.clone(), before - Duration::from_secs(2)).await;
    assert!(matches!(&outcome, Completion::Invalid(faults) if faults.len() == 1), "{outcome:?}");
    assert_eq!(send(&redis, call, Instant::now()).await, Completion::Done { late: false, duplicate: false });
}

#[tokio::test]
async fn results_that_fit_and_others_share_a_script() {
    let redis = Redis::start().await;
    redis.queues.parts.runner.link.use_library(false);
    set_form(&redis).await;
    let mut held = Vec::new();
    for payload in ["1", "2", "3", "4"] {
        redis.enqueue(payload).await;
        held.push(redis.reserve().await);
    }
    // The form is read, and the script known.
    let first = redis.queues.complete(Complete { undo_ms: 1, ..completion(&held[3], "{}") }).await;
    assert!(matches!(first, Ok(Completion::Closing { duplicate: false, .. })), "{first:?}");
    let before = redis.scripts_run(&RUNS).await;
    let calls = [
        completion(&held[0], "{}"),
        completion(&held[1], "[]"),
        Complete { undo_ms: 5_000, ..completion(&held[2], "{}") },
    ];
    let answers = join_all(calls.map(|call| redis.queues.complete(call))).await;
    let [fits, unfit, closing] = &answers[..] else { panic!("{answers:?}") };
    assert!(matches!(fits, Ok(Completion::Done { late: false, duplicate: false })), "{fits:?}");
    assert!(matches!(unfit, Ok(Completion::Invalid(faults)) if faults.len() == 1), "{unfit:?}");
    assert!(matches!(closing, Ok(Completion::Closing { duplicate: false, .. })), "{closing:?}");
    assert_eq!(redis.scripts_run(&RUNS).await - before, 1);
    let again = redis.queues.complete(completion(&held[0], "{}")).await.expect("an answer");
    assert_eq!(again, Completion::Done { late: false, duplicate: true });
}

#[tokio::test]
async fn completion_in_an_unknown_queue_runs_no_script() {
    let redis = Redis::start().await;
    redis.queues.parts.runner.link.use_library(false);
    redis.enqueue("1").await;
    let held = redis.reserve().await;
    let elsewhere = QueueName::parse("elsewhere").expect("a name");
    let unknown = Reservation { job: JobId { queue: elsewhere, ..job("2").id }, ..held };
    let before = redis.scripts_run(&RUNS).await;
    let outcome = redis.queues.complete(completion(&unknown, "{}")).await.expect("an answer");
    assert_eq!(outcome, Completion::Lost(Lost::UNKNOWN));
    assert_eq!(redis.scripts_run(&RUNS).await, before);
}
