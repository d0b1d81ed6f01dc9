//! The tools themselves, before anything is believed that was found by them.

use std::time::Duration;

use crate::world::{Engine, World, contract::CONTRACT, eventually, sentinels::SentinelSetup};

#[tokio::test]
async fn redis_clock_can_be_advanced() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let before = engine.now().await;
    engine.clock.advance(300_000);
    let after = engine.now().await;
    assert!((300_000..330_000).contains(&(after - before)), "{before} {after}");
    let in_script: Vec<String> = engine.query(redis::cmd("EVAL").arg("return redis.call('TIME')").arg(0)).await;
    let seconds: u64 = in_script[0].parse().expect("a number");
    assert!(seconds.abs_diff(after / 1_000) <= 2, "a script sees it too");
}

#[tokio::test]
async fn redis_with_its_own_settings_is_left_to_no_other_story() {
    drop(World::plan().durable().start().await);
    let w = World::start().await;
    let setting: Vec<String> = w.engine.run("CONFIG GET appendonly").await;
    assert_eq!(setting, ["appendonly", "no"]);
}

/// A busy machine stops them for seconds; then they distrust their clock, and elect no primary for half a minute by default.
#[tokio::test]
async fn sentinels_that_stood_still_elect_soon() {
    let mut w = SentinelSetup::start().await;
    w.signal_sentinels(libc::SIGSTOP);
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    w.signal_sentinels(libc::SIGCONT);
    w.nodes[0].kill();
    eventually("another primary is elected", async || Some(w.primary().await).filter(|n| *n != 0)).await;
}

#[test]
fn contract_examples_match_their_schemas() {
    assert_eq!(CONTRACT.route("/jobs/reserve").expect("a route").0, "/jobs/reserve");
    assert_eq!(CONTRACT.route("/jobs/x").expect("a route").0, "/jobs/{id}");
    CONTRACT.check_examples();
}
