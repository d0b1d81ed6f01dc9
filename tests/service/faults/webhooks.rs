//! The same faults for webhooks: each end is delivered, under one id however often.

use std::collections::BTreeSet;

use intray::{
    job::{Millis, Name, QueueName},
    store::{Actor, DeliveryHead, DeliveryId, Forward, Posted, Queues, Sent},
};
use serde_json::json;

use super::background::FATES;
use crate::{
    webhooks::line,
    world::{World, eventually, receiver::Receiver},
};

/// The transitions tested in this file.
pub const COVERED: [&str; 6] = ["collect", "discard", "forward", "posted", "redeliver", "webhooks"];
/// Longer than a delivery is held by an instance that has lost the answer.
const COLLECTED_MS: u64 = 61_000;

/// The first call of a script meets each fault, while an end is on its way to the receiver.
async fn deliver_with_faults(script: &str) {
    let receiver = Receiver::start().await;
    let lines = [line("shop", &receiver, "*", "completed")];
    let w = World::plan().with_proxy().with_webhooks(lines).start().await;
    for (n, fate) in FATES.into_iter().enumerate() {
        let q = format!("q{n}");
        let id = w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        let held = w.reserve_with(json!({ "queues": [q] })).await;
        w.proxy().inject(script, 1, fate);
        w.complete(&held).await.is(200);
        eventually("the call meets it", async || (w.proxy().injected_calls() == 1).then_some(())).await;
        eventually("it is delivered", async || {
            w.advance_clock(COLLECTED_MS);
            let again = w.post("/webhooks/shop/redeliver", json!({ "queue": q })).await;
            let page = w.get(&format!("/webhooks/shop/deliveries?queue={q}")).await;
            let is_taken = again.status == 200 && page.status == 200 && page.json()["deliveries"] == json!([]);
            (is_taken && receiver.posted().iter().any(|posted| posted.job() == id)).then_some(())
        })
        .await;
        let ids: BTreeSet<_> =
            receiver.posted().into_iter().filter(|posted| posted.job() == id).map(|posted| posted.id).collect();
        assert_eq!(ids.len(), 1, "{fate:?}");
    }
    w.check().await;
}

#[tokio::test]
async fn forward_survives_every_fault() {
    deliver_with_faults("forward").await;
}

#[tokio::test]
async fn collect_survives_every_fault() {
    deliver_with_faults("collect").await;
}

#[tokio::test]
async fn posted_survives_every_fault() {
    deliver_with_faults("posted").await;
}

/// A delivery that has failed for good, of a webhook without an instance.
async fn failed(handle: &Queues, queue: &QueueName, webhook: &Name) {
    let (kind, subject) = ("job.completed".to_owned(), "q-0".to_owned());
    let head = DeliveryHead { attempts: 0, status: None, kind, subject, error: String::new() };
    let id = DeliveryId::new(Millis(7), &[1; 32]);
    let deliveries = vec![(id, head, b"{}".to_vec())];
    let step = Forward { read: None, reached: "1-0-0".to_owned(), deliveries };
    handle.forward(queue, webhook, &step).await.expect("forwarded");
    let due = handle.collect(queue, webhook, 1, 0).await.expect("collected").due.remove(0);
    let posted = Posted { id: due.id, head: due.head, sent: Sent::Failed };
    handle.posted(queue, webhook, &[posted]).await.expect("failed");
}

#[tokio::test]
async fn redeliver_and_discard_survive_every_fault() {
    let w = World::plan().with_proxy().start().await;
    let handle = Queues::new(w.proxy().url(), "intray").expect("a handle");
    let webhook = Name::parse("shop").expect("a name");
    for (n, fate) in FATES.into_iter().enumerate() {
        let q = format!("q{n}");
        w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        let queue = QueueName::parse(&q).expect("a name");
        failed(&handle, &queue, &webhook).await;
        w.proxy().inject("redeliver", 1, fate);
        let result = handle.redeliver(&queue, &webhook, None, &Actor::default()).await;
        assert!(result.is_err() || w.engine.is_cluster(), "{fate:?}: {result:?}");
        eventually("the next call does it", async || {
            handle.redeliver(&queue, &webhook, None, &Actor::default()).await.ok()
        })
        .await;
        let state = eventually("it can be read", async || handle.outbox(&queue).await.ok()).await.remove(0);
        assert_eq!((state.waiting, state.failed), (1, 0), "{fate:?}");
        w.proxy().inject("discard", 1, fate);
        let result = handle.discard(&queue, &webhook).await;
        assert!(result.is_err() || w.engine.is_cluster(), "{fate:?}: {result:?}");
        eventually("the next call does it", async || handle.discard(&queue, &webhook).await.ok()).await;
        let states = eventually("it can be read", async || handle.outbox(&queue).await.ok()).await;
        assert!(states.is_empty(), "{fate:?}: {states:?}");
    }
    w.check().await;
}

#[tokio::test]
async fn webhooks_survives_every_fault() {
    let w = World::plan().with_proxy().start().await;
    let handle = Queues::new(w.proxy().url(), "intray").expect("a handle");
    for (n, fate) in FATES.into_iter().enumerate() {
        let webhook = Name::parse(&format!("shop{n}")).expect("a name");
        w.proxy().inject("webhooks", 1, fate);
        let result = handle.name_webhooks(std::iter::once((&webhook, "*"))).await;
        assert!(result.is_err() || w.engine.is_cluster(), "{fate:?}: {result:?}");
        let known = async || handle.name_webhooks(std::iter::once((&webhook, "*"))).await.ok();
        let first = eventually("the next call does it", known).await;
        let since = |known: &[intray::store::KnownWebhook]| {
            known.iter().find(|known| known.name == webhook).map(|known| known.since)
        };
        w.advance_clock(60_000);
        let later = eventually("it is known", known).await;
        assert!(since(&first).is_some() && since(&first) == since(&later), "{fate:?}");
    }
}
