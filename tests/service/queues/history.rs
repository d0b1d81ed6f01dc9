//! The history of a queue: counts by minute and by hour, each counted once, by any instance.

use serde_json::{Value, json};

use crate::world::{Client, World, assert_contains, eventually, number};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 3_600_000;

/// Starts with a stopped clock, so many ms after the beginning of an hour.
async fn start_at(ms: u64) -> World {
    let w = World::start().await;
    w.stop_clock();
    w.advance_clock(HOUR - w.engine.now().await % HOUR + ms);
    w
}

async fn enqueue(w: &World, n: usize) {
    w.enqueue_many((0..n).map(|_| json!({ "payload": 1, "dedupe": false }))).await;
}

async fn spans(client: &Client, query: &str) -> Vec<Value> {
    let answer = client.get(&format!("/queues/default/history?{query}")).await.is(200);
    answer["spans"].as_array().expect("spans").clone()
}

fn sum(spans: &[Value], total: &str) -> u64 {
    spans.iter().map(|span| number(&span["gained"], total)).sum()
}

/// Asserts that the spans add up to the totals.
async fn assert_adds_up(w: &World) {
    let totals = w.queue().await["totals"].clone();
    for step in ["minute", "hour"] {
        let spans = spans(w, &format!("step={step}&limit=2160")).await;
        for (total, n) in totals.as_object().expect("totals") {
            assert_eq!(json!(sum(&spans, total)), *n, "{total} by the {step}: {spans:?}");
        }
    }
}

#[tokio::test]
async fn history_counts_by_minute_and_by_hour() {
    let w = start_at(10_000).await;
    enqueue(&w, 3).await;
    let held = w.reserve().await;
    let open = spans(&w, "step=minute").await;
    assert_eq!(open.len(), 1, "the open minute is included: {open:?}");
    w.advance_clock(MINUTE - 9_500);
    w.sweep().await;
    assert_eq!(spans(&w, "").await, open, "a sweep soon after its end keeps the minute as it was");
    assert_contains(&open[0], json!({ "waiting": 2, "reserved": 1, "gained": { "enqueued": 3, "handed_out": 1 } }));

    w.advance_clock(2 * MINUTE);
    w.complete(&held).await.is(200);
    w.advance_clock(MINUTE);
    w.sweep().await;
    let minutes = spans(&w, "step=minute").await;
    assert_eq!(minutes.len(), 2, "only minutes with changes: {minutes:?}");
    assert_contains(&minutes[1], json!({ "waiting": 2, "reserved": 0, "gained": { "completed": 1, "enqueued": 0 } }));

    w.advance_clock(HOUR);
    enqueue(&w, 1).await;
    w.advance_clock(MINUTE);
    w.sweep().await;
    let hours = spans(&w, "step=hour").await;
    assert_eq!((hours.len(), sum(&hours[..1], "enqueued"), sum(&hours[1..], "enqueued")), (2, 3, 1), "{hours:?}");
    assert_eq!(hours[0]["at"], open[0]["at"], "an hour begins with its first minute");
    assert_adds_up(&w).await;
    w.check().await;
}

#[tokio::test]
async fn minute_is_counted_once_by_several_sweeping_instances() {
    let w = start_at(0).await;
    let (_second, other) = w.start_instance().await;
    for _ in 0..5 {
        enqueue(&w, 2).await;
        for client in [&*w, &other, &*w] {
            w.advance_clock(7_000);
            client.post("/queues/default/sweep", json!({})).await.is(200);
        }
        w.advance_clock(MINUTE - 20_500);
        other.post("/queues/default/sweep", json!({})).await.is(200);
        w.sweep().await;
    }
    let minutes = spans(&w, "").await;
    assert_eq!(minutes.iter().map(|minute| number(&minute["gained"], "enqueued")).collect::<Vec<_>>(), [2; 5]);
    assert_adds_up(&w).await;
    w.check().await;
}

#[tokio::test]
async fn history_pages_continue_from_their_cursor() {
    let w = start_at(0).await;
    for n in 0..4 {
        w.send_enqueue(json!({ "payload": n })).await.is(201);
        w.advance_clock(MINUTE);
        w.sweep().await;
    }
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = w.get(&format!("/queues/default/history?limit=3{after}")).await.is(200);
        found.extend(page["spans"].as_array().expect("spans").clone());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(found, spans(&w, "").await);
    for (query, parameter) in [("step=day", "step"), ("limit=2161", "limit"), ("after=now", "after")] {
        w.get(&format!("/queues/default/history?{query}")).await.invalid_by("parameter", &[parameter]);
    }
    w.check().await;
}

#[tokio::test]
async fn history_keeps_minutes_for_a_day_and_hours_for_90_days() {
    let w = start_at(0).await;
    let mut jobs = 0;
    for ms in [0, 2 * HOUR, 23 * HOUR, 12 * HOUR, 60 * 24 * HOUR, 40 * 24 * HOUR] {
        w.advance_clock(ms);
        jobs += 1;
        w.send_enqueue(json!({ "payload": jobs })).await.is(201);
        w.advance_clock(MINUTE);
        w.sweep().await;
        let (minutes, hours) = (spans(&w, "").await, spans(&w, "step=hour").await);
        let kept = [(1, 1), (2, 2), (2, 3), (2, 4), (1, 5), (1, 2)][jobs - 1];
        assert_eq!((minutes.len(), hours.len()), kept, "after {ms} ms: {hours:?}");
    }
    let fields: Vec<String> = w.engine.run("HKEYS intray:{default}:2:history").await;
    assert!(fields.len() <= 5, "old spans are removed: {fields:?}");
    w.check().await;
}

#[tokio::test]
async fn fields_that_older_versions_packed_are_removed() {
    let w = start_at(0).await;
    enqueue(&w, 1).await;
    let _: i64 = w.engine.run("HSET intray:{default}:2:history M100 packed H7 packed").await;
    w.advance_clock(MINUTE);
    w.sweep().await;
    let fields: Vec<String> = w.engine.run("HKEYS intray:{default}:2:history").await;
    assert!(fields.iter().all(|field| !field.starts_with(['M', 'H'])), "{fields:?}");
    assert_adds_up(&w).await;
    w.check().await;
}

#[tokio::test]
async fn history_adds_up_after_clock_steps_back() {
    let w = start_at(0).await;
    for ms in [0, 90_000, -2 * HOUR as i64, 30_000, 3 * HOUR as i64, -1_000, 61_000] {
        w.engine.clock.advance(ms);
        enqueue(&w, 1).await;
        w.sweep().await;
        assert_adds_up(&w).await;
    }
    let minutes = spans(&w, "").await;
    let times: Vec<_> = minutes.iter().map(|minute| minute["at"].as_str().expect("a time")).collect();
    assert!(times.is_sorted() && times.len() >= 4, "{times:?}");
    w.check().await;
}

#[tokio::test]
async fn sweeper_enters_a_minute_when_it_ends() {
    let mut w = World::start().await;
    w.stop_clock();
    w.advance_clock(2 * MINUTE - w.engine.now().await % MINUTE - 100);
    let entered = async |w: &World, jobs: u64| {
        eventually("the minute is entered", async || {
            let last: Option<String> = w.engine.run("HGET intray:{default}:2:history last").await;
            (last?.split(',').nth(1)?.split(' ').next()? == jobs.to_string()).then_some(())
        })
        .await;
    };
    enqueue(&w, 1).await;
    w.sweep().await;
    entered(&w, 1).await;
    // Entered once a minute: the second job waits for the end of its minute. A sweeper measures by its own clock what is left of the
    // minute, so that the stopped one misleads it where it has entered a minute before.
    w.set_flag("--sweep-interval-ms", "20");
    let (_sweeping, client) = w.start_instance().await;
    client.enqueue("second").await;
    w.advance_clock(200);
    entered(&w, 2).await;
    assert_eq!(spans(&w, "").await.len(), 1, "both jobs belong to the ended minute");
    assert_adds_up(&w).await;
    w.check().await;
}
