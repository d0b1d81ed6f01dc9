//! Calls that go together.

use futures_util::future::join_all;

use super::*;
use crate::redis::read::broken;

impl Redis {
    /// How many scripts have been run without the library: those sent whole, or all.
    pub(super) async fn scripts_run(&self, commands: &[&str]) -> u64 {
        let mut command = redis::cmd("INFO");
        let info = self.queues.parts.runner.link.plain(command.arg("commandstats")).await.expect("info");
        let text = match info {
            Value::BulkString(bytes) => String::from_utf8(bytes).expect("text"),
            Value::VerbatimString { text, .. } => text,
            _ => panic!("{}", broken("text")),
        };
        let calls = |line: &str| line.split("calls=").nth(1)?.split(',').next()?.parse::<u64>().ok();
        let is_counted = |line: &&str| commands.iter().any(|command| line.starts_with(&format!("cmdstat_{command}:")));
        text.lines().filter(is_counted).filter_map(calls).sum()
    }
}

#[tokio::test]
async fn calls_of_a_new_queue_share_batches_and_keep_order() {
    let redis = Redis::start().await;
    redis.queues.parts.runner.link.use_library(false);
    let before = redis.scripts_run(&["eval"]).await;
    // Long ones among short ones, so that they do not all go together.
    let payload = |n: usize| if n % 10 == 3 { format!("\"{n} {}\"", "x".repeat(300_000)) } else { format!("\"{n}\"") };
    let answers = join_all((0..60).map(|n| redis.queues.enqueue(job(&payload(n))))).await;
    let states = answers.iter().filter(|answer| matches!(answer, Ok(Enqueued::Stored { .. }))).count();
    assert_eq!(states, 60);
    // A script is sent whole when Redis first meets it, and by its digest from then on.
    assert_eq!(redis.scripts_run(&["eval"]).await - before, 2, "one registered the queue, another stored jobs");
    for n in 0..60 {
        let job = redis.queues.job(redis.reserve().await.job).await.expect("an answer").expect("a job");
        assert_eq!(job.payload.expect("a payload").as_str(), payload(n));
    }
}
