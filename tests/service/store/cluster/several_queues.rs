//! Calls over queues on several nodes while one is unavailable: the rest answer and name it.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::world::{Answer, Client, Took, World, assert_contains, cluster::LONG_NODE_TIMEOUT_MS, eventually};

/// The bound of the contract, plus a margin for a machine that runs other tests.
const ANSWER_BOUND: Duration = Duration::from_millis(2_500);

fn query(queues: &[String]) -> String {
    queues.iter().map(|queue| format!("queue={queue}")).collect::<Vec<_>>().join("&")
}

/// Waits until the outage is known: from then on no call waits for that node. A read leaves nothing behind that runs
/// later.
async fn wait_for_known_outage(w: &World, queue: &str) {
    w.get(&format!("/queues/{queue}")).await.refused("unavailable");
}

/// The answer, which must name only this queue as unavailable, in time.
async fn answer_naming(queue: &str, call: impl Future<Output = Answer>) -> Value {
    let begin = Instant::now();
    let answer = call.await.is(200);
    Took::since(begin).assert_within(ANSWER_BOUND, "the answer");
    assert_eq!(answer["unavailable"], json!([queue]), "{answer}");
    answer
}

/// The cursor of a reader that left, and the jobs in the second queue that it has not received.
struct Departed {
    all: String,
    id: String,
    missed: String,
}

async fn left(w: &World, queues: &[String]) -> Departed {
    let all = format!("?{}", query(queues));
    w.enqueue_many(queues.iter().map(|queue| json!({ "queue": queue, "payload": 1 }))).await;
    let mut reader = w.listen(&all).await;
    assert_eq!(reader.next().await.expect("a message").kind, "heartbeat");
    let id = reader.last_id.clone();
    let missed = w.enqueue_with(json!({ "queue": queues[1], "payload": 2 })).await;
    // The instance has read the event: a new reader does not receive it.
    assert_contains(&reader.read_events(1).await[0], json!({ "type": "enqueued", "job": missed }));
    Departed { all, id, missed }
}

#[tokio::test]
async fn call_over_several_queues_names_the_unavailable_one() {
    let w = World::plan().with_cluster(LONG_NODE_TIMEOUT_MS).with_default_redis_timeout().own_process().start().await;
    let queues = w.queue_of_each_node().await;
    for lost in 0..3 {
        w.enqueue_many(queues.iter().map(|queue| json!({ "queue": queue, "payload": [lost, queue] }))).await;
        let asked = json!({ "queues": queues, "worker": format!("ann {lost}") });
        w.engine.freeze_node(lost);
        for _ in 0..2 {
            let given = answer_naming(&queues[lost], w.send_reserve(asked.clone())).await;
            assert_eq!(given["jobs"].as_array().map(Vec::len), Some(1), "{given}");
            assert_ne!(given["jobs"][0]["queue"], json!(queues[lost]));
        }
        let held =
            answer_naming(&queues[lost], w.get(&format!("/workers/ann%20{lost}/reservations?{}", query(&queues))))
                .await;
        assert_eq!(held["reservations"].as_array().map(Vec::len), Some(1), "{held}");
        let all = answer_naming(&queues[lost], w.get(&format!("/workers/ann%20{lost}"))).await;
        assert_eq!(all["holds"].as_array().map(Vec::len), Some(1), "{all}");
        let listed = answer_naming(&queues[lost], w.get("/queues")).await;
        assert_eq!(listed["queues"].as_array().map(Vec::len), Some(2), "{listed}");
        let metrics = w.get("/metrics").await.text();
        assert!(
            metrics.contains(&format!("intray_jobs{{queue=\"{}\",state=\"waiting\"}} NaN", queues[lost])),
            "{metrics}"
        );
        w.send_reserve(json!({ "queues": [queues[lost]], "wait_ms": 100 })).await.refused("unavailable");
        let there = &queues[(lost + 1) % 3];
        w.send_reserve(json!({ "queues": [there], "limit": 100 })).await.is(200);
        let empty =
            answer_naming(&queues[lost], w.send_reserve(json!({ "queues": [there, queues[lost]], "wait_ms": 100 })))
                .await;
        assert_eq!((&empty["reason"], &empty["jobs"]), (&json!("reserved"), &json!([])), "{empty}");
        w.engine.thaw_node(lost);
        eventually("every queue is available again", async || {
            let answer = w.send_reserve(asked.clone()).await;
            (answer.status == 200 && answer.json()["unavailable"].is_null()).then_some(())
        })
        .await;
        for queue in &queues {
            let removed = w.delete(&format!("/queues/{queue}?state=all&force=true")).await;
            assert_eq!(removed.status, 200, "{}", removed.text());
        }
    }
    w.check().await;
}

/// A reader that resumes at an unavailable queue retries, and meanwhile the instance may read newer events. Some of
/// many readers retry later than that.
#[tokio::test]
async fn streams_resumed_in_an_outage_get_older_events_first() {
    let w = World::start_cluster_with_default_redis_timeout().await;
    let queues = w.queue_of_each_node().await;
    let Departed { all, id, missed } = left(&w, &queues).await;

    w.engine.freeze_node(1);
    // The call waits at the node, and is applied when the node continues.
    w.send_enqueue(json!({ "queue": queues[1], "payload": 3 })).await.refused("unavailable");
    wait_for_known_outage(&w, &queues[1]).await;
    let come_back = (0..40).map(|n| {
        let (client, all, id) = ((*w).clone(), all.clone(), id.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(60 * n)).await;
            let mut back = client.listen_after(&all, &id).await;
            assert_eq!(back.next_event().await.expect("a message").kind, "unavailable");
            back
        }
    });
    let readers = futures_util::future::join_all(come_back).await;
    w.engine.thaw_node(1);
    let received =
        futures_util::future::join_all(readers.into_iter().map(|mut back| async move { back.read_events(2).await }))
            .await;
    let jobs = w.get(&format!("/queues/{}/jobs", queues[1])).await.is(200);
    let ids: Vec<_> = jobs["jobs"].as_array().expect("jobs").iter().map(|job| job["id"].clone()).collect();
    assert_eq!((ids.len(), &ids[1]), (3, &json!(missed)));
    for received in received {
        assert_eq!(received.iter().map(|event| event["job"].clone()).collect::<Vec<_>>(), ids[1..], "{received:?}");
    }
    w.check().await;
}

#[tokio::test]
async fn stream_names_an_unavailable_queue_and_resumes_it() {
    let w = World::start_cluster_with_default_redis_timeout().await;
    let queues = w.queue_of_each_node().await;
    let Departed { all, id, missed } = left(&w, &queues).await;

    w.engine.freeze_node(1);
    wait_for_known_outage(&w, &queues[1]).await;
    let (mut fresh, mut back) = (w.listen(&all).await, w.listen_after(&all, &id).await);
    for listener in [&mut fresh, &mut back] {
        let message = listener.next_event().await.expect("a message");
        assert_eq!((message.kind.as_str(), &message.data), ("unavailable", &json!({ "queue": queues[1] })));
    }
    let there = w.enqueue_with(json!({ "queue": queues[2], "payload": 2 })).await;
    for listener in [&mut fresh, &mut back] {
        assert_contains(&listener.read_events(1).await[0], json!({ "type": "enqueued", "job": there }));
    }
    w.engine.thaw_node(1);
    assert_contains(&back.read_events(1).await[0], json!({ "type": "enqueued", "job": missed }));
    let later = eventually("the queue is served again", async || {
        let answer = w.send_enqueue(json!({ "queue": queues[1], "payload": 3 })).await;
        (answer.status == 201).then(|| answer.json()["id"].clone())
    })
    .await;
    for listener in [&mut fresh, &mut back] {
        assert_contains(&listener.read_events(1).await[0], json!({ "type": "enqueued", "job": later }));
    }
    w.check().await;
}

/// Enqueues until stopped; returns the acknowledged ids.
async fn put_until(client: Client, queue: String, stop: Arc<AtomicBool>) -> Vec<String> {
    let mut ids = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let answer = client.send_enqueue(json!({ "queue": queue, "payload": ids.len(), "dedupe": false })).await;
        if answer.status == 201 {
            ids.push(answer.json()["id"].to_string());
        }
    }
    ids
}

/// The instance starts to follow the queue when the node is back, each stream reads what was before, and events happen
/// in between.
#[tokio::test]
async fn streams_opened_in_an_outage_miss_nothing_after_it() {
    const LISTENERS: usize = 12;
    let w = World::start_cluster_with_default_redis_timeout().await;
    let (_service, other) = w.start_instance().await;
    let queues = w.queue_of_each_node().await;
    let all = format!("?{}", query(&queues));
    let mut before = w.listen(&all).await;
    assert_eq!(before.next().await.expect("a message").kind, "heartbeat");
    w.engine.freeze_node(1);
    wait_for_known_outage(&w, &queues[1]).await;
    let mut listeners = Vec::new();
    for _ in 0..LISTENERS {
        let mut listener = other.listen_after(&all, &before.last_id).await;
        assert_eq!(listener.next_event().await.expect("a message").kind, "unavailable");
        listeners.push(listener);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let producers: Vec<_> = [&*w, &other, &*w, &other, &other, &other]
        .map(|client| tokio::spawn(put_until(client.clone(), queues[1].clone(), stop.clone())))
        .into_iter()
        .collect();
    w.engine.thaw_node(1);
    // By then every stream has caught up.
    let first = join_all(listeners.iter_mut().map(|listener| listener.read_events(1))).await;
    stop.store(true, Ordering::Relaxed);
    let ids: BTreeSet<_> = join_all(producers).await.into_iter().flat_map(|ids| ids.expect("no panic")).collect();
    let last = w.enqueue_with(json!({ "queue": queues[1], "payload": "last" })).await;
    let last = json!(last).to_string();
    for (listener, first) in listeners.iter_mut().zip(first) {
        let mut heard: BTreeSet<_> = first.iter().map(|event| event["job"].to_string()).collect();
        while !heard.contains(&last) {
            heard.extend(listener.read_events(1).await.iter().map(|event| event["job"].to_string()));
        }
        let missed = ids.iter().filter(|id| !heard.contains(*id)).count();
        assert_eq!(missed, 0, "of {}", ids.len());
    }
    w.check().await;
}
