//! A day begins at midnight of the queue's zone, and is kept as long as the setting says.

use intray::job::{Day, Millis, ZoneName};
use serde_json::{Value, json};

use super::lines::lines;
use crate::world::{World, eventually};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

async fn start_in(zone: &str) -> World {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "sheets": true, "time_zone": zone, "dedupe": false })).await;
    w
}

async fn advance_to(w: &World, ms: u64) {
    w.advance_clock(ms - w.engine.now().await);
}

/// Ann completes a job now.
async fn work(w: &World) {
    w.enqueue(1).await;
    w.complete(&w.reserve_as("ann").await).await.is(200);
}

/// The days with their completions.
async fn days(w: &World) -> Vec<(String, u64)> {
    let of =
        |line: &Value| (line["day"].as_str().expect("a day").to_owned(), line["completed"].as_u64().expect("a number"));
    lines(w, "").await.iter().map(of).collect()
}

/// The beginnings of a day and of the next one: the first that is so many hours long and begins after this time.
fn day_with(zone: &ZoneName, hours: u64, after: u64) -> (Day, u64, u64) {
    let mut begin = after - after % HOUR;
    loop {
        let first = zone.day_of(Millis(begin));
        let length = (1..=25).find(|n| zone.day_of(Millis(begin + n * HOUR)) != first).expect("an end");
        let is_begin = zone.day_of(Millis(begin - 1)) != first;
        if is_begin && length == hours && begin > after + DAY {
            return (first, begin, begin + length * HOUR);
        }
        begin += if is_begin { length * HOUR } else { HOUR };
    }
}

#[tokio::test]
async fn midnight_in_kolkata_is_at_half_past_six_in_the_evening() {
    let w = start_in("Asia/Kolkata").await;
    let now = w.engine.now().await;
    let midnight = now - now % DAY + DAY + 18 * HOUR + HOUR / 2;
    let zone = ZoneName::parse("Asia/Kolkata").expect("a zone");
    advance_to(&w, midnight - 1).await;
    work(&w).await;
    w.advance_clock(1);
    work(&w).await;
    work(&w).await;
    let day = |ms: u64| zone.day_of(Millis(ms)).to_string();
    assert_eq!(days(&w).await, [(day(midnight - 1), 1), (day(midnight), 2)]);
    w.check().await;
}

#[tokio::test]
async fn days_of_23_and_25_hours_are_whole() {
    let zone = ZoneName::parse("Europe/Berlin").expect("a zone");
    for hours in [23, 25] {
        let w = start_in("Europe/Berlin").await;
        w.update_settings(json!({ "sheets_days": 400 })).await;
        let (day, begin, end) = day_with(&zone, hours, w.engine.now().await);
        assert_eq!(end - begin, hours * HOUR);
        for (at, times) in [(begin - 1, 1), (begin, 1), (begin + 12 * HOUR, 1), (end - 1, 2), (end, 4)] {
            advance_to(&w, at).await;
            for _ in 0..times {
                work(&w).await;
            }
        }
        let next = zone.day_of(Millis(end));
        assert_eq!(days(&w).await, [(day.before(1).to_string(), 1), (day.to_string(), 4), (next.to_string(), 4)]);
        w.check().await;
    }
}

#[tokio::test]
async fn new_time_zone_counts_from_then_on() {
    let w = start_in("UTC").await;
    let now = w.engine.now().await;
    // 23:00 UTC, when it is tomorrow in Kolkata.
    let late = now - now % DAY + DAY + 23 * HOUR;
    advance_to(&w, late).await;
    work(&w).await;
    // Not counted yet when the zone changes.
    w.update_settings(json!({ "time_zone": "Asia/Kolkata" })).await;
    work(&w).await;
    let day = |ms: u64| ZoneName::UTC.day_of(Millis(ms)).to_string();
    assert_eq!(days(&w).await, [(day(late), 1), (day(late + DAY), 1)]);
    w.check().await;
}

#[tokio::test]
async fn old_days_are_removed() {
    let w = start_in("UTC").await;
    w.update_settings(json!({ "sheets_days": 2 })).await;
    for _ in 0..3 {
        work(&w).await;
        assert!(!days(&w).await.is_empty());
        w.advance_clock(DAY);
    }
    work(&w).await;
    assert_eq!(days(&w).await.len(), 2);
    // Each day's shards and one of them, and the head.
    eventually("the others are removed", async || {
        let fields: Vec<String> = w.engine.run("HKEYS intray:{default}:2:sheets").await;
        (fields.len() == 5).then_some(())
    })
    .await;
    w.check().await;
}

#[tokio::test]
async fn settings_of_sheets_have_ranges() {
    let w = World::start().await;
    for (wrong, pointer) in [
        (json!({ "time_zone": "Europe/Bonn" }), "/time_zone"),
        (json!({ "time_zone": "" }), "/time_zone"),
        (json!({ "time_zone": 1 }), "/time_zone"),
        (json!({ "sheets_days": 0 }), "/sheets_days"),
        (json!({ "sheets_days": 401 }), "/sheets_days"),
        (json!({ "sheets": 1 }), "/sheets"),
    ] {
        let refused = w.patch("/queues/default", wrong.clone()).await;
        assert_eq!(refused.status, 422, "{wrong}: {}", refused.text());
        assert_eq!(refused.json()["errors"][0]["pointer"], pointer, "{wrong}");
    }
    let set = w.update_settings(json!({ "sheets": true, "sheets_days": 400, "time_zone": "europe/berlin" })).await;
    assert_eq!(set["time_zone"], "Europe/Berlin");
    let back = w.update_settings(json!({ "sheets": null, "sheets_days": null, "time_zone": null })).await;
    assert_eq!((&back["sheets"], &back["sheets_days"], &back["time_zone"]), (&json!(false), &json!(35), &json!("UTC")));
    w.check().await;
}
