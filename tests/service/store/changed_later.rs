//! What the start refuses or warns of, and what changes later: it is logged once when it begins and once when it is over, and counted.

use crate::world::{World, eventually, program, run};

#[tokio::test]
async fn later_change_of_redis_is_logged_when_it_begins_and_ends() {
    let w = World::plan().own_process().durable().start().await;
    let cases = [
        (
            "eviction",
            "maxmemory-policy allkeys-lru",
            "maxmemory-policy noeviction",
            "ERROR maxmemory-policy allkeys-lru",
        ),
        ("append-only", "appendonly no", "appendonly yes", "WARN nothing is written to disk as it happens"),
    ];
    for (check, bad, good, line) in cases {
        let gauge = format!("intray_redis_unfit{{check=\"{check}\"}} ");
        let value = async || {
            let text = w.get("/metrics").await.text();
            text.lines().find_map(|line| line.strip_prefix(gauge.as_str())?.parse::<f64>().ok())
        };
        let _: String = w.engine.run(&format!("CONFIG SET {bad}")).await;
        eventually("it is counted", async || (value().await == Some(1.0)).then_some(())).await;
        let _: String = w.engine.run(&format!("CONFIG SET {good}")).await;
        eventually("it is over", async || (value().await == Some(0.0)).then_some(())).await;
        let output = eventually("both are logged", async || {
            Some(w.service.output()).filter(|output| output.contains("passes again") && output.contains(line))
        })
        .await;
        assert_eq!(output.matches(line).count(), 1, "{output}");
    }
    w.check().await;
}

#[tokio::test]
async fn clock_that_is_off_is_logged_measured_and_checked() {
    let w = World::start_process().await;
    let offset = async || w.metric("intray_clock_offset_seconds").await;
    assert!(offset().await.abs() < 5.0);
    w.advance_clock(60_000);
    eventually("it is measured", async || (-offset().await > 55.0).then_some(())).await;
    let logged = async || w.service.output().contains("s behind Redis's: receivers refuse webhooks").then_some(());
    eventually("it is logged", logged).await;
    let checked = run(program(["check", "--redis-url", &w.engine.url()])).await;
    assert!(checked.status.success() && checked.stdout.contains("warning  clock: "), "{checked:?}");
    w.check().await;
}
