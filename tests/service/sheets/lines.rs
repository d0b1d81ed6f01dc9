//! Each event counts once in the line of its worker, on any instance.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::world::{
    CallFate, Client, ReservedJob, World, assert_contains, eventually, keyspace, number,
    pending_reserve::PendingReserve,
};

const DAY: u64 = 86_400_000;
const COUNTERS: [&str; 9] =
    ["handed_out", "completed", "late", "skipped", "abandoned", "expired", "failed", "undone", "handed_over"];

pub async fn lines(client: &Client, query: &str) -> Vec<Value> {
    let answer = client.get(&format!("/queues/default/sheets{query}")).await.is(200);
    answer["lines"].as_array().expect("lines").clone()
}

async fn hand_over(w: &Client, held: &ReservedJob) {
    w.post("/jobs/hand-over", json!({ "reservation": held.reservation, "to": "zoe" })).await.is(200);
}

async fn give_back(w: &Client, held: &ReservedJob, how: Value) {
    let mut body = json!({ "reservation": held.reservation });
    body.as_object_mut().expect("an object").extend(how.as_object().expect("an object").clone());
    w.post("/jobs/abandon", body).await.is(200);
}

#[tokio::test]
async fn each_end_of_a_reservation_has_its_counter() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "sheets": true, "worker_limit": 0, "lease_ms": 60_000 })).await;
    w.enqueue_many((0..20).map(|n| json!({ "payload": n }))).await;
    let take = async || w.reserve_as("ann").await;
    give_back(&w, &take().await, json!({ "skip": true, "reason": "not mine" })).await;
    give_back(&w, &take().await, json!({ "reason": "lunch" })).await;
    // What a holder says is not taken for another note.
    give_back(&w, &take().await, json!({ "reason": "undelivered" })).await;
    give_back(&w, &take().await, json!({ "reason": "\u{1}x" })).await;
    // A skip that waits for the end of a grace.
    give_back(&w, &take().await, json!({ "grace_ms": 1_000, "skip": true })).await;
    w.advance_clock(1_001);
    w.sweep().await;
    w.fail(&take().await).await.is(200);
    hand_over(&w, &take().await).await;
    let (late, fine) = (take().await, take().await);
    w.advance_clock(30_000);
    w.complete(&fine).await.is(200);
    w.advance_clock(60_000);
    w.sweep().await;
    w.complete(&late).await.is(200);
    w.complete(&w.reserve().await).await.is(200);

    let found = lines(&w, "").await;
    assert_eq!(found.len(), 2, "{found:?}");
    let unnamed =
        json!({ "worker": null, "handed_out": 1, "completed": 1, "held_ms": 0, "p50_ms": 500, "p90_ms": 500 });
    assert_contains(&found[0], unnamed);
    assert_contains(
        &found[1],
        json!({
            "worker": "ann", "handed_out": 9, "completed": 2, "late": 1, "skipped": 2, "abandoned": 3, "expired": 1, "failed": 1,
            "undone": 0, "handed_over": 1, "held_ms": 120_000, "p50_ms": 37_500, "p90_ms": 105_000,
        }),
    );
    let reasons = w.events().await.iter().filter(|event| event.kind == "abandoned").count();
    assert_eq!(reasons, 5);
    let page = w.get("/queues/default/events?limit=100").await.is(200).to_string();
    assert!(page.contains(r#""reason":"not mine""#) && page.contains(r#""reason":"undelivered""#), "{page}");
    w.check().await;
}

#[tokio::test]
async fn undelivered_jobs_are_handed_out_and_not_abandoned() {
    let w = World::plan().with_proxy().start().await;
    w.update_settings(json!({ "sheets": true })).await;
    let id = w.enqueue(1).await;
    w.proxy().inject("reserve", 1, CallFate::Held);
    let page = PendingReserve::send(&w, &json!({ "worker": "ann" })).await;
    eventually("the call is sent", async || (w.proxy().injected_calls() == 1).then_some(())).await;
    assert_eq!(page.hang_up().await, None, "the service noticed the disconnect");
    w.proxy().release_held();
    let undone = async || w.events_of(&id).await.last().is_some_and(|last| last == "abandoned undelivered");
    eventually("the job comes back", async || undone().await.then_some(())).await;
    let found = lines(&w, "").await;
    assert_contains(&found[0], json!({ "worker": "ann", "handed_out": 1, "abandoned": 0, "skipped": 0 }));
    assert_eq!(number(&w.queue().await["totals"], "handed_out"), 1);
    w.check().await;
}

#[tokio::test]
async fn late_completion_of_an_overdue_lease_counts_its_end_too() {
    let w = World::start().await;
    w.update_settings(json!({ "sheets": true, "lease_ms": 60_000, "worker_limit": 0 })).await;
    w.enqueue_many((0..2).map(|n| json!({ "payload": n }))).await;
    let (expired, left) = (w.reserve_as("ann").await, w.reserve_as("ann").await);
    give_back(&w, &left, json!({ "grace_ms": 1_000 })).await;
    // No sweep comes in between.
    w.advance_clock(61_000);
    for held in [&expired, &left] {
        assert_eq!(w.complete(held).await.is(200)["late"], true);
        assert_eq!(w.events_of(&held.id).await.last().expect("events"), "completed late");
    }
    let counts = json!({ "handed_out": 2, "completed": 2, "late": 2, "expired": 1, "abandoned": 1 });
    assert_contains(&lines(&w, "").await[0], counts.clone());
    assert_eq!(number(&w.queue().await["totals"], "expired"), 1);
    assert_eq!(number(&w.queue().await["totals"], "abandoned"), 1);
    w.check().await;
}

/// What the events say, by day and worker.
async fn recount(w: &World) -> BTreeMap<(u64, String), [u64; 9]> {
    let mut sums: BTreeMap<_, [u64; 9]> = BTreeMap::new();
    for (at_ms, event, mark) in keyspace::marked_events(&w.engine, "default").await {
        let counter = match (event.kind.as_str(), mark.as_str()) {
            ("reserved", _) => "handed_out",
            ("abandoned", "") if event.note == "undelivered" => continue,
            ("abandoned", "\u{1}") => "skipped",
            ("handed-over", _) => "handed_over",
            (kind @ ("completed" | "abandoned" | "expired" | "failed"), _) => kind,
            _ => continue,
        };
        let line = sums.entry((at_ms / DAY, event.worker)).or_default();
        let at = |name: &str| COUNTERS.iter().position(|counter| *counter == name).expect("a counter");
        line[at(counter)] += 1;
        if event.kind == "completed" && !mark.is_empty() {
            line[at(&mark)] += 1;
        }
        line[at("late")] += u64::from(event.kind == "completed" && event.note == "late");
    }
    sums
}

/// A day of the calendar for comparison, as its number.
fn number_of(day: &Value) -> u64 {
    let date: jiff::civil::Date = day.as_str().expect("a day").parse().expect("a day");
    let since = jiff::civil::date(1970, 1, 1).until(date).expect("a span");
    u64::try_from(since.get_days()).expect("after 1970")
}

async fn random_step(client: &Client, held: &mut Vec<ReservedJob>, dice: &mut fastrand::Rng) {
    let worker = ["ann", "bob", "cem", "dee", "eve"][dice.usize(..5)];
    if dice.u8(..5) < 2 || held.is_empty() {
        client.enqueue_with(json!({ "payload": dice.u64(..), "priority": dice.u8(..100) })).await;
        let request = if dice.u8(..6) == 0 { json!({}) } else { json!({ "worker": worker }) };
        let jobs = client.send_reserve(request).await.is(200)["jobs"].clone();
        held.extend(jobs.as_array().expect("jobs").iter().map(ReservedJob::new));
        return;
    }
    let one = held.swap_remove(dice.usize(..held.len()));
    let settle = json!({ "reservation": one.reservation });
    let with = |more: Value| {
        let mut body = settle.clone();
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    };
    // Some of them come too late, and are refused.
    match dice.u8(..8) {
        0 => client.post("/jobs/fail", with(json!({ "error": "x" }))).await,
        1 => client.post("/jobs/abandon", with(json!({ "reason": "no" }))).await,
        2 => client.post("/jobs/abandon", with(json!({ "skip": true }))).await,
        3 => client.post("/jobs/hand-over", with(json!({ "to": worker }))).await,
        _ => client.complete(&one).await,
    };
}

#[tokio::test]
async fn random_days_on_two_instances_are_what_the_events_say() {
    let w = World::start().await;
    w.stop_clock();
    let (_second, other) = w.start_instance().await;
    let settings = json!({ "sheets": true, "worker_limit": 0, "lease_ms": 3_600_000, "dedupe": false });
    w.update_settings(settings).await;
    let (mut held, seed) = (Vec::new(), fastrand::u64(..));
    let mut dice = fastrand::Rng::with_seed(seed);
    for n in 0..600 {
        let client = if n % 2 == 0 { &other } else { &*w };
        random_step(client, &mut held, &mut dice).await;
        w.advance_clock(dice.u64(..400_000));
        if dice.u8(..20) == 0 {
            // Both count at the same time.
            tokio::join!(lines(&w, ""), lines(&other, ""), w.sweep());
        }
    }
    let found = lines(&w, "").await;
    assert_eq!(lines(&other, "").await, found, "seed {seed}");
    let counts = |line: &Value| COUNTERS.map(|counter| number(line, counter));
    let of = |line: &Value| {
        let worker = line["worker"].as_str().unwrap_or_default().to_owned();
        ((number_of(&line["day"]), worker), counts(line))
    };
    assert_eq!(found.iter().map(of).collect::<BTreeMap<_, _>>(), recount(&w).await, "seed {seed}");
    assert!(
        found
            .is_sorted_by_key(|line| (line["day"].to_string(), line["worker"].as_str().unwrap_or_default().to_owned()))
    );
    let totals = w.queue().await["totals"].clone();
    let sum = |counters: &[&str]| -> u64 {
        found.iter().flat_map(|line| counters.iter().map(|name| number(line, name))).sum()
    };
    for total in ["handed_out", "completed", "expired", "failed", "handed_over"] {
        assert_eq!(sum(&[total]), number(&totals, total), "{total}, seed {seed}");
    }
    assert_eq!(sum(&["abandoned", "skipped"]), number(&totals, "abandoned"), "seed {seed}");
    w.check().await;
}

#[tokio::test]
async fn counting_begins_when_sheets_are_switched_on() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    w.complete(&w.reserve_as("ann").await).await.is(200);
    let off = w.get("/queues/default/sheets").await.is(200);
    assert_contains(&off, json!({ "since": null, "until": null, "time_zone": null, "lines": [] }));
    w.advance_clock(1_000);
    w.update_settings(json!({ "sheets": true })).await;
    let begin = w.get("/queues/default/sheets").await.is(200);
    assert_eq!((&begin["since"], &begin["lines"]), (&begin["until"], &json!([])));
    w.advance_clock(1_000);
    w.complete(&w.reserve_as("ann").await).await.is(200);
    // Setting it again changes nothing.
    w.update_settings(json!({ "sheets": true, "sheets_days": 7 })).await;
    let on = w.get("/queues/default/sheets").await.is(200);
    assert_contains(&on["lines"][0], json!({ "worker": "ann", "completed": 1 }));
    assert_eq!((on["lines"].as_array().expect("lines").len(), &on["since"]), (1, &begin["since"]));

    w.advance_clock(1);
    w.update_settings(json!({ "sheets": null })).await;
    let kept: u64 = w.engine.run("EXISTS intray:{default}:2:sheets intray:{default}:2:cursors").await;
    assert_eq!(kept, 0, "off: nothing is stored");
    w.update_settings(json!({ "sheets": true })).await;
    assert_eq!(lines(&w, "").await, Vec::<Value>::new());
    w.check().await;
}

#[tokio::test]
async fn background_task_counts_without_a_reader() {
    let w = World::start().await;
    w.update_settings(json!({ "sheets": true })).await;
    w.enqueue(1).await;
    w.complete(&w.reserve_as("ann").await).await.is(200);
    let (_second, _) = w.start_instance().await;
    eventually("the cursor moves", async || {
        let cursor: String = w.engine.run("HGET intray:{default}:2:cursors t:").await;
        let head: u64 = w.engine.run("EXISTS intray:{default}:2:sheets").await;
        (head == 1 && !cursor.contains("18446744073709551615")).then_some(())
    })
    .await;
    w.check().await;
}

#[tokio::test]
async fn deleted_events_are_a_gap() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "sheets": true, "worker_limit": 0 })).await;
    w.enqueue_many((0..5).map(|n| json!({ "payload": n }))).await;
    w.complete(&w.reserve_as("ann").await).await.is(200);
    assert_eq!(lines(&w, "").await.len(), 1);
    // As the trim of the sweep does it: the first events go, and the cursor says how many.
    let cursor: String = w.engine.run("HGET intray:{default}:2:cursors t:").await;
    let words: Vec<_> = cursor.split(' ').collect();
    let lossy = format!("{} {} 4711", words[0], words[1]);
    let mut command = redis::cmd("HSET");
    command.arg("intray:{default}:2:cursors").arg("t:").arg(&lossy);
    let _: u64 = w.engine.query(&command).await;
    w.advance_clock(10_000);
    w.complete(&w.reserve_as("ann").await).await.is(200);
    let answer = w.get("/queues/default/sheets").await.is(200);
    assert_contains(&answer["gaps"][0], json!({ "events": 4_711 }));
    assert!(answer["gaps"][0]["from"].as_str() < answer["gaps"][0]["until"].as_str(), "{answer}");
    assert_eq!(number(&answer["lines"][0], "completed"), 2);
    let again = w.get("/queues/default/sheets").await.is(200);
    assert_eq!(again["gaps"], answer["gaps"], "once");
}

#[tokio::test]
async fn full_redis_delays_the_counting_and_loses_nothing() {
    let w = World::start().await;
    w.update_settings(json!({ "sheets": true })).await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    w.complete(&held).await.is(200);
    let full = w.get("/queues/default/sheets").await.is(200);
    assert_eq!(full["lines"], json!([]), "{full}");
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    let answer = w.get("/queues/default/sheets").await.is(200);
    assert_contains(&answer["lines"][0], json!({ "worker": "ann", "handed_out": 1, "completed": 1 }));
    assert_eq!(answer["gaps"], json!([]));
    w.check().await;
}
