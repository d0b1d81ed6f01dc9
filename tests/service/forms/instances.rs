//! A form that is set at one instance counts at another after two seconds at the latest.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{ReservedJob, World, hurried_wait};

const ROUNDS: usize = 40;
/// How often the instance that sets forms is killed and started again.
const KILLED_EVERY: usize = 5;

/// A form that takes the results of one round only.
fn form_of(round: usize) -> Value {
    json!({ "type": "object", "properties": { "round": { "enum": [round.to_string()] } }, "required": ["round"] })
}

fn result_of(round: usize) -> Value {
    json!({ "round": round.to_string() })
}

async fn hold(w: &World, n: &mut u64) -> ReservedJob {
    *n += 1;
    w.enqueue(*n).await;
    w.reserve().await
}

#[tokio::test]
async fn form_set_at_another_instance_counts_after_two_seconds() {
    let w = World::plan().hurried().start().await;
    let age = hurried_wait(Duration::from_secs(2));
    let (mut setting, mut setter) = w.start_instance().await;
    let (mut jobs, mut taken) = (0, 0);
    setter.configure("default", json!({ "result_schema": form_of(0) })).await;
    for round in 1..=ROUNDS {
        // The instance that completes knows the last form.
        let known = hold(&w, &mut jobs).await;
        let last = w.complete_with(&known, result_of(round - 1)).await;
        assert!(last.status == 200 || round == 1, "{}", last.text());
        setter.configure("default", json!({ "result_schema": form_of(round) })).await;
        let set_at = Instant::now();
        if round % KILLED_EVERY == 0 {
            drop(setting);
            (setting, setter) = w.start_instance().await;
        }
        let mut held = hold(&w, &mut jobs).await;
        loop {
            let sent_after = set_at.elapsed();
            let answer = w.complete_with(&held, result_of(round - 1)).await;
            if answer.status == 422 {
                answer.refused("invalid-result");
                break;
            }
            answer.is(200);
            assert!(sent_after < age, "a result of the last form was taken {sent_after:?} after the change");
            taken += 1;
            held = hold(&w, &mut jobs).await;
        }
        w.complete_with(&held, result_of(round)).await.is(200);
    }
    println!("{taken} results of the last form were taken, in {ROUNDS} rounds");
    drop(setting);
    w.check().await;
}
