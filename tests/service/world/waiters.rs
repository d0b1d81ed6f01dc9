//! People who wait for work.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{
    eventually,
    http::{Answer, Client},
    verbs::ReservedJob,
};

/// The longest that a call may wait.
pub const MAX_WAIT_MS: u64 = 30_000;
/// The longest that something takes for which nobody should have to wait; the safety tick is far beyond.
pub const PROMPT_LIMIT: Duration = Duration::from_secs(1);
/// From the end of a look to sleep.
const SETTLE_TIME: Duration = Duration::from_millis(10);

/// A call that has not been answered yet.
pub struct Waiter {
    since: Instant,
    call: JoinHandle<(Answer, Instant)>,
}

impl Waiter {
    pub fn send(call: impl Future<Output = Answer> + Send + 'static) -> Self {
        let call = async move { (call.await, Instant::now()) };
        Self { since: Instant::now(), call: tokio::spawn(call) }
    }

    pub fn is_answered(&self) -> bool {
        self.call.is_finished()
    }

    /// The answer, and when it came.
    pub async fn answer(self) -> (Answer, Instant) {
        self.call.await.expect("an answer")
    }

    /// The answer, and how long it took.
    pub async fn timed_answer(self) -> (Answer, Duration) {
        let since = self.since;
        let (answer, at) = self.answer().await;
        (answer, at - since)
    }

    /// The one job that was waited for.
    pub async fn job(self) -> ReservedJob {
        self.job_at().await.0
    }

    /// The one job that was waited for, and when it came.
    pub async fn job_at(self) -> (ReservedJob, Instant) {
        let (answer, at) = self.answer().await;
        let answer = answer.is(200);
        assert_eq!(answer["jobs"].as_array().map(Vec::len), Some(1), "{answer}");
        (ReservedJob::new(&answer["jobs"][0]), at)
    }

    /// There was nothing, and this is why.
    pub async fn empty_reason(self) -> String {
        let answer = self.answer().await.0.is(200);
        assert_eq!(answer["jobs"], json!([]), "{answer}");
        let retry_after_ms = answer["retry_after_ms"].as_u64().expect("a number");
        assert!((250..=5_000).contains(&retry_after_ms), "{answer}");
        answer["reason"].as_str().expect("a reason").to_owned()
    }
}

impl Client {
    /// A figure of `/metrics`, as it is written there but for its value; 0 if it is not there.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await.text();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// How many scripts of this kind the instance has run.
    pub async fn script_runs(&self, name: &str) -> u64 {
        self.metric(&format!(r#"intray_script_duration_seconds_count{{script="{name}"}}"#)).await as u64
    }

    /// How often somebody at this instance has begun to look for a job, one each, and how many looks have not ended.
    async fn reserve_looks(&self) -> (u64, i64) {
        let of = |what: &str| format!(r#"intray_script_group_jobs_{what}{{script="reserve"}}"#);
        let (looks, begun) = (self.metric(&of("sum")).await, self.metric(&of("count")).await as i64);
        (looks as u64, begun - self.script_runs("reserve").await as i64)
    }

    /// Somebody who asks for work in one queue, and is asleep now.
    pub async fn start_wait(&self, request: Value) -> Waiter {
        self.start_waits(vec![request]).await.remove(0)
    }

    /// People who ask for work in one queue each, one after the other, and are all asleep now.
    pub async fn start_waits(&self, requests: Vec<Value>) -> Vec<Waiter> {
        // What is recorded while the exporter collects can be lost. So some are always out, and time has the last word.
        let (before, out) = self.reserve_looks().await;
        let expected = before + requests.len() as u64;
        let (begin, waiters): (_, Vec<_>) =
            (Instant::now(), requests.into_iter().map(|request| self.start_reserve(request)).collect());
        let looked = async || {
            let (looks, still_out) = self.reserve_looks().await;
            (looks >= expected && still_out <= out || begin.elapsed() > PROMPT_LIMIT * 5).then_some(())
        };
        eventually("everybody has looked", looked).await;
        // A service that is short of time to put them to sleep is as short of time to answer.
        for _ in 0..3 {
            self.get("/livez").await;
        }
        sleep(SETTLE_TIME).await;
        assert!(waiters.iter().all(|waiter| !waiter.is_answered()), "there is nothing to be had");
        waiters
    }

    /// Somebody who has asked for work and may wait as long as anybody; whether they sleep yet, nobody knows.
    pub fn start_reserve(&self, mut request: Value) -> Waiter {
        let client = self.clone();
        if request["wait_ms"].is_null() {
            request["wait_ms"] = json!(MAX_WAIT_MS);
        }
        Waiter::send(async move { client.send_reserve(request).await })
    }

    /// A look at something that waits for it to change.
    pub fn long_poll(&self, path: &str) -> Waiter {
        let (client, begin) = (self.clone(), if path.contains('?') { '&' } else { '?' });
        let path = format!("{path}{begin}wait_ms={MAX_WAIT_MS}");
        Waiter::send(async move { client.get(&path).await })
    }
}
