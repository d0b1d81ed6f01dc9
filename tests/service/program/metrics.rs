//! The metrics match their page, and measure waiting and holding times.

use std::collections::BTreeMap;

use intray_metrics::{ALL, MetricKind};
use serde_json::json;

use crate::{
    webhooks::line,
    world::{World, eventually, id_of, receiver::Receiver},
};

/// The type of each metric, by name.
fn types(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    lines.filter_map(|line| line.split_once(' ')).map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect()
}

/// The labels of a metric's lines, without those of histograms.
fn labels(text: &str, name: &str) -> Vec<String> {
    let ends = ["", "_bucket", "_sum", "_count"];
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some((line, inner)) = line.split_once('{') else { continue };
        if ends.iter().any(|end| line == format!("{name}{end}")) {
            let names = inner.split("\",").filter_map(|pair| pair.split_once("=\"")).map(|(name, _)| name.to_owned());
            found.extend(names.filter(|name| name != "le"));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[tokio::test]
async fn every_metric_matches_its_documentation() {
    let receiver = Receiver::start().await;
    let lines = [line("shop", &receiver, "*", "completed")];
    let w = World::plan().own_process().sweep_every(20).with_webhooks(lines).start().await;
    w.enqueue(1).await;
    w.enqueue(2).await;
    w.complete(&w.reserve().await).await.is(200);
    w.reserve_with(json!({ "lease_ms": 1_000 })).await;
    w.advance_clock(1_000);
    // A missing metric has no events yet, which is normal for some.
    let rare =
        ["durability", "faults", "emptied", "failovers", "missing", "cut", "auth_failures", "unfit", "data_room"];
    let daily = |name: &str| !rare.iter().any(|word| name.contains(word));
    let text = eventually("all daily metrics are there", async || {
        let text = w.get("/metrics").await.text();
        let types = types(&text);
        ALL.iter().all(|figure| types.contains_key(figure.name) || !daily(figure.name)).then_some(text)
    })
    .await;
    for (name, kind) in types(&text).iter().filter(|(name, _)| !name.starts_with("process_")) {
        let figure =
            ALL.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("{name} is not documented"));
        assert_eq!(figure.kind.word(), kind, "{name}");
        let mut wanted = figure.labels.to_vec();
        wanted.sort_unstable();
        assert_eq!(labels(&text, name), wanted, "{name}");
    }
    assert!(ALL.iter().any(|figure| figure.kind == MetricKind::Histogram && figure.labels == ["queue"]));
}

/// The value of a line.
fn value(text: &str, line: &str) -> Option<f64> {
    text.lines().find_map(|other| other.strip_prefix(line)?.trim().parse().ok())
}

#[tokio::test]
async fn waiting_and_holding_times_are_measured() {
    let w = World::start_process().await;
    w.enqueue(1).await;
    w.send_enqueue(json!({ "payload": "later", "delay_ms": 60_000, "priority": 99 })).await.is(201);
    w.advance_clock(10_000);
    let of = async |name: &str| value(&w.get("/metrics").await.text(), &format!("{name}{{queue=\"default\"}}"));
    let oldest = of("intray_oldest_waiting_seconds").await.expect("it waits");
    assert!((10.0..20.0).contains(&oldest), "{oldest}");
    let held = w.reserve().await;
    assert_eq!(of("intray_wait_seconds_count").await, Some(1.0));
    let waited = of("intray_wait_seconds_sum").await.expect("a sum");
    assert!((10.0..20.0).contains(&waited), "{waited}");
    assert_eq!(of("intray_oldest_waiting_seconds").await, Some(0.0));
    // A second reservation counts no waiting time: the job was reserved in between.
    w.abandon(&held).await.is(200);
    let held = w.reserve().await;
    assert_eq!(of("intray_wait_seconds_count").await, Some(1.0));
    w.advance_clock(120_000);
    w.complete(&held).await.is(200);
    w.complete(&held).await.is(200);
    assert_eq!(of("intray_held_seconds_count").await, Some(1.0));
    let lasted = of("intray_held_seconds_sum").await.expect("a sum");
    assert!((120.0..130.0).contains(&lasted), "{lasted}");
    // A delayed job waits from the time of its enqueue.
    w.sweep().await;
    w.advance_clock(5_000);
    w.reserve().await;
    let second = of("intray_wait_seconds_sum").await.expect("a sum") - waited;
    assert!((5.0..15.0).contains(&second), "{second}");
    w.check().await;
}

#[tokio::test]
async fn waiting_callers_are_counted_while_they_wait() {
    let w = World::start_process().await;
    let waiters = async || value(&w.get("/metrics").await.text(), "intray_waiters ");
    assert_eq!(waiters().await, Some(0.0));
    let asked = w.post("/jobs/reserve", json!({ "queues": ["a", "b", "c"], "wait_ms": 30_000 }));
    let work = async {
        eventually("a caller waits", async || (waiters().await == Some(1.0)).then_some(())).await;
        w.enqueue_with(json!({ "queue": "b", "payload": 1 })).await;
    };
    let (answer, ()) = tokio::join!(asked, work);
    assert_eq!(answer.is(200)["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(waiters().await, Some(0.0));
    w.check().await;
}

#[tokio::test]
async fn queues_over_the_label_limit_are_summed() {
    let w = World::plan().own_process().flag("--metrics-queues", "2").start().await;
    for (queue, n) in [("a", 5), ("b", 4), ("c", 3), ("d", 2)] {
        w.enqueue_many((0..n).map(|job| json!({ "queue": queue, "payload": job }))).await;
    }
    id_of(&w.send_enqueue(json!({ "queue": "c", "payload": "first", "priority": 0 })).await.is(201));
    w.complete(&w.reserve_with(json!({ "queues": ["c"] })).await).await.is(200);
    let text = w.get("/metrics").await.text();
    let waiting = |queue: &str| value(&text, &format!("intray_jobs{{queue=\"{queue}\",state=\"waiting\"}}"));
    assert_eq!(["a", "b", "c", "d", "other"].map(waiting), [Some(5.0), Some(4.0), None, None, Some(5.0)]);
    let enqueued =
        |queue: &str| value(&text, &format!("intray_transitions_total{{queue=\"{queue}\",transition=\"enqueued\"}}"));
    assert_eq!(["a", "b", "c", "d", "other"].map(enqueued), [Some(5.0), Some(4.0), None, None, Some(6.0)]);
    assert_eq!(value(&text, "intray_held_seconds_count{queue=\"other\"}"), Some(1.0));
}
