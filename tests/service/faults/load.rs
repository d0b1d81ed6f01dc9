//! Faults under load: repeated calls have one effect, and callers do not notice flushed scripts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{Answer, CallFate, Client, Took, World, eventually, number};

/// The bound of the contract, plus a margin; only time that the machine ran counts.
const ANSWER_BOUND: Duration = Duration::from_millis(2_500);
/// How long Redis is frozen.
const FREEZE: Duration = Duration::from_secs(10);
/// How long after that calls may still fail.
const RECOVERY: Duration = Duration::from_secs(1);

async fn call(client: &Client, path: &str, body: &Value, key: &str) -> Answer {
    client.request("POST", path).header("idempotency-key", key).json(body.to_string()).send().await
}

/// Repeats a call until it is answered, and counts the calls that took more than one try.
#[derive(Default)]
struct Repeats(AtomicUsize);

impl Repeats {
    async fn until_done(&self, client: &Client, path: &str, body: &Value, key: &str) -> Value {
        loop {
            let answer = call(client, path, body, key).await;
            if answer.status < 300 {
                return answer.json();
            }
            if answer.status == 429 {
                // So often was it tried at once.
                let pause = number(&answer.refused("rate-limited"), "retry_after_ms");
                tokio::time::sleep(Duration::from_millis(pause)).await;
                continue;
            }
            answer.refused("unavailable");
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Enqueues, reserves and completes one job.
    async fn life(&self, client: &Client, who: usize, n: usize) {
        let (key, worker) = (format!("{who}-{n}"), format!("worker {who}"));
        self.until_done(client, "/jobs", &json!({ "payload": [who, n] }), &key).await;
        let given = loop {
            let asked = json!({ "worker": worker });
            let given = self.until_done(client, "/jobs/reserve", &asked, &key).await;
            if given["jobs"][0].is_object() {
                break given;
            }
        };
        let done = json!({ "reservation": given["jobs"][0]["reservation"], "result": key });
        self.until_done(client, "/jobs/complete", &done, &key).await;
    }
}

#[tokio::test]
async fn lost_replies_under_load_double_no_effect() {
    let wanted = std::env::var("INTRAY_LOST_REPLIES").map_or(300, |n| n.parse().expect("a number of replies"));
    let w = World::plan().with_proxy().start().await;
    w.stop_clock();
    w.proxy().inject_each(3, wanted, CallFate::CutAt(0));
    let (repeats, over) = (Arc::new(Repeats::default()), Arc::new(AtomicBool::new(false)));
    let mut crowd = JoinSet::new();
    for who in 0..16 {
        let (client, repeats, over) = ((*w).clone(), repeats.clone(), over.clone());
        crowd.spawn(async move {
            for n in 0.. {
                if over.load(Ordering::Relaxed) {
                    return n;
                }
                repeats.life(&client, who, n).await;
            }
            unreachable!("the loop ends")
        });
    }
    while w.proxy().executed_calls() < wanted {
        assert!(!crowd.is_empty());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    over.store(true, Ordering::Relaxed);
    let lives: usize = crowd.join_all().await.into_iter().sum();
    let totals = &w.queue().await["totals"];
    println!("{wanted} replies lost, {} calls repeated, {lives} jobs: {totals}", repeats.0.load(Ordering::Relaxed));
    for total in ["enqueued", "handed_out", "completed"] {
        assert_eq!(totals[total], json!(lives), "{total}: {totals}");
    }
    w.check().await;
}

/// Through the function library and through EVALSHA alike.
#[tokio::test]
async fn flushed_functions_and_scripts_fail_no_call() {
    let w = World::start().await;
    let (_service, by_scripts) = w.as_user("~* &* +@all -fcall").await;
    let (over, lives) = (Arc::new(AtomicBool::new(false)), Arc::<[AtomicUsize; 8]>::default());
    let mut crowd = JoinSet::new();
    for (who, client) in [(*w).clone(), by_scripts].into_iter().cycle().take(lives.len()).enumerate() {
        let (over, lives) = (over.clone(), lives.clone());
        crowd.spawn(async move {
            let repeats = Repeats::default();
            while !over.load(Ordering::Relaxed) {
                let n = lives[who].load(Ordering::Relaxed);
                repeats.life(&client, who, n).await;
                lives[who].store(n + 1, Ordering::Relaxed);
            }
            repeats.0.into_inner()
        });
    }
    let mut flushes = 0;
    eventually("all have gone on through many flushes", async || {
        let _: String = w.engine.run("FUNCTION FLUSH").await;
        let _: String = w.engine.run("SCRIPT FLUSH").await;
        flushes += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
        (flushes >= 50 && lives.iter().all(|lives| lives.load(Ordering::Relaxed) > 10)).then_some(())
    })
    .await;
    over.store(true, Ordering::Relaxed);
    let refused: usize = crowd.join_all().await.into_iter().sum();
    assert_eq!(refused, 0, "of {lives:?} lives");
    let lived: usize = lives.iter().map(|lives| lives.load(Ordering::Relaxed)).sum();
    assert_eq!(w.queue().await["totals"]["completed"], json!(lived));
    w.check().await;
}

/// When a call was made and answered, and its status.
struct TimedCall {
    begin: Instant,
    end: Instant,
    status: u16,
}

async fn calls_on(client: Client, who: usize, over: Arc<AtomicBool>) -> Vec<TimedCall> {
    let mut made = Vec::new();
    let mut n = 0;
    while !over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        let status = call(&client, "/jobs", &json!({ "payload": [who, n] }), &format!("{who}-{n}")).await.status;
        made.push(TimedCall { begin, end: Instant::now(), status });
        // A refused call is repeated, after a pause.
        n += usize::from(status < 300);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    made
}

#[tokio::test]
async fn calls_return_503_while_redis_is_frozen_then_recover() {
    let w = World::plan().with_default_redis_timeout().start().await;
    w.enqueue("first").await;
    let over = Arc::new(AtomicBool::new(false));
    let mut crowd = JoinSet::new();
    (0..30).for_each(|who| _ = crowd.spawn(calls_on((*w).clone(), who, over.clone())));
    eventually("the callers are busy", async || (w.queue().await["totals"]["enqueued"].as_u64()? > 200).then_some(()))
        .await;
    w.engine.freeze();
    let frozen = Instant::now();
    tokio::time::sleep(FREEZE).await;
    let thawed = Instant::now();
    w.engine.thaw();
    eventually("calls are made after the recovery", async || {
        (Took::since(thawed).running() > RECOVERY * 2).then_some(())
    })
    .await;
    over.store(true, Ordering::Relaxed);
    let made: Vec<_> = crowd.join_all().await.into_iter().flatten().collect();

    let has_time = |made: &&TimedCall| Took::between(made.begin, thawed).running() > ANSWER_BOUND;
    let meanwhile: Vec<_> = made.iter().filter(|made| made.begin > frozen).filter(has_time).collect();
    assert!(meanwhile.len() >= 30, "every caller called: {}", meanwhile.len());
    assert!(meanwhile.iter().all(|made| made.status == 503), "calls fail while Redis is frozen");
    let slowest = meanwhile.iter().map(|made| made.end - made.begin).max().expect("some");
    assert!(meanwhile.iter().all(|made| made.end < thawed), "no caller waits until Redis is back: {slowest:?}");
    let has_recovered = |made: &&TimedCall| Took::between(thawed, made.begin).running() > RECOVERY;
    let after: Vec<_> = made.iter().filter(has_recovered).collect();
    assert!(!after.is_empty() && after.iter().all(|made| made.status < 300), "calls succeed again");
    let done = made.iter().filter(|made| made.status < 300).count();
    println!("{} calls while Redis was frozen, the slowest took {slowest:?}; {done} jobs in all", meanwhile.len());
    // The last call of each caller may have been refused although it was applied.
    let enqueued = w.queue().await["totals"]["enqueued"].as_u64().expect("a number") as usize;
    assert!((done + 1..=done + 1 + 30).contains(&enqueued), "{enqueued} of {done}");
    w.check().await;
}
