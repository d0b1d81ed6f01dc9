//! What sheets take in Redis, and that they cost nothing where they are off.

use std::collections::BTreeMap;

use intray::{
    job::{QueueName, SheetCounter, SheetCounts},
    store::{Queues, Shard, ShardSet, SheetChange, SheetHead, SheetLines, TallyCursor, pack_lines},
};
use serde_json::json;

use crate::world::{World, calls::Calls};

const PEOPLE: u64 = 10_000;
const DAYS: u32 = 35;
const MAX_BYTES: u64 = 40_000_000;

/// A day of somewhat different lives.
fn day_of(dice: &mut fastrand::Rng) -> SheetCounts {
    let mut counts = SheetCounts::default();
    let typical = dice.u64(2_000..200_000);
    for _ in 0..dice.u64(20..200) {
        counts.count(SheetCounter::HandedOut);
        match dice.u8(..20) {
            0 => counts.count(SheetCounter::Skipped),
            1 => counts.count(SheetCounter::Abandoned),
            _ => counts.complete(dice.u64(typical / 2..typical * 3), dice.u8(..100) == 0),
        }
    }
    counts
}

#[tokio::test]
async fn ten_thousand_people_in_35_days_take_40_megabytes() {
    let w = World::start().await;
    w.update_settings(json!({ "sheets": true })).await;
    let handle = Queues::new(&w.engine.url(), "intray").expect("a handle");
    let queue = QueueName::default();
    let (state, _) = handle.sheets(&queue, &[]).await.expect("read").expect("sheets");
    let (mut cursor, mut dice) = (state.cursor, fastrand::Rng::with_seed(7));
    let mut head = SheetHead { since: state.now, ..SheetHead::default() };
    for back in (0..DAYS).rev() {
        let day = state.zone.day_of(state.now).before(back);
        head.insert(day);
        let (mut set, mut shards) = (ShardSet::default(), BTreeMap::<Shard, SheetLines>::new());
        for n in 0..PEOPLE {
            let worker = format!("person-{n:05}@example.org");
            set.insert(Shard::of(&worker));
            shards.entry(Shard::of(&worker)).or_default().insert(worker, day_of(&mut dice));
        }
        let mut fields: Vec<_> = shards.iter().map(|(shard, lines)| (shard.field(day), pack_lines(lines))).collect();
        assert!(fields.iter().all(|(_, value)| value.len() < 4_096), "a change of one line writes little");
        fields.push((ShardSet::field(day), set.bytes().to_vec()));
        fields.push((SheetHead::FIELD.to_owned(), head.bytes()));
        let reached = TallyCursor { version: cursor.version + 1, ..cursor };
        let change = SheetChange { read: cursor.to_string(), reached: reached.to_string(), fields };
        assert!(handle.tally(&queue, &change).await.expect("written"));
        cursor = reached;
    }
    let bytes: u64 = w.engine.run("MEMORY USAGE intray:{default}:2:sheets SAMPLES 0").await;
    println!("{bytes} bytes");
    assert!(bytes <= MAX_BYTES, "{bytes} bytes");

    // A read goes through the days in parts, in order.
    let from = state.zone.day_of(state.now).before(1);
    let text = w
        .request("GET", &format!("/queues/default/sheets?from={from}"))
        .header("accept", "text/csv")
        .send()
        .await
        .text();
    let names: Vec<_> = text.lines().skip(1).map(|line| line.split(',').take(2).collect::<Vec<_>>()).collect();
    assert_eq!(names.len() as u64, 2 * PEOPLE);
    assert!(names.is_sorted());
    let largest = w.get(&format!("/queues/default/sheets?from={from}&worker=person-00042@example.org")).await.is(200);
    assert_eq!(largest["lines"].as_array().expect("lines").len(), 2);
}

/// Without health checks, and the question that this asks.
async fn fewest_calls(w: &World, run: impl AsyncFn(usize)) -> Calls {
    w.engine.fewest_calls(|name| !["ping", "get", "info"].contains(&name), run).await
}

/// The commands of some cycles of a queue.
async fn cycle(w: &World) -> Calls {
    let five = async |nth: usize| {
        for n in 0..5 {
            w.enqueue_with(json!({ "payload": [nth, n] })).await;
            w.complete(&w.reserve_as("ann").await).await.is(200);
        }
    };
    fewest_calls(w, five).await
}

#[tokio::test]
async fn cycle_runs_the_same_commands_with_sheets_on() {
    let w = World::start().await;
    w.stop_clock();
    cycle(&w).await;
    let off = cycle(&w).await;
    w.update_settings(json!({ "sheets": true })).await;
    let on = cycle(&w).await;
    assert_eq!(on, off);
}

#[tokio::test]
async fn sweep_runs_no_command_more_without_sheets() {
    let w = World::start().await;
    w.enqueue(1).await;
    w.sweep().await;
    let ran = fewest_calls(&w, async |_| drop(w.post("/queues/default/sweep", json!({})).await.is(200))).await;
    // Those of a sweep and of the history, as before there were sheets.
    let expected = [
        ("exists", 1),
        ("fcall", 2),
        ("hget", 2),
        ("hgetall", 1),
        ("hmget", 2),
        ("time", 2),
        ("xrange", 1),
        ("zcard", 2),
        ("zrange", 4),
        ("zrangebyscore", 5),
    ];
    assert_eq!(ran, expected.map(|(name, calls)| (name.to_owned(), calls)).into());
    assert_eq!(w.engine.run::<u64>("EXISTS intray:{default}:2:sheets intray:{default}:2:cursors").await, 0);
}
