//! A form that is set at one instance counts at another after two seconds at the latest.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::refused_at;
use crate::world::{Client, ReservedJob, World, hurried_wait};

/// Each has a form of its own, which is set in each round: 500 forms.
const QUEUES: usize = 20;
const ROUNDS: usize = 25;
/// How often the instance that sets forms is killed and started again.
const KILLED_EVERY: usize = 5;

/// A form that takes the results of one round only.
fn form_of(round: usize) -> Value {
    json!({ "type": "object", "properties": { "round": { "enum": [round.to_string()] } }, "required": ["round"] })
}

fn result_of(round: usize) -> Value {
    json!({ "round": round.to_string() })
}

fn name(queue: usize) -> String {
    format!("form-{queue}")
}

async fn hold(w: &World, queue: usize) -> ReservedJob {
    let id = w.enqueue_with(json!({ "queue": name(queue), "payload": queue, "dedupe": false })).await;
    w.reserve_with(json!({ "id": id })).await
}

/// A job that is held, and when the form of its queue was set.
struct HeldAtChange {
    held: ReservedJob,
    set_at: Instant,
}

/// Sets the form of this round, when the instance that completes knows the last one, or that there was none.
async fn set(w: &World, setter: &Client, queue: usize, round: usize) -> HeldAtChange {
    let (known, held) = (hold(w, queue).await, hold(w, queue).await);
    w.complete_with(&known, result_of(round - 1)).await.is(200);
    setter.configure(&name(queue), json!({ "result_schema": form_of(round) })).await;
    HeldAtChange { held, set_at: Instant::now() }
}

/// Completes by the last form until it counts no longer. Returns the job that is left.
async fn complete_by_last_form(
    w: &World,
    queue: usize,
    round: usize,
    HeldAtChange { mut held, set_at }: HeldAtChange,
    taken: &AtomicUsize,
) -> ReservedJob {
    let age = hurried_wait(Duration::from_secs(2));
    loop {
        let sent_after = set_at.elapsed();
        let answer = w.complete_with(&held, result_of(round - 1)).await;
        if answer.status == 422 {
            refused_at(&answer, &["/round"]);
            return held;
        }
        answer.is(200);
        assert!(sent_after < age, "a result of the last form was taken {sent_after:?} after the change");
        taken.fetch_add(1, Ordering::Relaxed);
        held = hold(w, queue).await;
    }
}

/// All in one array: the results of every second queue are of the last form, and then these fit too.
async fn complete_in_arrays(w: &World, held: &[ReservedJob], round: usize) {
    let item = |held: &ReservedJob, round| json!({ "reservation": held.reservation, "result": result_of(round) });
    let complete = async |items: Vec<Value>| w.post("/jobs/complete", items.into()).await.is(200)["jobs"].take();
    let jobs = complete(held.iter().enumerate().map(|(n, held)| item(held, round - n % 2)).collect()).await;
    for n in 0..held.len() {
        match n % 2 {
            0 => assert_eq!(jobs[n]["state"], "completed", "{}", jobs[n]),
            _ => assert_eq!(jobs[n]["error"]["errors"][0]["pointer"], "/round", "{}", jobs[n]),
        }
    }
    let jobs = complete(held.iter().skip(1).step_by(2).map(|held| item(held, round)).collect()).await;
    for job in jobs.as_array().expect("jobs") {
        assert_eq!(job["state"], "completed", "{job}");
    }
}

#[tokio::test]
async fn form_set_at_another_instance_counts_after_two_seconds() {
    let w = World::plan().hurried().start().await;
    let (mut setting, mut setter) = w.start_instance().await;
    let taken = AtomicUsize::new(0);
    for round in 1..=ROUNDS {
        let complete = |queue, change| complete_by_last_form(&w, queue, round, change, &taken);
        let held = if round % KILLED_EVERY == 0 {
            let changes = join_all((0..QUEUES).map(|queue| set(&w, &setter, queue, round))).await;
            drop(setting);
            let held = join_all(changes.into_iter().enumerate().map(|(queue, change)| complete(queue, change)));
            let (other, held) = tokio::join!(w.start_instance(), held);
            (setting, setter) = other;
            held
        } else {
            join_all((0..QUEUES).map(async |queue| complete(queue, set(&w, &setter, queue, round).await).await)).await
        };
        complete_in_arrays(&w, &held, round).await;
    }
    println!("{} results of the last form were taken, in {} rounds", taken.into_inner(), QUEUES * ROUNDS);
    drop(setting);
    w.check().await;
}
