//! Lists in which an item depends on one before it: it is decided as if that one were stored already.

use super::{Redis, completed, job, queue};
use crate::{job::Total, transition::Transition};

#[tokio::test]
async fn call_that_is_twice_in_a_list_is_stored_once() {
    let redis = Redis::start().await;
    redis.enqueue("0").await;
    let done = completed(redis.reserve().await, "1");
    redis.queues.run_view("complete", &queue(), &done).await.expect("completed");
    let mut first = job("1");
    first.fingerprint = Some(*b"12345678");
    let args = first.args();
    assert_eq!(redis.together("enqueue", &[&args, &args]).await, ["stored waiting", "again waiting"]);
    // Equal to the first, by another call: each is answered so, and one alias remembers it.
    let mut twin = job("1");
    twin.fingerprint = Some(*b"87654321");
    let (args, answer) = (twin.args(), format!("twin {} waiting 0", first.id.code.as_str()));
    assert_eq!(redis.together("enqueue", &[&args, &args]).await, [answer.clone(), answer]);
    let info = redis.queues.queue(&queue()).await.expect("stats").expect("a queue");
    assert_eq!((info.counts.waiting, info.counts.completed, info.totals.get(Total::Enqueued)), (1, 1, 2));
}
