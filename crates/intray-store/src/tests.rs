//! Each script against a real Redis, run twice: a cluster client sends a script again when its answer was lost, so the
//! second run must give the same answer and change nothing.

mod batcher;
mod completing;
mod flags;
mod forms;
mod gates;
mod history;
mod layout;
mod lists;
mod look;
mod looks;
mod outbox;
mod registry;
mod server;
mod sheets;
mod trim;
mod turns;

use intray_redis::Args;
use redis::Value;

use self::server::Redis;
use super::{
    Complete, Enqueued, NewJob, Nonce, STEPS,
    redis::read::{Fields, word},
    transition::Transition,
};
use crate::{
    job::{QueueName, Reservation, Total, ids},
    payload::Json,
};

fn queue() -> QueueName {
    QueueName::parse("q").expect("a name")
}

fn job(payload: &str) -> NewJob {
    NewJob::plain(ids::random_id(queue()), Json::from_text(payload.to_owned()).expect("JSON"))
}

/// An answer without `now`, without the words that distinguish a first run from a second, and without what only they mark, or only
/// the first says: how long a job was held.
fn without_times(answer: &Value) -> String {
    match answer {
        Value::Array(items) => items.iter().map(without_times).collect::<Vec<_>>().join(","),
        Value::Int(n) => normalized(&n.to_string()),
        Value::BulkString(bytes) if bytes.len() > 60 => "record".to_owned(),
        Value::BulkString(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let count = if text.starts_with("done ") { 2 } else { usize::MAX };
            text.split(' ').take(count).map(normalized).collect::<Vec<_>>().join(",")
        }
        other => format!("{other:?}"),
    }
}

fn normalized(word: &str) -> String {
    match word {
        "held" => "new",
        "again" | "back" => "done",
        number if number.parse::<u64>().is_ok_and(|n| n > 100_000) => "time",
        other => other,
    }
    .to_owned()
}

fn settle(reservation: &Reservation, rest: &[&str]) -> Args {
    let mut args = Args::default();
    args.push(reservation.job.code.as_str()).push(reservation.secret.as_str());
    args.push(ids::secret_digest(&reservation.secret));
    for arg in rest {
        args.push(arg);
    }
    args
}

fn completed(reservation: Reservation, result: &str) -> Args {
    let mut args = Complete::new(reservation, Json::from_text(result.to_owned())).claim(1);
    args.push("");
    args
}

#[tokio::test]
async fn repeated_enqueue_makes_one_job() {
    let redis = Redis::start().await;
    let (one, mut keyed) = (job(r#"{"n":1}"#), job(r#"{"n":2}"#));
    keyed.fingerprint = Some(*b"12345678");
    for new in [&one, &keyed] {
        let replies = redis.replies_of_two("enqueue", &new.args()).await;
        assert_eq!(replies.map(|reply| without_times(&reply)), ["stored,waiting", "done,waiting"]);
    }
    let mut twin = job(r#"{ "n" : 1 }"#);
    twin.fingerprint = Some(*b"87654321");
    let answer = redis.twice("enqueue", &twin.args()).await;
    assert_eq!(without_times(&answer), format!("twin,{},waiting,0", one.id.code.as_str()));
    keyed.fingerprint = Some(*b"00000000");
    assert_eq!(without_times(&redis.twice("enqueue", &keyed.args()).await), "reused");
}

#[tokio::test]
async fn repeated_reserve_gives_the_same_jobs() {
    let redis = Redis::start().await;
    for payload in ["1", "2", "3"] {
        redis.enqueue(payload).await;
    }
    let (mut args, secret) = (Args::default(), ids::random_code());
    args.put(|ask| {
        ask.extend([1, 0, 1, 0, 0, 0, 0]); // what is next, one job, its own lease
        ask.extend(Nonce::random().as_bytes());
        ask.extend(b"\x03ann\x00\x04open");
        ask.extend(secret.as_bytes());
        ask.extend(ids::secret_digest(&secret));
    });
    // The second run marks the job, so that an undo of the first does not take it: only that may change.
    let first = redis.queues.run_view("reserve", &queue(), &args).await.expect("first");
    let second = redis.queues.run_view("reserve", &queue(), &args).await.expect("second");
    assert_eq!(without_times(&first), without_times(&second));
    assert_eq!(without_times(&redis.twice("reserve", &args).await), without_times(&first));
    let info = redis.queues.queue(&queue()).await.expect("stats").expect("a queue");
    assert_eq!((info.counts.reserved, info.counts.waiting, info.totals.get(Total::HandedOut)), (1, 2, 1));
}

#[tokio::test]
async fn repeated_settlement_counts_once() {
    let redis = Redis::start().await;
    for payload in ["1", "2", "3", "4"] {
        redis.enqueue(payload).await;
    }
    let done = redis.twice("complete", &completed(redis.reserve().await, r#"{"ok":true}"#)).await;
    assert!(without_times(&done).starts_with("done"));
    let abandoned =
        redis.twice("abandon", &settle(&redis.reserve().await, &["lunch", "60000", "0", "0", "-1", ""])).await;
    assert_eq!(without_times(&abandoned), "done,delayed");
    let failed = redis.twice("fail", &settle(&redis.reserve().await, &["boom", "0"])).await;
    assert_eq!(without_times(&failed), "done,waiting");
    let held = redis.reserve().await;
    redis
        .queues
        .run_view("abandon", &queue(), &settle(&held, &["", "0", "0", "0", "-1", ""]))
        .await
        .expect("abandoned");
    let other = redis.reserve().await;
    assert_eq!(other.job, held.job);
    let lost = redis.twice("complete", &completed(held, "42")).await;
    assert_eq!(without_times(&lost), "lost,abandoned,reserved");
}

/// What the list of actions keeps of a call.
const NOTE: &str = r#"{"action":"test","by":"ops"}"#;

#[tokio::test]
async fn repeated_operator_call_changes_nothing() {
    let redis = Redis::start().await;
    let id = redis.enqueue("1").await;
    let mut priority = Args::default();
    priority.push(id.code.as_str()).number(7);
    redis.twice("reprioritize", &priority).await;
    let mut one = Args::default();
    one.push("job").push(id.code.as_str()).push("ops").push(NOTE);
    redis.reserve().await;
    let released = redis.queues.run_view("release", &queue(), &one).await.expect("released");
    assert_eq!(without_times(&released), "released,1,0");
    let again = redis.twice("release", &one).await;
    assert_eq!(without_times(&again), "released,0,0");
    let mut cancel = Args::default();
    cancel.push(id.code.as_str()).number(0).push("ops").push(NOTE);
    assert_eq!(without_times(&redis.twice("cancel", &cancel).await), "cancelled");
    redis.twice("sweep", &Args::default()).await;
    let mut purge = Args::default();
    for arg in ["cancelled", "", "", "", "", "", "", "ops", NOTE] {
        purge.push(arg);
    }
    redis.queues.run_view("purge", &queue(), &purge).await.expect("purged");
    redis.twice("purge", &purge).await;
}

#[tokio::test]
async fn layout_that_no_step_leads_from_is_refused() {
    let redis = Redis::start().await;
    assert!(redis.queues.migrate(&STEPS, false).await.expect("current").is_empty(), "there is nothing left to do");
    for (found, words) in [(99, "run a newer intray"), (1, "run `intray migrate` of an older intray")] {
        redis.queues.parts.runner.link.plain(redis::cmd("SET").arg("t:layout").arg(found)).await.expect("stored");
        for refused in [redis.queues.settle_layout().await.err(), redis.queues.migrate(&STEPS, false).await.err()] {
            let refused = refused.expect("a refusal").to_string();
            assert!(refused.contains(words) && refused.contains(&found.to_string()), "{refused}");
        }
    }
}
