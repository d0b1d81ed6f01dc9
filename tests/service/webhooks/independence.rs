//! Webhooks and queues do not wait for each other, and a queue that a webhook is no longer for gets nothing sent.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    webhooks::line,
    world::{
        Took, World, eventually,
        receiver::{Reaction, Receiver},
    },
};

/// Deliveries to a webhook that are in flight at the same time, as `docs/webhooks.md` says.
const IN_FLIGHT: usize = 8;

async fn enqueue(w: &World, queue: &str) -> String {
    w.enqueue_with(json!({ "queue": queue, "payload": 1, "dedupe": false })).await
}

fn jobs_of(receiver: &Receiver) -> BTreeSet<String> {
    receiver.posted().iter().map(|posted| posted.job().to_owned()).collect()
}

#[tokio::test]
async fn silent_receiver_has_eight_in_flight_and_delays_no_other_webhook() {
    let (silent, well) = (Receiver::start().await, Receiver::start().await);
    silent.react(|_| Reaction::Silence);
    let lines = [line("silent", &silent, "*", "enqueued"), line("well", &well, "*", "enqueued")];
    let w = World::plan().with_webhooks(lines).start().await;
    let mut ids = BTreeSet::new();
    for n in 0..60 {
        ids.insert(enqueue(&w, ["texts", "images", "sounds"][n % 3]).await);
    }
    eventually("the other has all", async || (jobs_of(&well) == ids).then_some(())).await;
    silent.wait_for(IN_FLIGHT).await;
    assert_eq!((silent.posted().len(), well.posted().len()), (IN_FLIGHT, ids.len()));
}

#[tokio::test]
async fn silence_about_one_queue_leaves_the_slots_of_others() {
    let receiver = Receiver::start().await;
    receiver.react(|posted| match posted.body["data"]["queue"] == "texts" {
        true => Reaction::Silence,
        false => Reaction::Status(204),
    });
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "enqueued")]).start().await;
    let mut ids = BTreeSet::new();
    for _ in 0..IN_FLIGHT - 1 {
        ids.insert(enqueue(&w, "texts").await);
    }
    receiver.wait_for(IN_FLIGHT - 1).await;
    for n in 0..20 {
        ids.insert(enqueue(&w, ["images", "sounds"][n % 2]).await);
    }
    eventually("all were sent", async || (jobs_of(&receiver) == ids).then_some(())).await;
}

/// Several in a row take less than the pause between two checks of a queue, because each event is heard of.
#[tokio::test]
async fn event_is_delivered_before_the_next_check_of_its_queue() {
    const CHECK_EVERY: Duration = Duration::from_secs(10);
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "enqueued")]).start().await;
    enqueue(&w, "texts").await;
    receiver.wait_for(1).await;
    let since = Instant::now();
    for n in 2..=5 {
        enqueue(&w, "texts").await;
        receiver.wait_for(n).await;
    }
    Took::since(since).assert_within(CHECK_EVERY, "four deliveries");
}

async fn waiting(w: &World) -> Vec<Value> {
    let page = w.get("/webhooks/shop/deliveries?queue=texts&state=waiting").await.is(200);
    page["deliveries"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn queue_that_is_matched_no_longer_rests_until_it_is_again() {
    let receiver = Receiver::start().await;
    let lines = [line("shop", &receiver, "*", "enqueued")];
    let w = World::plan().own_process().with_webhooks(lines).start().await;
    w.stop_clock();
    receiver.react(|_| Reaction::Status(500));
    let resting = enqueue(&w, "texts").await;
    let delivery =
        eventually("it is put off", async || waiting(&w).await.pop().filter(|delivery| delivery["attempts"] == 1))
            .await;
    receiver.react(|_| Reaction::Status(204));
    let change = async |queues: &str| {
        std::fs::write(w.folder().join("webhooks"), line("shop", &receiver, queues, "enqueued")).expect("written");
        let hook = async || w.get("/webhooks").await.is(200)["webhooks"][0]["queues"].clone();
        eventually("the new line counts", async || (hook().await == queues).then_some(())).await;
    };
    change("images*").await;
    w.advance_clock(10_000);
    let one = json!({ "queue": "texts", "webhook_id": delivery["webhook_id"] });
    w.post("/webhooks/shop/redeliver", one).await.is(200);
    // The new line is in use when this one arrives.
    let other = enqueue(&w, "images").await;
    eventually("it arrives", async || jobs_of(&receiver).contains(&other).then_some(())).await;
    assert_eq!((receiver.posted().len(), waiting(&w).await.len()), (2, 1), "the queue rests");
    change("*").await;
    let posted = receiver.wait_for(3).await;
    assert_eq!((posted[2].job(), &posted[2].id), (resting.as_str(), &posted[0].id), "{posted:?}");
}
