//! Many open asks: they hold nothing of what they wait for, and those that end together are all answered.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::world::{
    Client, Took, World,
    access::key,
    eventually,
    waiters::{MAX_WAIT_MS, PROMPT_LIMIT, Waiter},
};

/// Each ask looks before it follows its queue, and once more after that.
const LOOKS_PER_ASK: usize = 2;

/// Jobs whose payloads have this many bytes.
async fn enqueue_large(w: &World, queue: &str, many: usize, bytes: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for from in (0..many).step_by(50) {
        let payload = |n: usize| format!("{n} {}", "x".repeat(bytes));
        let job = |n| json!({ "queue": queue, "payload": payload(n), "dedupe": false });
        ids.extend(w.enqueue_many((from..many.min(from + 50)).map(job)).await);
    }
    ids
}

/// Asks until the job has ended: a wait may be shorter than the whole story on a busy machine.
fn ask(asker: &Client, id: &str) -> Waiter {
    let (asker, path) = (asker.clone(), format!("/jobs/{id}?wait_ms={MAX_WAIT_MS}"));
    Waiter::send(async move {
        loop {
            let answer = asker.get(&path).await;
            if answer.status != 200 || answer.json()["state"] == "completed" {
                return answer;
            }
        }
    })
}

/// Asks for each job, and returns when all asks sleep.
async fn start_asks(w: &World, askers: &[&Client], ids: &[String]) -> Vec<Waiter> {
    let before = w.script_runs("job").await;
    let asks = ids.iter().zip(askers.iter().cycle()).map(|(id, asker)| ask(asker, id)).collect();
    let looked = async || (w.script_runs("job").await >= before + (ids.len() * LOOKS_PER_ASK) as u64).then_some(());
    eventually("all asks have looked", looked).await;
    asks
}

/// The payloads of all asks are more than the service reads at once for all callers.
#[tokio::test]
async fn answers_arrive_at_once_with_many_open_asks() {
    let keys = [("ann", "producer", "a-*"), ("eve", "producer", "a-*"), ("bob", "producer", "b-*")];
    let w = World::plan().own_process().with_keys(&keys).start().await;
    let [ann, eve, bob] = ["ann", "eve", "bob"].map(|name| w.with_credential(&key(name)));
    let ids = enqueue_large(&w, "a-q", 400, 65_536).await;
    let mut asks = start_asks(&w, &[&ann, &eve], &ids).await;
    let other = w.enqueue_with(json!({ "queue": "b-q", "payload": 1 })).await;
    let ask_of_bob = start_asks(&w, &[&bob], &[other]).await.remove(0);
    for nth in [399, 200, 0] {
        let held = w.reserve_with(json!({ "id": ids[nth] })).await;
        let since = Instant::now();
        w.complete(&held).await.is(200);
        let (answer, at) = asks.remove(nth).answer().await;
        assert_eq!(answer.is(200)["state"], "completed");
        Took::between(since, at).assert_within(PROMPT_LIMIT, "the answer to one of many");
    }
    let held = w.reserve_with(json!({ "queues": ["b-q"] })).await;
    let since = Instant::now();
    w.complete(&held).await.is(200);
    let (answer, at) = ask_of_bob.answer().await;
    assert_eq!(answer.is(200)["state"], "completed");
    Took::between(since, at).assert_within(PROMPT_LIMIT, "the answer to another tenant");
    assert!(asks.iter().all(|ask| !ask.is_answered()));
}

/// The waits end while Redis does not answer: more than a caller may have in line.
#[tokio::test]
async fn waits_that_end_together_are_all_answered() {
    const WAIT: Duration = Duration::from_secs(6);
    let w = World::start_process().await;
    let ids = enqueue_large(&w, "default", 700, 1).await;
    let shared = w.enqueue("shared").await;
    let before = w.script_runs("job").await;
    let wait = |id: &String| {
        let (client, path) = ((*w).clone(), format!("/jobs/{id}?wait_ms={}", WAIT.as_millis()));
        Waiter::send(async move { client.get(&path).await })
    };
    let own: Vec<_> = ids.iter().map(wait).collect();
    let together: Vec<_> = (0..100).map(|_| wait(&shared)).collect();
    let last = Instant::now();
    let looks = async || w.script_runs("job").await - before;
    eventually("all have looked", async || (looks().await > (ids.len() * LOOKS_PER_ASK) as u64).then_some(())).await;
    let before_the_end = looks().await;
    w.engine.freeze();
    sleep(WAIT.saturating_sub(last.elapsed()) + Duration::from_millis(2_500)).await;
    w.engine.thaw();
    for waiter in own.into_iter().chain(together) {
        assert_eq!(waiter.answer().await.0.is(200)["state"], "waiting");
    }
    let at_the_end = looks().await - before_the_end;
    assert!(at_the_end <= ids.len() as u64 + 20, "{at_the_end} looks: the 100 waits for one job share theirs");
    w.check().await;
}
