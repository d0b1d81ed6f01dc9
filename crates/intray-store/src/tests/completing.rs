//! The check of a result at the moment of its completion.

use std::time::{Duration, Instant};

use super::{Redis, job, queue};
use crate::{
    Actor, CheckedResult, Complete, Completion, Lost,
    job::{JobId, QueueName, Reservation, settings::SettingsPatch},
    payload::Json,
};

const FORM: &str = r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#;

async fn set_form(redis: &Redis) {
    let patch = SettingsPatch { result_schema: Some(Some(FORM.to_owned())), ..SettingsPatch::default() };
    redis.queues.change_settings(&queue(), &patch, &Actor::default()).await.expect("settings");
}

fn completion(reservation: &Reservation, read: Instant) -> Complete {
    let call = Complete::new(reservation.clone(), Json::from_text(r#"{"more":1}"#.to_owned()));
    Complete { checked: Some(CheckedResult::Fits { read }), ..call }
}

#[tokio::test]
async fn result_checked_too_long_ago_is_checked_again() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    let held = redis.reserve().await;
    let before = Instant::now();
    set_form(&redis).await;
    let old = completion(&held, before - Duration::from_secs(2));
    let outcome = redis.queues.complete(old).await.expect("an answer");
    assert!(matches!(&outcome, Completion::Invalid(faults) if faults.len() == 1), "{outcome:?}");
    let young = completion(&held, Instant::now());
    let outcome = redis.queues.complete(young).await.expect("an answer");
    assert_eq!(outcome, Completion::Done { late: false, duplicate: false });
}

#[tokio::test]
async fn results_of_a_list_are_checked_together() {
    let redis = Redis::start().await;
    set_form(&redis).await;
    redis.enqueue("1").await;
    let held = redis.reserve().await;
    let made_up = job("2").id;
    let result = |text: &str| Json::from_text(text.to_owned());
    let elsewhere = QueueName::parse("elsewhere").expect("a name");
    let unknown = Reservation { job: JobId { queue: elsewhere, ..made_up }, ..held.clone() };
    let mut calls = [
        Complete::new(held.clone(), result("{}")),
        Complete::new(held.clone(), result("[]")),
        Complete::new(unknown, result("{}")),
    ];
    redis.queues.check_results(&mut calls).await;
    let found = calls.each_ref().map(|call| call.checked.clone());
    assert!(matches!(found[0], Some(CheckedResult::Fits { .. })), "{found:?}");
    assert!(matches!(&found[1], Some(CheckedResult::Invalid(faults)) if faults.len() == 1), "{found:?}");
    assert!(matches!(found[2], Some(CheckedResult::UnknownQueue)), "{found:?}");
    let [_, _, unknown] = calls;
    assert_eq!(redis.queues.complete(unknown).await.expect("an answer"), Completion::Lost(Lost::UNKNOWN));
}
