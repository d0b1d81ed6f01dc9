//! Calls over queues of several nodes, while one of the nodes is away: the others answer, and it is said who does not.

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

use crate::world::{Answer, Client, World, assert_contains, eventually};

/// What the contract promises, and a little for a machine that is busy with other stories.
const PROMISED: Duration = Duration::from_millis(2_500);

fn query(queues: &[String]) -> String {
    queues.iter().map(|queue| format!("queue={queue}")).collect::<Vec<_>>().join("&")
}

/// As soon as it is known who is away, nobody waits for them. A look leaves nothing behind that is done later.
async fn known_to_be_away(w: &World, queue: &str) {
    w.get(&format!("/queues/{queue}")).await.refused("unavailable");
}

/// The answer, which names just this one as unavailable, in time.
async fn names(queue: &str, call: impl Future<Output = Answer>) -> Value {
    let begin = Instant::now();
    let answer = call.await.is(200);
    assert!(begin.elapsed() < PROMISED, "{:?}", begin.elapsed());
    assert_eq!(answer["unavailable"], json!([queue]), "{answer}");
    answer
}

/// Where a reader of a stream was who went, and the job in the second queue that they have not heard of.
struct Left {
    all: String,
    id: String,
    missed: String,
}

async fn left(w: &World, queues: &[String]) -> Left {
    let all = format!("?{}", query(queues));
    w.enqueue_many(queues.iter().map(|queue| json!({ "queue": queue, "payload": 1 }))).await;
    let mut reader = w.listen(&all).await;
    assert_eq!(reader.next().await.expect("a message").kind, "heartbeat");
    let id = reader.last_id.clone();
    let missed = w.enqueue_with(json!({ "queue": queues[1], "payload": 2 })).await;
    // The instance has read it: whoever comes anew later is not told of it.
    assert_contains(&reader.read_events(1).await[0], json!({ "type": "enqueued", "job": missed }));
    Left { all, id, missed }
}

#[tokio::test]
async fn whoever_asks_several_queues_is_answered_by_those_that_are_there() {
    let w = World::start_cluster().await;
    let queues = w.queue_of_each_node().await;
    for lost in 0..3 {
        w.enqueue_many(queues.iter().map(|queue| json!({ "queue": queue, "payload": [lost, queue] }))).await;
        let asked = json!({ "queues": queues, "worker": format!("ann {lost}") });
        w.engine.freeze_node(lost);
        for _ in 0..2 {
            let given = names(&queues[lost], w.send_reserve(asked.clone())).await;
            assert_eq!(given["jobs"].as_array().map(Vec::len), Some(1), "{given}");
            assert_ne!(given["jobs"][0]["queue"], json!(queues[lost]));
        }
        let held = names(&queues[lost], w.get(&format!("/workers/ann%20{lost}/reservations?{}", query(&queues)))).await;
        assert_eq!(held["reservations"].as_array().map(Vec::len), Some(1), "{held}");
        let listed = names(&queues[lost], w.get("/queues")).await;
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
            names(&queues[lost], w.send_reserve(json!({ "queues": [there, queues[lost]], "wait_ms": 100 }))).await;
        assert_eq!((&empty["reason"], &empty["jobs"]), (&json!("reserved"), &json!([])), "{empty}");
        w.engine.thaw_node(lost);
        eventually("all are there again", async || {
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

/// Whoever comes back to a queue whose node is away asks again and again whether it is there, and meanwhile the instance may
/// have read what happened last. Of many who ask, some ask later than that.
#[tokio::test]
async fn readers_who_come_back_while_a_node_is_away_are_told_first_what_happened_before_they_came() {
    let w = World::start_cluster().await;
    let queues = w.queue_of_each_node().await;
    let Left { all, id, missed } = left(&w, &queues).await;

    w.engine.freeze_node(1);
    // It waits at the node, and is done as soon as that goes on.
    w.send_enqueue(json!({ "queue": queues[1], "payload": 3 })).await.refused("unavailable");
    known_to_be_away(&w, &queues[1]).await;
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
    let told =
        futures_util::future::join_all(readers.into_iter().map(|mut back| async move { back.read_events(2).await }))
            .await;
    let jobs = w.get(&format!("/queues/{}/jobs", queues[1])).await.is(200);
    let ids: Vec<_> = jobs["jobs"].as_array().expect("jobs").iter().map(|job| job["id"].clone()).collect();
    assert_eq!((ids.len(), &ids[1]), (3, &json!(missed)));
    for told in told {
        assert_eq!(told.iter().map(|event| event["job"].clone()).collect::<Vec<_>>(), ids[1..], "{told:?}");
    }
    w.check().await;
}

#[tokio::test]
async fn a_stream_over_several_queues_names_the_one_that_is_away_and_tells_of_it_when_it_is_back() {
    let w = World::start_cluster().await;
    let queues = w.queue_of_each_node().await;
    let Left { all, id, missed } = left(&w, &queues).await;

    w.engine.freeze_node(1);
    known_to_be_away(&w, &queues[1]).await;
    let (mut anew, mut back) = (w.listen(&all).await, w.listen_after(&all, &id).await);
    for listener in [&mut anew, &mut back] {
        let said = listener.next_event().await.expect("a message");
        assert_eq!((said.kind.as_str(), &said.data), ("unavailable", &json!({ "queue": queues[1] })));
    }
    let there = w.enqueue_with(json!({ "queue": queues[2], "payload": 2 })).await;
    for listener in [&mut anew, &mut back] {
        assert_contains(&listener.read_events(1).await[0], json!({ "type": "enqueued", "job": there }));
    }
    w.engine.thaw_node(1);
    assert_contains(&back.read_events(1).await[0], json!({ "type": "enqueued", "job": missed }));
    let later = eventually("it is served again", async || {
        let answer = w.send_enqueue(json!({ "queue": queues[1], "payload": 3 })).await;
        (answer.status == 201).then(|| answer.json()["id"].clone())
    })
    .await;
    for listener in [&mut anew, &mut back] {
        assert_contains(&listener.read_events(1).await[0], json!({ "type": "enqueued", "job": later }));
    }
    w.check().await;
}

/// Jobs, as long as it takes; answers what was acknowledged.
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

/// Their instance begins to follow the queue when the node is back, each of them reads what was before, and in between things happen.
#[tokio::test]
async fn streams_that_were_opened_while_a_node_was_away_miss_nothing_of_what_happens_as_soon_as_it_is_back() {
    const LISTENERS: usize = 12;
    let w = World::start_cluster().await;
    let (_service, other) = w.start_instance().await;
    let queues = w.queue_of_each_node().await;
    let all = format!("?{}", query(&queues));
    let mut before = w.listen(&all).await;
    assert_eq!(before.next().await.expect("a message").kind, "heartbeat");
    w.engine.freeze_node(1);
    known_to_be_away(&w, &queues[1]).await;
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
    // By then each of them has caught up.
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
