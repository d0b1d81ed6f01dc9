//! Calls that are sent twice, because the first answer was lost: one effect, the same answer.

use serde_json::{Value, json};

use crate::world::{Answer, Client, Fault, World, assert_contains, batch_verbs::known, id_of};

pub(super) async fn keyed(w: &World, path: &str, key: &str, body: Value) -> Answer {
    w.request("POST", path).header("idempotency-key", key).json(body.to_string()).send().await
}

#[tokio::test]
async fn enqueue_idempotency_key_lasts_as_long_as_the_job() {
    let w = World::start().await;
    w.update_settings(json!({ "retention_ms": 10_000 })).await;
    let body = || json!({ "payload": 1, "dedupe": false });
    let first = keyed(&w, "/jobs", "k", body()).await;
    let body_of_first = first.is(201);
    let id = id_of(&body_of_first);
    let again = keyed(&w, "/jobs", "k", body()).await;
    assert_eq!((again.is(201), again.header("location")), (body_of_first, first.header("location")), "the same answer");
    assert_eq!(id_of(&keyed(&w, "/jobs", "\"k\"", body()).await.is(201)), id, "quoted or bare");
    assert_eq!(w.queue().await["totals"]["enqueued"], 1);

    let held = w.reserve().await;
    assert_eq!(id_of(&keyed(&w, "/jobs", "k", body()).await.is(201)), id);
    w.complete(&held).await.is(200);
    assert_eq!(id_of(&keyed(&w, "/jobs", "k", body()).await.is(201)), id, "an ended job is remembered too");
    assert_eq!(w.empty_reason(json!({})).await, "empty");
    w.advance_clock(10_000);
    w.sweep().await;
    keyed(&w, "/jobs", "k", body()).await.is(201);
    assert_eq!(w.queue().await["totals"]["enqueued"], 2, "a forgotten one is made again");
    w.check().await;
}

#[tokio::test]
async fn idempotency_key_with_another_body_is_refused() {
    let w = World::start().await;
    keyed(&w, "/jobs", "k", json!({ "payload": 1 })).await.is(201);
    for other in
        [json!({ "payload": 2 }), json!({ "payload": 1, "priority": 3 }), json!({ "payload": 1, "client": "c" })]
    {
        let refusal = keyed(&w, "/jobs", "k", other).await;
        assert_eq!((refusal.status, refusal.refused("idempotency-key-reused")["status"].clone()), (422, json!(422)));
    }
    keyed(&w, "/jobs", "another", json!({ "payload": 2 })).await.is(201);
    keyed(&w, "/jobs", "k", json!({ "payload": 1, "queue": "other" })).await.is(201);
    assert_eq!(w.queue().await["totals"]["enqueued"], 2);
    w.check().await;
}

#[tokio::test]
async fn idempotency_key_ignores_how_json_is_spelled() {
    let w = World::start().await;
    let send = |path: &'static str, body: &'static str| {
        w.request("POST", path).header("idempotency-key", "k").json(body.to_owned()).send()
    };
    for (path, first, again, other) in [
        (
            "/jobs",
            r#"{"payload":{"a":1,"b":"ü/"}}"#,
            r#"{ "payload": {"b": "\u00FC\/", "a": 1} }"#,
            r#"{"payload":{"a":1.0,"b":"ü/"}}"#,
        ),
        (
            "/jobs",
            r#"[{"queue":"list","payload":1}]"#,
            "[ {\"payload\" : 1, \"queue\": \"l\\u0069st\"}\n]",
            r#"[{"queue":"list","payload":2}]"#,
        ),
        (
            "/batches",
            r#"{"queue":"b","jobs":[{"payload":"é"}]}"#,
            r#"{"jobs": [{"payload": "\u00e9"}], "queue": "b"}"#,
            r#"{"queue":"b","jobs":[{"payload":"e"}]}"#,
        ),
    ] {
        let made = send(path, first).await;
        assert!(made.status < 300, "{path} {first}: {}", made.status);
        let repeated = send(path, again).await;
        let expected = if path == "/batches" { known(made.json()) } else { made.json() };
        assert_eq!((repeated.status, repeated.json()), (made.status, expected), "{path} {again}");
        send(path, other).await.refused("idempotency-key-reused");
    }
    let line = |text: &'static str| {
        let request = w.request("POST", "/jobs?answers=all").header("idempotency-key", "lines");
        request.header("content-type", "application/x-ndjson").body(text.to_owned()).send()
    };
    let (first, again) = (
        line(r#"{"queue":"lines","payload":{"a":1}}"#).await,
        line(r#"{ "payload": {"a": 1}, "queue": "lines" }"#).await,
    );
    let jobs = [&first, &again].map(|answer| answer.text().lines().next().expect("a line").to_owned());
    assert_eq!(jobs[0], jobs[1]);
    let counts = [&first, &again].map(|answer| answer.text().contains(r#""created":1,"known":0"#));
    assert_eq!((first.status, again.status, counts), (200, 200, [true, false]));
    assert!(!line(r#"{"queue":"lines","payload":{"a":2}}"#).await.text().contains("\"id\""));
    w.check().await;
}

#[tokio::test]
async fn repeated_duplicate_keeps_its_answer_after_completion() {
    let w = World::start().await;
    let twin = w.enqueue(1).await;
    let first = keyed(&w, "/jobs", "k", json!({ "payload": 1 })).await.is(200);
    assert_eq!(first, json!({ "id": twin, "queue": "default", "state": "waiting", "duplicate": true, "differs": [] }));
    w.complete(&w.reserve().await).await.is(200);
    let again = keyed(&w, "/jobs", "k", json!({ "payload": 1 })).await.is(200);
    assert_eq!((&again["id"], &again["duplicate"]), (&json!(twin), &json!(true)));
    keyed(&w, "/jobs", "k", json!({ "payload": 2 })).await.refused("idempotency-key-reused");
    for state in ["completed", "waiting", "cancelled"] {
        assert_eq!(w.list_ids(state).await.len(), usize::from(state == "completed"), "a stub is in no list");
    }
    assert_contains(&w.queue().await["counts"], json!({ "completed": 1, "waiting": 0 }));
    w.check().await;
}

#[tokio::test]
async fn repeated_array_returns_the_same_items() {
    let w = World::start().await;
    let body = json!([{ "payload": 1, "dedupe": false }, { "payload": 1, "dedupe": false }, { "payload": 2, "queue": "other" }, { "priority": 1 }]);
    let first = keyed(&w, "/jobs", "k", body.clone()).await.is(200);
    assert_ne!(first["jobs"][0]["id"], first["jobs"][1]["id"]);
    assert_eq!(keyed(&w, "/jobs", "k", body).await.is(200), first);
    assert_eq!(w.queue().await["totals"]["enqueued"], 2);
    w.check().await;
}

#[tokio::test]
async fn changed_array_under_a_used_key_stores_nothing() {
    let w = World::start().await;
    let job = |n: u64| json!({ "payload": n, "dedupe": false });
    let elsewhere = |n: u64| json!({ "payload": n, "dedupe": false, "queue": "other" });
    let body = json!([job(0), job(1), elsewhere(2)]);
    let first = keyed(&w, "/jobs", "k", body.clone()).await.is(200);
    let others = [
        json!([job(0), job(1), elsewhere(2), job(3)]),
        json!([job(0), job(1), job(7), job(8)]),
        json!([elsewhere(0), elsewhere(1), elsewhere(2)]),
        json!([{ "priority": "of no payload" }, 3, job(9)]),
        json!([job(0)]),
        // One of many in many queues is of the call before.
        (0..700)
            .map(|n| if n == 1 { job(n) } else { json!({ "payload": n, "queue": format!("q{}", n % 20) }) })
            .collect(),
    ];
    for other in others {
        let refusal = keyed(&w, "/jobs", "k", other.clone()).await;
        assert_eq!(refusal.status, 422, "{}", refusal.text());
        refusal.refused("idempotency-key-reused");
    }
    let queues = w.get("/queues").await.is(200);
    let names: Vec<_> =
        queues["queues"].as_array().expect("queues").iter().map(|queue| queue["name"].clone()).collect();
    assert_eq!(names, ["default", "other"], "no queue came into being by what was refused");
    assert_contains(&queues["queues"][0], json!({ "totals": { "enqueued": 2 } }));
    assert_contains(&queues["queues"][1], json!({ "totals": { "enqueued": 1 } }));
    assert_eq!(keyed(&w, "/jobs", "k", body).await.is(200), first, "the call itself may be repeated");
    w.check().await;
}

#[tokio::test]
async fn repeated_array_adds_items_that_failed_before() {
    let w = World::start().await;
    let body: Value = (0..4).map(|n| json!({ "payload": n, "dedupe": false })).collect();
    w.update_settings(json!({ "max_jobs": 2 })).await;
    let cut = keyed(&w, "/jobs", "k", body.clone()).await.is(200);
    assert_eq!(cut["jobs"][3]["error"]["status"], 429, "{cut}");
    w.update_settings(json!({ "max_jobs": 0 })).await;
    keyed(&w, "/jobs", "k", json!([{ "payload": 9 }])).await.refused("idempotency-key-reused");
    let whole = keyed(&w, "/jobs", "k", body.clone()).await.is(200);
    assert_eq!((&whole["jobs"][0], &whole["jobs"][1]), (&cut["jobs"][0], &cut["jobs"][1]), "these it had");
    assert_eq!(w.queue().await["totals"]["enqueued"], 4);
    assert_eq!(keyed(&w, "/jobs", "k", body).await.is(200), whole);
    w.check().await;
}

#[tokio::test]
async fn racing_arrays_under_one_key_store_each_index_once() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    for turn in 0..10 {
        let body = |from: u64| (from..from + 30).map(|n| json!({ "payload": n, "dedupe": false })).collect::<Value>();
        let key = format!("turn {turn}");
        let send = async |client: &Client, from: u64| {
            let request = client.request("POST", "/jobs").header("idempotency-key", &key);
            request.json(body(from).to_string()).send().await
        };
        let (one, two) = tokio::join!(send(&w, 0), send(&other, 100));
        let stored = |answer: &Answer| match answer.status {
            200 => answer.json()["jobs"].as_array().expect("jobs").iter().map(|job| job["id"].is_string()).collect(),
            _ => vec![false; 30],
        };
        for (index, (one, two)) in stored(&one).into_iter().zip(stored(&two)).enumerate() {
            assert!(one != two, "{index} was stored for both or for neither");
        }
    }
    assert_eq!(w.queue().await["totals"]["enqueued"], 300);
    w.check().await;
}

#[tokio::test]
async fn repeated_reserve_with_a_key_returns_the_same_jobs() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let ids = w.enqueue_many((0..5).map(|n| json!({ "payload": n }))).await;
    let body = || json!({ "worker": "ann", "limit": 2 });
    let first = keyed(&w, "/jobs/reserve", "k", body()).await.is(200);
    let again = keyed(&w, "/jobs/reserve", "k", body()).await.is(200);
    for (n, job) in first["jobs"].as_array().expect("jobs").iter().enumerate() {
        let same = again["jobs"]
            .as_array()
            .expect("jobs")
            .iter()
            .find(|other| other["id"] == job["id"])
            .expect("the same job");
        assert_eq!((&same["reservation"], &same["resumes"]), (&job["reservation"], &json!(0)), "{n}");
    }
    assert_eq!((first["jobs"].as_array().map(Vec::len), again["jobs"].as_array().map(Vec::len)), (Some(2), Some(2)));
    assert_contains(&w.job(&ids[0]).await, json!({ "counts": { "handed_out": 1 } }));
    assert_eq!(w.events_of(&ids[0]).await, ["enqueued", "reserved"]);
    let other = keyed(&w, "/jobs/reserve", "k2", body()).await.is(200);
    assert_eq!(other["jobs"].as_array().expect("jobs").len(), 2);
    assert!(
        other["jobs"].as_array().expect("jobs").iter().all(|job| job["resumed"] == false),
        "another key is another call"
    );
    let bob = keyed(&w, "/jobs/reserve", "k", json!({ "worker": "bob" })).await.is(200);
    assert_eq!(bob["jobs"][0]["id"], ids[4], "a key is its worker's");
    keyed(&w, "/jobs/reserve", "k", json!({})).await.refused("invalid-request");
    w.check().await;
}

#[tokio::test]
async fn reserve_key_is_reusable_after_its_leases_expire() {
    let w = World::start().await;
    w.enqueue(1).await;
    let first = keyed(&w, "/jobs/reserve", "k", json!({ "worker": "ann" })).await.is(200);
    w.advance_clock(300_000);
    let second = keyed(&w, "/jobs/reserve", "k", json!({ "worker": "ann" })).await.is(200);
    assert_eq!(first["jobs"][0]["id"], second["jobs"][0]["id"]);
    assert_ne!(first["jobs"][0]["reservation"], second["jobs"][0]["reservation"]);
    w.check().await;
}

#[tokio::test]
async fn repeated_call_returns_a_lost_answer() {
    let w = World::plan().with_proxy().start().await;
    let lost = async |path: &str, body: Value| {
        for _ in 0..6 {
            w.get("/queues").await.is(200);
        }
        // The form of the queue was read a moment ago, so the reply that is lost is not that of its read.
        let unknown = "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ.7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
        w.post("/jobs/complete", json!({ "reservation": unknown })).await.unknown_reservation();
        w.proxy().set_fault(Fault::DropReplies);
        let answer = keyed(&w, path, "k", body.clone()).await;
        w.proxy().set_fault(Fault::None);
        w.proxy().cut_connections();
        assert_contains(&answer.refused("unavailable"), json!({ "status": 503, "applied": "unknown" }));
        let mut in_a_row = 0;
        crate::world::eventually("Redis is found again", async || {
            in_a_row = if w.get("/queues").await.status == 200 { in_a_row + 1 } else { 0 };
            (in_a_row > 8).then_some(())
        })
        .await;
        keyed(&w, path, "k", body).await
    };
    w.enqueue("other").await;
    // Redis knows the scripts: a reply that is lost is the one that matters.
    w.complete(&w.reserve().await).await.is(200);
    let id = id_of(&lost("/jobs", json!({ "payload": 1, "priority": 0 })).await.is(201));
    let answer = lost("/jobs/reserve", json!({ "worker": "ann" })).await.is(200);
    assert_eq!(answer["jobs"][0]["id"], id);
    let reservation = answer["jobs"][0]["reservation"].clone();
    let done = lost("/jobs/complete", json!({ "reservation": reservation, "result": 1 })).await.is(200);
    assert_eq!(done["duplicate"], true, "it had an effect, once");
    assert_contains(&w.queue().await["totals"], json!({ "enqueued": 2, "handed_out": 2, "completed": 2 }));
    w.check().await;
}
