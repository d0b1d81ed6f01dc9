//! Calls that wait for a job or for a change.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{
    Took, eventually,
    http::{Answer, Client},
    verbs::ReservedJob,
};

/// The longest that a call may wait.
pub const MAX_WAIT_MS: u64 = 30_000;
/// Limit for a wake-up on a busy machine; the safety tick comes much later.
pub const PROMPT_LIMIT: Duration = Duration::from_secs(2);
/// From the end of a lookup to sleep.
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
    pub async fn timed_answer(self) -> (Answer, Took) {
        let since = self.since;
        let (answer, at) = self.answer().await;
        (answer, Took::between(since, at))
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

    /// Expects no job; answers the reason.
    pub async fn empty_reason(self) -> String {
        let answer = self.answer().await.0.is(200);
        assert_eq!(answer["jobs"], json!([]), "{answer}");
        let retry_after_ms = answer["retry_after_ms"].as_u64().expect("a number");
        assert!((250..=5_000).contains(&retry_after_ms), "{answer}");
        answer["reason"].as_str().expect("a reason").to_owned()
    }
}

impl Client {
    /// The value of a metric; 0 if it is missing.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await.text();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// How many scripts of this kind the instance has run.
    pub async fn script_runs(&self, name: &str) -> u64 {
        self.metric(&format!(r#"intray_script_duration_seconds_count{{script="{name}"}}"#)).await as u64
    }

    /// How many reserve lookups this instance has started, and how many have not ended.
    async fn reserve_looks(&self) -> (u64, i64) {
        let of = |what: &str| format!(r#"intray_script_group_jobs_{what}{{script="reserve"}}"#);
        let (looks, begun) = (self.metric(&of("sum")).await, self.metric(&of("count")).await as i64);
        (looks as u64, begun - self.script_runs("reserve").await as i64)
    }

    /// Sends a waiting reserve for one queue, and returns when it is asleep.
    pub async fn start_wait(&self, request: Value) -> Waiter {
        self.start_waits(vec![request]).await.remove(0)
    }

    /// Sends waiting reserves for one queue each, in order, and returns when all are asleep.
    pub async fn start_waits(&self, requests: Vec<Value>) -> Vec<Waiter> {
        // The exporter can lose what is recorded while it collects, so a time limit ends the wait.
        let (before, out) = self.reserve_looks().await;
        let expected = before + requests.len() as u64;
        let (begin, waiters): (_, Vec<_>) =
            (Instant::now(), requests.into_iter().map(|request| self.start_reserve(request)).collect());
        let looked = async || {
            let (looks, still_out) = self.reserve_looks().await;
            (looks >= expected && still_out <= out || begin.elapsed() > PROMPT_LIMIT * 5).then_some(())
        };
        eventually("all waiters have looked", looked).await;
        // A loaded service that still registers waiters is as slow to answer.
        for _ in 0..3 {
            self.get("/livez").await;
        }
        sleep(SETTLE_TIME).await;
        assert!(waiters.iter().all(|waiter| !waiter.is_answered()), "no job is available");
        waiters
    }

    /// Sends a reserve with the longest wait. It may not be asleep yet.
    pub fn start_reserve(&self, mut request: Value) -> Waiter {
        let client = self.clone();
        if request["wait_ms"].is_null() {
            request["wait_ms"] = json!(MAX_WAIT_MS);
        }
        Waiter::send(async move { client.send_reserve(request).await })
    }

    /// Sends a GET that waits for a change.
    pub fn long_poll(&self, path: &str) -> Waiter {
        let (client, begin) = (self.clone(), if path.contains('?') { '&' } else { '?' });
        let path = format!("{path}{begin}wait_ms={MAX_WAIT_MS}");
        Waiter::send(async move { client.get(&path).await })
    }
}
