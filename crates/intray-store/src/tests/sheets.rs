//! Day sheets: what removes lines while events are not counted yet.

use super::{Redis, queue, server::ask_for};
use crate::{SheetChange, job::Name};

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

#[tokio::test]
async fn lines_stay_while_an_uncounted_event_names_their_worker() {
    let redis = Redis::start().await;
    redis.enqueue("1").await;
    let counted = redis.queues.last_event(&queue()).await.expect("a position");
    let cursor = |version: u32| format!("{counted} {version} 0");
    let key = format!("t:{{{}}}:2:cursors", queue().as_str());
    let mut begin = redis::cmd("HSET");
    begin.arg(&key).arg("t:").arg(cursor(1));
    redis.queues.parts.runner.link.plain(&begin).await.expect("a cursor");
    let erase = async |worker: &str, version: u32| {
        let fields = vec![("line".to_owned(), Vec::new())];
        let change = SheetChange { read: cursor(version), reached: cursor(version + 1), fields };
        redis.queues.erase(&queue(), Some(&name(worker)), &change).await.expect("an answer")
    };
    assert!(erase("ann", 1).await, "nothing has happened since");
    assert!(!erase("ann", 1).await, "the sheets have changed");
    redis.queues.reserve(ask_for(Some(name("ann")), 1)).await.expect("a job");
    assert!(!erase("ann", 2).await, "she has taken a job");
    assert!(erase("an", 2).await && erase("anna", 3).await, "others have not");
    let change = SheetChange { read: cursor(4), reached: cursor(5), fields: Vec::new() };
    assert!(redis.queues.erase(&queue(), None, &change).await.expect("an answer"), "days go anyway");
}
