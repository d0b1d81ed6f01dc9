//! Probes, metrics and logs.

use std::collections::BTreeSet;

use serde_json::json;

use crate::world::{CallFate, Fault, World, eventually};

#[tokio::test]
async fn probes_report_liveness_and_readiness() {
    let w = World::start().await;
    assert_eq!(w.get("/livez").await.text().trim(), "ok");
    assert_eq!(w.get("/readyz").await.text().trim(), "ok");
    let verbose = w.get("/readyz?verbose").await;
    assert_eq!(verbose.status, 200);
    assert!(verbose.text().lines().count() >= 4, "each check on a line: {}", verbose.text());

    let _: String = w.engine.run("CONFIG SET maxmemory-policy allkeys-lru").await;
    let answer = eventually("readiness fails", async || {
        let answer = w.get("/readyz").await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    assert!(answer.text().contains("evict"), "{}", answer.text());
    let _: String = w.engine.run("CONFIG SET maxmemory-policy noeviction").await;
    eventually("the service is ready", async || (w.get("/readyz").await.status == 200).then_some(())).await;

    let layout: String = w.engine.run("GET intray:layout").await;
    let _: String = w.engine.run("SET intray:layout 999").await;
    eventually("readiness fails", async || (w.get("/readyz?verbose").await.status == 503).then_some(())).await;
    let _: String = w.engine.run(&format!("SET intray:layout {layout}")).await;
    w.check().await;
}

/// Every shared connection waits for a script that takes longer than the timeout.
#[tokio::test]
async fn busy_instance_stays_ready() {
    let w = World::plan().with_proxy().start().await;
    w.enqueue(1).await;
    w.proxy().inject_each(1, 12, CallFate::Slow(3_000));
    let reads: Vec<_> = (0..12).map(|_| w.long_poll("/queues/default/jobs")).collect();
    eventually("all calls are held", async || (w.proxy().injected_calls() >= 3).then_some(())).await;
    let busy = w.get("/readyz?verbose").await;
    assert_eq!(busy.status, 200, "{}", busy.text());
    w.proxy().set_fault(Fault::Freeze);
    let alone = eventually("readiness fails", async || {
        let answer = w.get("/readyz").await;
        (answer.status == 503).then_some(answer)
    });
    assert!(alone.await.text().starts_with("redis: "));
    w.proxy().set_fault(Fault::None);
    eventually("the service is ready", async || (w.get("/readyz").await.status == 200).then_some(())).await;
    for read in reads {
        read.answer().await;
    }
    w.check().await;
}

#[tokio::test]
async fn metrics_cover_jobs_transitions_latencies_and_the_pool() {
    let w = World::plan().own_process().sweep_every(20).start().await;
    w.enqueue_many((0..3).map(|n| json!({ "queue": "q", "payload": n }))).await;
    let held = w.reserve_with(json!({ "queues": ["q"], "worker": "ann-the-worker" })).await;
    w.complete(&held).await.is(200);
    w.get("/jobs/x").await.refused("unknown-job");
    let text = eventually("all metrics are there", async || {
        let text = w.get("/metrics").await.text();
        text.contains("sweep").then_some(text)
    })
    .await;
    for line in [
        r#"intray_jobs{queue="q",state="waiting"} 2"#,
        r#"intray_jobs{queue="q",state="completed"} 1"#,
        r#"intray_jobs{queue="q",state="dead"} 0"#,
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    for name in [
        "http_request_duration_seconds_bucket",
        "intray_transitions_total",
        "intray_script",
        "intray_sweep",
        "intray_redis_connections",
        "process_",
    ] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} is missing in {text}");
    }
    assert!(text.contains(r#"route="/jobs/{id}""#), "the matched route, not the path");
    assert!(!text.contains("ann-the-worker") && !text.contains(&held.id), "never a worker or a job");
    let handed: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("intray_transitions_total") && line.contains("completed"))
        .collect();
    assert_eq!(handed.len(), 1, "{handed:?}");
    assert!(handed[0].contains(r#"queue="q""#) && handed[0].ends_with(" 1"), "{handed:?}");
    w.check().await;
}

#[tokio::test]
async fn every_metric_has_a_help_text_and_known_labels() {
    let w = World::plan().own_process().sweep_every(20).start().await;
    w.enqueue(1).await;
    let held = w.reserve_with(json!({ "lease_ms": 1_000 })).await;
    w.advance_clock(1_001);
    w.complete(&held).await.is(200);
    let text = eventually("a sweep has run", async || {
        let text = w.get("/metrics").await.text();
        text.contains("intray_sweep_duration_seconds").then_some(text)
    })
    .await;
    let (mut names, mut shown) = (0, BTreeSet::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            Some((name, kind)) => {
                names += 1;
                assert!(text.contains(&format!("# HELP {name} ")), "{name} has no help");
                let ours = intray_metrics::ALL.iter().find(|figure| figure.name == name);
                assert!(
                    name.starts_with("process_") || ours.is_some_and(|figure| figure.kind.word() == kind),
                    "{line}"
                );
            }
            None if line.starts_with('#') => {}
            None => drop(shown.insert(line.split(' ').next().unwrap_or_default())),
        }
    }
    assert!(names > 12, "{text}");
    for series in shown.iter().filter_map(|series| series.split_once('{')) {
        let figure = intray_metrics::ALL.iter().find(|figure| series.0.starts_with(figure.name)).expect("a figure");
        let labels = series.1.trim_end_matches('}').split("\",").filter_map(|label| label.split('=').next());
        let known = |label: &str| label == "le" || figure.labels.contains(&label);
        assert!(labels.into_iter().all(known), "{series:?} has other labels than {:?}", figure.labels);
    }
    w.check().await;
}

/// Faults are counted and logged; a healthy service has none, not even when idle.
#[tokio::test]
async fn healthy_service_counts_and_logs_no_faults() {
    let w = World::plan().own_process().sweep_every(20).start().await;
    for worker in [json!(null), json!("ann")] {
        let ask = if worker.is_null() { json!({}) } else { json!({ "worker": worker }) };
        w.post("/jobs/reserve", ask).await.is(200);
    }
    w.enqueue(1).await;
    let held = w.reserve().await;
    w.complete(&held).await.is(200);
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    let text = w.get("/metrics").await.text();
    assert!(!text.contains("intray_script_faults_total"), "{text}");
    w.check().await;
}

#[tokio::test]
async fn json_log_reports_the_address_in_json() {
    let w = World::plan().own_process().flag("--log-format", "json").start().await;
    // The service answers a moment before it logs.
    let line = eventually("the log has it", async || {
        w.service.output().lines().find(|line| line.contains("ready on")).map(str::to_owned)
    });
    let line: serde_json::Value = serde_json::from_str(&line.await).expect("JSON");
    assert_eq!(line["message"], format!("intray is ready on {}", w.service.url()), "{line}");
    assert!(line["level"] == "INFO" && line["timestamp"].is_string(), "{line}");
}

#[tokio::test]
async fn contract_is_served_unchanged() {
    let w = World::start().await;
    let text = w.get("/openapi.yaml").await.text();
    assert_eq!(text, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.yaml")));
}

#[tokio::test]
async fn log_contains_no_payload_and_no_secret() {
    let w = World::plan().own_process().with_default_redis_timeout().flag("--log-format", "json").start().await;
    w.request("POST", "/jobs")
        .header("idempotency-key", "secret-key")
        .json(r#"{"payload":"secret-payload"}"#)
        .send()
        .await
        .is(201);
    let held = w.reserve_as("ann").await;
    w.complete_with(&held, "secret-result").await.is(200);
    w.engine.freeze();
    w.send_enqueue(json!({ "payload": "secret-payload-2" })).await.refused("unavailable");
    w.engine.thaw();
    let log = w.service.output();
    let secret = held.reservation.rsplit('.').next().expect("a secret");
    for word in ["secret-key", "secret-payload", "secret-result", secret] {
        assert!(!log.contains(word), "{word} is in the log: {log}");
    }
    for line in log.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "not JSON: {line}");
    }
}
