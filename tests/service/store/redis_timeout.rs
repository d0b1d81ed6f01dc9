//! `--redis-timeout-ms`: how long a call waits for a Redis that answers late.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{Answer, CallFate, World, assert_contains, program, run};

/// An enqueue whose reply meets this, and how long its answer took.
async fn enqueue(timeout_ms: Option<u32>, fate: CallFate) -> (World, Answer, Duration) {
    let plan = World::plan().with_proxy();
    let plan = match timeout_ms {
        Some(ms) => plan.flag("--redis-timeout-ms", &ms.to_string()),
        None => plan,
    };
    let w = plan.start().await;
    w.enqueue("connected and registered").await;
    w.proxy().inject("enqueue", 1, fate);
    let begin = Instant::now();
    let answer = w.send_enqueue(json!({ "payload": "late" })).await;
    (w, answer, begin.elapsed())
}

#[tokio::test]
async fn late_reply_is_awaited_for_as_long_as_the_operator_says() {
    let late = CallFate::Slow(2_500);
    let (w, answer, took) = enqueue(None, late).await;
    assert_contains(&answer.refused("unavailable"), json!({ "status": 503, "applied": "unknown" }));
    assert!(took >= Duration::from_millis(1_100), "{took:?}");
    w.check().await;
    let (w, answer, _) = enqueue(Some(30_000), late).await;
    answer.is(201);
    w.check().await;
}

#[tokio::test]
async fn short_redis_timeout_reports_a_late_reply_sooner() {
    let (w, answer, _) = enqueue(Some(30_000), CallFate::Slow(800)).await;
    answer.is(201);
    w.check().await;
    let mut waits = Vec::new();
    for ms in [1_000, 8_000] {
        let (w, answer, took) = enqueue(Some(ms), CallFate::Held).await;
        assert_contains(&answer.refused("unavailable"), json!({ "applied": "unknown" }));
        waits.push(took);
        w.proxy().release_held();
        w.check().await;
    }
    assert!(waits[0] < waits[1] / 2 && waits[1] >= Duration::from_secs(8), "{waits:?}");
}

/// The commands take the same time.
#[tokio::test]
async fn check_accepts_the_redis_timeout_and_names_its_range() {
    let w = World::start().await;
    let check = async |ms: &str| {
        let words = ["check", "--redis-timeout-ms", ms, "--redis-url", &w.engine.url()];
        run(program(words)).await
    };
    assert!(check("30000").await.status.success());
    let refused = check("50").await;
    assert!(!refused.status.success() && refused.stderr.contains("100..=30000"), "{refused:?}");
    w.check().await;
}
