//! How much of the events a sweep keeps, what a reader loses that is too far behind, and what is spared for webhooks.

use std::time::Duration;

use intray_redis::Args;

use super::{Redis, completed, gates::batch, outbox::step, queue};
use crate::redis::read::Fields;

impl Redis {
    async fn entries(&self) -> u64 {
        let key = self.queues.parts.runner.keys.of(&queue(), "events");
        let answer = self.queues.parts.runner.link.plain(redis::cmd("XLEN").arg(key)).await.expect("a length");
        Fields::of(&redis::Value::Array(vec![answer])).and_then(|mut fields| fields.count()).expect("a number")
    }

    /// Entries that say that they carry this many transitions each.
    async fn add_entries(&self, count: u32, transitions: u32) {
        const ADD: &str = "for _ = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', ARGV[2], '') end";
        let mut command = redis::cmd("EVAL");
        let key = self.queues.parts.runner.keys.of(&queue(), "events");
        command.arg(ADD).arg(1).arg(key).arg(count).arg(transitions);
        self.queues.parts.runner.link.plain(&command).await.expect("added");
    }

    async fn sweep_with(&self, kept_ms: &str) {
        let mut args = Args::default();
        args.push("all").push(kept_ms);
        self.queues.run_view("sweep", &queue(), &args).await.expect("swept");
    }

    /// Sweeps until nothing is left to do. Returns whether a reader is too far behind.
    async fn sweep_all(&self, may_lose: bool) -> bool {
        loop {
            let swept = self.queues.sweep_a_turn(&queue(), may_lose).await.expect("swept");
            if !swept.more {
                return swept.is_reader_late;
            }
        }
    }
}

#[tokio::test]
async fn sweep_keeps_events_that_a_webhook_has_not_read() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    let begin = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    redis.forward("a", step(None, &begin, [])).await;
    let sweep = async |may_lose| {
        let is_late = redis.sweep_all(may_lose).await;
        (redis.entries().await, redis.outbox_of("a").await.lost, is_late)
    };
    redis.add_entries(90, 1_000).await;
    assert_eq!(sweep(true).await, (91, 0, false), "90,001 transitions are not too many");
    redis.add_entries(40, 1_000).await;
    assert_eq!(sweep(false).await, (131, 0, true), "the reader is asked before anything is lost");
    let (entries, lost, is_late) = sweep(true).await;
    assert_eq!((entries, lost, is_late), (100, 30_000, false), "100,000 are kept, and what is lost is counted");
    let end = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    redis.forward("a", step(Some(&begin), &end, [])).await;
    redis.add_entries(150, 1_000).await;
    let end = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    let stored = redis.outbox_of("a").await.cursor;
    redis.forward("a", step(Some(&stored), &end, [])).await;
    assert_eq!(sweep(false).await, (10, 30_000, false), "what is read is trimmed as without webhooks");
}

#[tokio::test]
async fn dense_last_entries_cost_no_transition_that_is_promised() {
    for (sparse, dense, transitions) in [(9_500, 20, 200), (12_000, 0, 1), (9_000, 60, 100), (100, 200, 200)] {
        let redis = Redis::start().await;
        redis.add_entries(sparse, 1).await;
        redis.add_entries(dense, transitions).await;
        redis.sweep_all(false).await;
        let gone = u64::from(sparse + dense) - redis.entries().await;
        let (sparse, all) = (u64::from(sparse), u64::from(sparse + dense * transitions));
        let trimmed = if gone <= sparse { gone } else { sparse + (gone - sparse) * u64::from(transitions) };
        let kept = all - trimmed;
        assert!((10_000..14_000).contains(&kept), "{sparse} and {dense} of {transitions}: {kept} of {all} are kept");
        redis.add_entries(2, 200).await;
        redis.sweep_all(false).await;
        assert!(redis.entries().await > 2, "{sparse} and {dense} of {transitions}");
    }
}

#[tokio::test]
async fn dense_last_entries_cost_a_reader_nothing() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    let begin = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    redis.forward("a", step(None, &begin, [])).await;
    redis.add_entries(16_000, 1).await;
    redis.add_entries(200, 200).await;
    for _ in 0..50 {
        redis.sweep_all(true).await;
    }
    assert_eq!((redis.entries().await, redis.outbox_of("a").await.lost), (16_201, 0), "56,000 are not too many");
}

#[tokio::test]
async fn stream_that_another_has_cut_is_counted_and_trimmed_on() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    let begin = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    redis.forward("a", step(None, &begin, [])).await;
    redis.add_entries(150, 1_000).await;
    redis.sweep_all(false).await;
    let key = redis.queues.parts.runner.keys.of(&queue(), "events");
    for left in [120, 0] {
        let mut cut = redis::cmd("XTRIM");
        cut.arg(&key).arg("MAXLEN").arg(left);
        redis.queues.parts.runner.link.plain(&cut).await.expect("cut");
        redis.sweep_all(true).await;
        redis.add_entries(20, 1_000).await;
        redis.sweep_all(true).await;
        assert_eq!(redis.entries().await, if left == 0 { 20 } else { 100 });
    }
}

#[tokio::test]
async fn event_after_a_cursor_within_its_entry_is_kept() {
    let redis = Redis::start().await;
    redis.add_entries(1, 2_000).await;
    let end = redis.queues.last_event(&queue()).await.expect("a position");
    let within = format!("{}-{}-49", end.ms, end.sequence);
    redis.forward("a", step(None, &within, [])).await;
    redis.add_entries(12, 1_000).await;
    redis.sweep_all(true).await;
    assert_eq!((redis.entries().await, redis.outbox_of("a").await.lost), (13, 0));
    redis.add_entries(100, 1_000).await;
    redis.sweep_all(true).await;
    assert_eq!(redis.outbox_of("a").await.lost, 13_950, "what it had read of the first entry is not lost");
}

#[tokio::test]
async fn sweep_spares_ended_jobs_whose_end_is_not_read() {
    let redis = Redis::start().await;
    let (read, unread) = (redis.enqueue("1").await, redis.enqueue("2").await);
    let complete = async || {
        let args = completed(redis.reserve().await, "1");
        redis.queues.run_view("complete", &queue(), &args).await.expect("completed");
    };
    complete().await;
    let end = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    redis.forward("a", step(None, &end, [])).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    complete().await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    redis.sweep_with("0").await;
    let exists = async |id: &crate::job::JobId| redis.queues.job(id.clone()).await.expect("a job").is_some();
    assert_eq!((exists(&read).await, exists(&unread).await), (false, true));
    let stored = redis.outbox_of("a").await.cursor;
    let end = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    redis.forward("a", step(Some(&stored), &end, [])).await;
    redis.sweep_with("0").await;
    assert!(!exists(&unread).await);
}

/// No instance serves the webhook any more.
#[tokio::test]
async fn sweep_spares_no_job_that_ended_ten_minutes_ago() {
    const STAMPS_PER_MS: i64 = 64;
    let redis = Redis::start().await;
    redis.forward("a", step(None, "5-0-1", [])).await;
    let ended = redis.enqueue("1").await;
    let args = completed(redis.reserve().await, "1");
    redis.queues.run_view("complete", &queue(), &args).await.expect("completed");
    for (by_ms, stays) in [(599_000, true), (2_000, false)] {
        let mut command = redis::cmd("ZINCRBY");
        command.arg(redis.queues.parts.runner.keys.of(&queue(), "ended")).arg(-by_ms * STAMPS_PER_MS);
        command.arg(ended.code.as_str());
        redis.queues.parts.runner.link.plain(&command).await.expect("earlier");
        redis.sweep_with("0").await;
        assert_eq!(redis.queues.job(ended.clone()).await.expect("an answer").is_some(), stays, "{by_ms}");
    }
}

#[tokio::test]
async fn sweep_spares_batches_whose_end_is_not_read() {
    let redis = Redis::start().await;
    let begin = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    redis.forward("a", step(None, &begin, [])).await;
    let batch = redis.create(batch(None, true, 1)).await.id;
    redis.finish(&redis.take(1).await[0]).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let sweeps = async || {
        for _ in 0..10 {
            redis.sweep_with("0").await;
        }
        redis.queues.batch(&batch).await.expect("a batch").is_some()
    };
    assert!(sweeps().await, "its jobs are not read yet");
    let end = redis.queues.last_event(&queue()).await.expect("a position").to_string();
    redis.forward("a", step(Some(&begin), &end, [])).await;
    assert!(!sweeps().await);
}
