//! Many workers, skills and jobs: each is given only what is theirs, all is handed out, and what one may not have hides nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{World, number};

/// 40 names and 16 skills; the worker `n` has the skills n, n + 1, n + 2 of 16.
fn job(n: usize) -> Value {
    let names = |from: usize, count: usize| (from..from + count).map(|i| format!("w{}", i % 40)).collect::<Vec<_>>();
    match n % 5 {
        0 => json!({ "payload": n }),
        1 => json!({ "payload": n, "assignees": names(n, 1 + n % 3) }),
        2 => json!({ "payload": n, "skill": format!("s{}", n % 16) }),
        3 => json!({ "payload": n, "excluded": names(n, 5) }),
        _ => json!({ "payload": n, "assignees": names(n, 2), "excluded": names(n, 1) }),
    }
}

fn may_have(job: &Value, worker: usize) -> bool {
    let name = json!(format!("w{worker}"));
    let has = |list: &str| job[list].as_array().map(|names| names.contains(&name));
    let skills: Vec<_> = (0..3).map(|i| json!(format!("s{}", (worker + i) % 16))).collect();
    has("assignees").unwrap_or(true)
        && !has("excluded").unwrap_or(false)
        && (job["skill"].is_null() || skills.contains(&job["skill"]))
}

#[tokio::test]
async fn two_hundred_workers_are_given_only_what_is_theirs() {
    const JOBS: usize = 2_000;
    let w = World::start().await;
    let (_second, second) = w.start_instance().await;
    for part in (0..JOBS).collect::<Vec<_>>().chunks(500) {
        w.enqueue_many(part.iter().map(|n| job(*n))).await;
    }
    let work = async |worker: usize| {
        let (mut got, client) = (BTreeSet::new(), if worker.is_multiple_of(2) { &*w } else { &second });
        let skills: Vec<_> = (0..3).map(|i| format!("s{}", (worker + i) % 16)).collect();
        loop {
            let call = json!({ "worker": format!("w{worker}"), "skills": skills, "limit": 5 });
            let held = client.reserve_all(call).await;
            for held in &held {
                let n = held.number("payload") as usize;
                assert!(may_have(&job(n), worker), "{worker} is given {}", job(n));
                assert!(got.insert(n), "{n} twice");
                client.complete(held).await.is(200);
            }
            if held.is_empty() {
                return got;
            }
        }
    };
    let all = futures_util::future::join_all((0..200).map(work)).await;
    let taken: usize = all.iter().map(BTreeSet::len).sum();
    assert_eq!(taken, JOBS, "each once, and all");
    assert_eq!(w.queue().await["counts"]["waiting"], 0);
    w.check().await;
}

#[tokio::test]
async fn jobs_that_exclude_a_caller_hide_no_other_beyond_three_calls() {
    let w = World::start().await;
    for part in 0..3 {
        let own = (0..1_000).map(|n| json!({ "payload": part * 1_000 + n, "excluded": ["carol"] }));
        w.enqueue_many(own).await;
    }
    // Callers without a name are excluded from all of them. Those with the same skills are one to the queue.
    for call in [json!({ "worker": "carol" }), json!({}), json!({ "skills": ["de", "fr"] })] {
        let id = w.enqueue(3_000).await;
        let mut calls = 0;
        let held = loop {
            calls += 1;
            let held = w.reserve_all(call.clone()).await;
            if let Some(held) = held.into_iter().next() {
                break held;
            }
            assert!(calls < 3, "{call}: nothing in {calls} calls");
        };
        assert_eq!(held.id, id, "{call}");
        w.complete(&held).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn call_that_has_more_to_look_at_says_to_ask_soon() {
    let w = World::start().await;
    for part in 0..3 {
        let own = (0..1_000).map(|n| json!({ "payload": part * 1_000 + n, "excluded": ["carol"] }));
        w.enqueue_many(own).await;
    }
    let answer = w.send_reserve(json!({ "worker": "carol" })).await.is(200);
    assert_eq!((&answer["jobs"], &answer["reason"]), (&json!([]), &json!("ineligible")));
    assert!((250..=275).contains(&number(&answer, "retry_after_ms")), "{answer}");
    w.check().await;
}

/// How many, unless INTRAY_OTHERS is set.
const OTHERS: usize = 20_000;

#[tokio::test]
async fn jobs_for_others_cost_a_reserve_two_commands() {
    let others = std::env::var("INTRAY_OTHERS").map_or(OTHERS, |n| n.parse().expect("a number of jobs"));
    let w = World::start_process().await;
    let mut meter = w.meter().await;
    let cost = async |meter: &mut crate::world::meter::Meter, assignee: bool| {
        let job =
            if assignee { json!({ "payload": "mine", "assignees": ["ann"] }) } else { json!({ "payload": "mine" }) };
        w.enqueue_with(job).await;
        meter.script_runs(&w.engine).await;
        let held = w.reserve_as("ann").await;
        let runs = meter.script_runs(&w.engine).await;
        let calls: usize = runs.iter().map(|run| run.calls).max().expect("a reserve");
        w.complete(&held).await.is(200);
        calls
    };
    // The first job for a worker makes the queue one with lines.
    cost(&mut meter, true).await;
    let alone = cost(&mut meter, true).await;
    for part in 0..others / 1_000 {
        w.enqueue_many(
            (0..1_000).map(|n| json!({ "payload": part * 1_000 + n, "assignees": [format!("w{}", n % 50)] })),
        )
        .await;
    }
    let among = cost(&mut meter, true).await;
    assert!(among <= alone + 2, "{among} commands among {others} jobs for others, {alone} alone");
    w.check().await;
}

#[tokio::test]
async fn jobs_of_four_skills_are_read_at_once() {
    let w = World::start_process().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let mut meter = w.meter().await;
    w.enqueue_many((0..80).map(|n| json!({ "payload": n, "skill": format!("skill-{}", n % 4) }))).await;
    let skills: Vec<_> = (0..4).map(|n| format!("skill-{n}")).collect();
    let mut cost = Vec::new();
    for limit in [1, 12] {
        meter.script_runs(&w.engine).await;
        let held = w.reserve_all(json!({ "worker": format!("ann-{limit}"), "skills": skills, "limit": limit })).await;
        assert_eq!(held.len(), limit);
        let runs = meter.script_runs(&w.engine).await;
        cost.push(runs.iter().map(|run| run.calls).sum::<usize>());
    }
    assert_eq!(cost[0], cost[1], "commands for one job and for twelve");
    w.check().await;
}

/// Jobs of as many clients stand at one place in the order: their arrival distinguishes them.
#[tokio::test]
async fn scan_continues_after_equal_places_of_other_lines() {
    let w = World::start().await;
    let barred = |n: usize| json!({ "payload": n, "client": format!("c{n}"), "excluded": ["ann"] });
    w.enqueue_many((0..199).map(barred)).await;
    w.enqueue_with(json!({ "payload": "line", "client": "x", "skill": "de", "excluded": ["ann"] })).await;
    w.enqueue_many((200..205).map(barred)).await;
    let id = w.enqueue_with(json!({ "payload": "for her", "client": "t", "skill": "de" })).await;
    assert_eq!(w.reserve_with(json!({ "worker": "ann", "skills": ["de"] })).await.id, id);
    w.check().await;
}
