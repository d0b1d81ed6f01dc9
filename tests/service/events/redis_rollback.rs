//! Readers whose cursor is ahead of the stream, because Redis came back with older data or none.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{
    World,
    http::{Listener, Message},
};

/// The next message other than a heartbeat, within ten seconds: these tests are about silence.
async fn next(listener: &mut Listener) -> Message {
    let heard = tokio::time::timeout(Duration::from_secs(10), listener.next_event()).await;
    heard.expect("the stream is silent").expect("the stream is open")
}

fn jobs(messages: &[Message]) -> Vec<Value> {
    messages.iter().map(|message| message.data["job"].clone()).collect()
}

#[tokio::test]
async fn cursor_ahead_of_the_stream_gets_a_gap_then_kept_events() {
    let w = World::start().await;
    let there = [w.enqueue(1).await, w.enqueue(2).await];
    let mut listener = w.listen_after("", "default@99999999999999-7-4294967295").await;
    let gap = next(&mut listener).await;
    assert_eq!((gap.kind.as_str(), &gap.data), ("gap", &json!({ "queue": "default" })));
    let heard = [next(&mut listener).await, next(&mut listener).await];
    assert_eq!(jobs(&heard), there.each_ref().map(|id| json!(id)), "what is kept");
    // The id of the gap is a valid cursor, so a reader that is cut there continues without another gap.
    let again = next(&mut w.listen_after("", &gap.id).await).await;
    assert_eq!(jobs(&[again]), [json!(there[0])]);
    let new = w.enqueue(3).await;
    assert_eq!(jobs(&[next(&mut listener).await]), [json!(new)]);
    w.check().await;
}

/// Also with a clock that went back, so that new events have older ids than the lost ones.
#[tokio::test]
async fn stream_continues_after_redis_lost_all_data() {
    for back in [0, 3_600_000] {
        let w = World::start().await;
        let layout: String = w.engine.run("GET intray:layout").await;
        let (mut one, mut other) = (w.listen("").await, w.listen("?queue=default,more").await);
        w.enqueue("lost").await;
        for listener in [&mut one, &mut other] {
            assert_eq!(next(listener).await.kind, "enqueued");
        }
        w.engine.clock.advance(-back);
        let _: String = w.engine.run("FLUSHALL").await;
        let _: String = w.engine.run(&format!("SET intray:layout {layout}")).await;
        let _: u64 = w.engine.run("ZADD intray:2:queues 1 default").await;
        let new = [w.enqueue("new").await, w.enqueue("newer").await];
        for listener in [&mut one, &mut other] {
            let gap = next(listener).await;
            assert_eq!((gap.kind.as_str(), &gap.data), ("gap", &json!({ "queue": "default" })), "back {back} ms");
            let heard = [next(listener).await, next(listener).await];
            assert_eq!(jobs(&heard), new.each_ref().map(|id| json!(id)), "back {back} ms");
        }
        let held = w.reserve().await;
        assert_eq!(next(&mut one).await.data["job"], held.id.as_str());
        w.check().await;
    }
}
