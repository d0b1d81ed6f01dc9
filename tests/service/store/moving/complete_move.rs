//! A complete move: jobs, reservations and deadlines continue at the target.

use serde_json::{Value, json};

use crate::{
    webhooks::line,
    world::{
        Client, ReservedJob, Service, World, assert_contains, eventually, id_of,
        move_process::{move_queues, move_with_flags},
        percent_encode, program,
        receiver::Receiver,
    },
};

/// A queue with content in every one of its keys.
struct Full {
    held: ReservedJob,
    late: ReservedJob,
    keyed: String,
    batch: String,
    delayed: String,
    done: String,
}

async fn keyed(w: &Client, key: &str, payload: &str) -> Value {
    let body = json!({ "payload": payload }).to_string();
    w.request("POST", "/jobs").header("idempotency-key", key).json(body).send().await.json()
}

impl Full {
    async fn make(w: &World) -> Self {
        w.update_settings(json!({ "max_attempts": 2, "lease_ms": 60_000 })).await;
        let done = w.enqueue("done").await;
        w.complete_with(&w.reserve().await, json!({ "n": 1 })).await.is(200);
        for n in 0..2 {
            w.enqueue(format!("dies {n}")).await;
            w.fail(&w.reserve().await).await.is(200);
            w.fail(&w.reserve().await).await.is(200);
        }
        w.cancel(&w.enqueue("cancelled").await).await.is(200);
        w.enqueue("late").await;
        let late = w.reserve_as("cem").await;
        w.abandon(&late).await.is(200);
        w.complete(&w.reserve_as("dan").await).await.is(200);
        w.enqueue_locked("locked", &["page"]).await;
        let held = w.reserve_as("ann").await;
        w.post("/jobs/extend", json!({ "reservation": held.reservation, "draft": "half a" })).await.is(200);
        w.enqueue_locked("after it", &["page"]).await;
        assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "blocked");
        let keyed = id_of(&keyed(w, "k1", "keyed").await);
        w.enqueue("x".repeat(5_000)).await;
        w.enqueue_with(json!({ "payload": 3, "client": "c" })).await;
        let delayed = w.enqueue_with(json!({ "payload": "later", "delay_ms": 600_000 })).await;
        let batch =
            w.create_batch(json!({ "queue": "default", "jobs": [{ "payload": "b1" }, { "payload": "b2" }] })).await;
        Self { held, late, keyed, batch, delayed, done }
    }
}

#[tokio::test]
async fn move_keeps_reservations_and_idempotency_keys() {
    let (w, there) = (World::start().await, World::start_cluster().await);
    let full = Full::make(&w).await;
    w.enqueue_with(json!({ "queue": "other", "payload": 1 })).await;
    let mut listener = w.listen("?queue=default").await;
    w.enqueue("the last that was heard").await;
    listener.read_events(1).await;
    let before = w.queue().await;
    let page = w.get("/queues/default/jobs?state=dead&limit=1").await.is(200);
    let cursor = percent_encode(page["next"].as_str().expect("a cursor"));
    let rest = w.get(&format!("/queues/default/jobs?state=dead&limit=1&after={cursor}")).await.is(200);
    w.enqueue("event without a listener").await;

    let line = w.list_ids("waiting").await;
    let end = move_queues(&w, &there).await;
    assert!(end.status.success() && end.stdout.contains("2 queues have moved to redis+cluster://"), "{end:?}");

    let after = there.queue().await;
    assert_eq!((&after["settings"], &after["counts"]["dead"]), (&before["settings"], &before["counts"]["dead"]));
    assert_eq!(after["totals"]["completed"], before["totals"]["completed"]);
    let mut resumed = there.listen_after("?queue=default", &listener.last_id).await;
    assert_contains(&resumed.read_events(1).await[0], json!({ "type": "enqueued" }));
    let again = there.get(&format!("/queues/default/jobs?state=dead&limit=1&after={cursor}")).await.is(200);
    assert_eq!(id_of(&again["jobs"][0]), id_of(&rest["jobs"][0]), "a cursor continues");
    there.check().await;

    assert_contains(&there.job(&full.done).await, json!({ "state": "completed", "result": { "n": 1 } }));
    let waiting = there.queue().await["counts"]["waiting"].clone();
    assert_eq!(id_of(&keyed(&there, "k1", "keyed").await), full.keyed);
    assert_eq!(there.queue().await["counts"]["waiting"], waiting, "the dedupe key finds the old job");
    assert_eq!(there.state(&full.delayed).await, "delayed");
    assert_contains(&there.batch(&full.batch).await["counts"], json!({ "waiting": 2, "total": 2 }));
    there.complete(&full.late).await.lost("abandoned", "completed");
    let resumed = there.reserve_as("ann").await;
    assert_contains(&resumed.body, json!({ "id": full.held.id, "draft": "half a", "resumed": true }));
    there.post("/jobs/extend", json!({ "reservation": resumed.reservation, "draft": "half a sentence" })).await.is(200);
    for id in &line {
        assert_eq!(there.reserve().await.id, *id);
    }
    there.complete(&resumed).await.is(200);
    assert_eq!(there.reserve().await.body["payload"], "after it", "the lock is free");
    there.check().await;
}

#[tokio::test]
async fn reservation_from_before_the_move_completes_its_job() {
    let (w, there) = (World::start().await, World::start_cluster().await);
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    assert!(move_queues(&w, &there).await.status.success());
    there.extend(&held).await.is(200);
    there.complete_with(&held, "done").await.is(200);
    assert_contains(&there.job(&id).await, json!({ "state": "completed", "completed": { "worker": "ann" } }));
    there.check().await;
}

#[tokio::test]
async fn source_names_the_target_to_operators_only() {
    let (w, there) = (World::start_process().await, World::start_cluster().await);
    w.enqueue(1).await;
    let held = w.reserve().await;
    for nth in 0..there.engine.node_count() {
        let _: String = there.engine.run_on(nth, "ACL SETUSER mover on >s3cr3t ~intray:* &intray:* +@all").await;
    }
    let place = there.engine.url();
    let url = place.replace("://", "://mover:s3cr3t@");
    let end = move_with_flags(&w.engine.url(), &url, &[]).await;
    assert!(end.status.success(), "{end:?}");

    let says = format!("the queues have moved to {place}");
    let refused = [
        w.send_enqueue(json!({ "payload": 2 })).await,
        w.send_enqueue(json!({ "queue": "new", "payload": 2 })).await,
        w.send_reserve(json!({})).await,
        w.complete(&held).await,
        w.get("/queues/default").await,
        w.get("/queues").await,
        w.get("/queues/default/jobs").await,
        w.get(&format!("/jobs/{}", held.id)).await,
    ];
    for answer in refused {
        let problem = answer.refused("unavailable");
        assert_eq!(problem["applied"], false, "{problem}");
        assert_eq!(problem["detail"], "the queues have moved to another Redis; the call had no effect");
    }
    let ready = w.get("/readyz?verbose").await;
    assert!(ready.status == 503 && ready.text().contains("have moved to another Redis"), "{}", ready.text());
    assert!(!ready.text().contains("redis+cluster://"), "{}", ready.text());
    assert!(w.service.output().contains(&says), "the log names it: {}", w.service.output());
    let started =
        Service::try_start(program(["serve", "--listen", "127.0.0.1:0", "--redis-url", &w.engine.url()])).await;
    let error = started.err().expect("it does not start");
    assert!(error.lines().count() == 1 && error.contains(&says), "{error}");
    let again = move_with_flags(&w.engine.url(), &url, &[]).await;
    assert!(again.status.success() && again.stdout.contains("had already moved"), "{again:?}");
    let elsewhere = World::start_process().await;
    let refused = move_queues(&w, &elsewhere).await;
    assert!(!refused.status.success() && refused.stderr.contains(&says), "{refused:?}");
    for text in [w.service.output(), format!("{end:?}{again:?}{refused:?}"), error] {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
    there.complete(&held).await.is(200);
    there.check().await;
}

/// The clocks of two machines differ; the remaining time of a lease stays.
#[tokio::test]
async fn move_keeps_the_remaining_lease_time() {
    for ahead in [-7_200_000, 7_200_000] {
        let (w, there) = (World::start().await, World::start_cluster().await);
        w.stop_clock();
        there.stop_clock();
        there.engine.clock.stop_at(w.engine.now().await.saturating_add_signed(ahead));
        w.update_settings(json!({ "lease_ms": 60_000 })).await;
        let delayed = w.enqueue_with(json!({ "payload": "later", "delay_ms": 30_000 })).await;
        let id = w.enqueue(1).await;
        let held = w.reserve().await;
        w.advance_clock(10_000);
        let end = move_queues(&w, &there).await;
        assert!(end.status.success(), "{end:?}");
        there.advance_clock(19_000);
        there.sweep().await;
        assert_eq!((there.state(&delayed).await.as_str(), there.state(&id).await.as_str()), ("delayed", "reserved"));
        there.advance_clock(1_000);
        there.sweep().await;
        assert_eq!(there.state(&delayed).await, "waiting");
        there.advance_clock(29_000);
        there.sweep().await;
        assert_eq!(there.state(&id).await, "reserved", "a second before its deadline");
        there.advance_clock(1_000);
        there.sweep().await;
        assert_eq!(there.state(&id).await, "waiting");
        there.complete(&held).await.is(200);
        there.check().await;
    }
}

#[tokio::test]
async fn waiting_deliveries_of_webhooks_are_sent_from_the_target() {
    let mut receiver = Receiver::start().await;
    let shop = || [line("shop", &receiver, "*", "completed")];
    let (w, there) =
        (World::plan().with_webhooks(shop()).start().await, World::plan().with_webhooks(shop()).start().await);
    receiver.go_down().await;
    let id = w.enqueue(1).await;
    w.complete(&w.reserve().await).await.is(200);
    let waiting = async |w: &World| w.get("/webhooks").await.is(200)["webhooks"][0]["waiting"].clone();
    let delivery = eventually("it is put off", async || {
        let page = w.get("/webhooks/shop/deliveries?queue=default").await.is(200);
        page["deliveries"].get(0).filter(|delivery| delivery["attempts"] == 1).cloned()
    })
    .await;
    let end = move_queues(&w, &there).await;
    assert!(end.status.success(), "{end:?}");
    receiver.come_back().await;
    there
        .post("/webhooks/shop/redeliver", json!({ "queue": "default", "webhook_id": delivery["webhook_id"] }))
        .await
        .is(200);
    let posted = receiver.wait_for(1).await.remove(0);
    assert_eq!((json!(posted.id), posted.job()), (delivery["webhook_id"].clone(), id.as_str()));
    eventually("it is taken", async || (waiting(&there).await == 0).then_some(())).await;
    let since: String = there.engine.run("HGET intray:2:webhooks shop").await;
    let before: String = w.engine.run("HGET intray:2:webhooks shop").await;
    assert_eq!(since.split(' ').next(), before.split(' ').next(), "known since it was known first");
}

#[tokio::test]
async fn day_sheets_go_on_at_the_target() {
    let (w, there) = (World::start().await, World::start().await);
    w.update_settings(json!({ "sheets": true, "time_zone": "Asia/Kolkata" })).await;
    let work = async |w: &World| {
        w.enqueue_with(json!({ "payload": 1, "dedupe": false })).await;
        w.complete(&w.reserve_as("ann").await).await.is(200);
    };
    let completed = async |w: &World| {
        let answer = w.get("/queues/default/sheets").await.is(200);
        let lines = answer["lines"].as_array().expect("lines").clone();
        lines.iter().map(|line| line["completed"].as_u64().expect("a number")).sum::<u64>()
    };
    work(&w).await;
    assert_eq!(completed(&w).await, 1);
    // Not counted yet when the queue moves.
    work(&w).await;
    let end = move_queues(&w, &there).await;
    assert!(end.status.success(), "{end:?}");
    assert_eq!(completed(&there).await, 2);
    work(&there).await;
    assert_eq!(completed(&there).await, 3);
    there.check().await;
}

#[tokio::test]
async fn form_moves_with_its_queue() {
    let (w, there) = (World::start().await, World::start_cluster().await);
    let form = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    w.update_settings(json!({ "result_schema": form })).await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    let end = move_queues(&w, &there).await;
    assert!(end.status.success(), "{end:?}");
    assert_eq!(there.queue().await["result_schema"], form);
    there.complete_with(&held, "no object").await.refused("invalid-result");
    there.complete_with(&held, json!({ "n": 1 })).await.is(200);
    there.check().await;
}
