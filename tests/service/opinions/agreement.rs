//! What a batch with an overlap says of its answers: which are equal, who gave which, and what the other jobs are.

use serde_json::{Value, json};

use crate::world::{
    Client, World,
    access::{SECRET, key},
    assert_contains,
    batch_verbs::member_id,
    number,
};

const NAMES: [&str; 9] = ["ann", "bob", "cleo", "dan", "eve", "flo", "gus", "hal", "ida"];
const OVERLAP_RESULT_BYTES: usize = 250_000;

async fn ask(w: &Client, overlap: usize, payload: impl Into<Value>) -> String {
    w.create_batch(json!({ "overlap": overlap, "job": { "payload": payload.into() } })).await
}

/// A batch whose jobs are answered with these, each by another worker.
async fn answered(w: &Client, payload: impl Into<Value>, results: &[Value]) -> String {
    let batch = ask(w, results.len(), payload).await;
    for (worker, result) in NAMES.iter().zip(results) {
        w.complete_with(&w.reserve_as(worker).await, result.clone()).await.is(200);
    }
    batch
}

async fn opinions(w: &Client, batch: &str, at: &str) -> Value {
    let answer = w.get(&format!("/batches/{batch}?opinions=true&at={at}")).await.is(200);
    answer["opinions"].clone()
}

async fn divided(w: &Client, limit: usize) -> Vec<Value> {
    let batches = w.pages("/batches?agreement=divided", "batches", limit).await;
    batches.into_iter().map(|batch| batch["id"].clone()).collect()
}

#[tokio::test]
async fn equal_answers_are_counted_together() {
    let w = World::start().await;
    let results = [json!({ "verdict": "spam" }), json!({ "verdict": "fine" }), json!({ "verdict": "fine" })];
    let batch = answered(&w, json!({ "text": "hello" }), &results).await;
    let opinions = opinions(&w, &batch, "").await;
    assert_contains(
        &opinions,
        json!({ "payload": { "text": "hello" }, "agreement": "divided", "differs": ["/verdict"] }),
    );
    let values =
        json!([{ "value": { "verdict": "fine" }, "votes": 2 }, { "value": { "verdict": "spam" }, "votes": 1 }]);
    assert_eq!(opinions["answers"], values);
    for (index, (worker, value)) in [("ann", 1), ("bob", 0), ("cleo", 0)].into_iter().enumerate() {
        let job = json!({ "id": member_id(&batch, index), "state": "completed", "worker": worker, "answer": value, "late": false });
        assert_contains(&opinions["jobs"][index], job);
    }
    let listed = w.get("/batches?opinions=true").await.is(200);
    assert_eq!(listed["batches"][0]["opinions"], opinions);
    assert_eq!(w.get(&format!("/batches/{batch}")).await.is(200)["opinions"], Value::Null, "only if asked for");
    w.check().await;
}

/// Texts, because other spellings of a value are sent as they are.
async fn agreement_of(w: &World, results: [&str; 2]) -> Value {
    let batch = ask(w, 2, 1).await;
    for (worker, result) in NAMES.iter().zip(results) {
        let held = w.reserve_as(worker).await;
        let body = format!(r#"{{"reservation":"{}","result":{result}}}"#, held.reservation);
        w.request("POST", "/jobs/complete").json(body).send().await.is(200);
    }
    opinions(w, &batch, "").await["agreement"].clone()
}

#[tokio::test]
async fn equal_means_the_same_value() {
    let w = World::start().await;
    for (one, other) in [
        ("1", "1.0"),
        ("100", "1e2"),
        ("0", "-0.0"),
        (r#"{"a":1,"b":[true,null]}"#, r#"{ "b" : [true, null], "a" : 1.00 }"#),
        (r#""gr\u00fc\u00df""#, r#""grüß""#),
        (r#"{"a":0,"a":1}"#, r#"{"a":1}"#),
    ] {
        assert_eq!(agreement_of(&w, [one, other]).await, "unanimous", "{one} and {other}");
    }
    for (one, other) in [
        ("1", "true"),
        ("1", r#""1""#),
        ("9007199254740993", "9007199254740992"),
        ("0.1", "0.1000000000000000055511151231257827"),
        ("[1,2]", "[2,1]"),
        (r#""fine""#, r#""Fine""#),
        (r#"{"a":null}"#, "{}"),
    ] {
        assert_eq!(agreement_of(&w, [one, other]).await, "divided", "{one} and {other}");
    }
    for (one, other) in [("1", "null"), ("null", "null")] {
        assert_eq!(agreement_of(&w, [one, other]).await, "incomplete", "{one} and {other}: null is no answer");
    }
    w.check().await;
}

#[tokio::test]
async fn part_of_the_results_is_compared() {
    let w = World::start().await;
    let results = [
        json!({ "verdict": "fine", "why": { "text": "kind", "rule": 1 } }),
        json!({ "why": { "rule": 1.0, "text": "short" }, "verdict": "fine" }),
        json!({ "verdict": "fine", "why": { "text": "kind", "rule": 1 }, "a/b": 0 }),
    ];
    let batch = answered(&w, 1, &results).await;
    let whole = opinions(&w, &batch, "").await;
    assert_contains(&whole, json!({ "agreement": "divided", "differs": ["/why", "/a~1b"] }));
    assert_eq!(whole["answers"].as_array().map(Vec::len), Some(3));
    let verdict = opinions(&w, &batch, "/verdict").await;
    assert_contains(
        &verdict,
        json!({ "agreement": "unanimous", "differs": [], "answers": [{ "value": "fine", "votes": 3 }] }),
    );
    let why = opinions(&w, &batch, "/why").await;
    assert_contains(&why, json!({ "agreement": "divided", "differs": ["/why/text"] }));
    assert_eq!(why["answers"][0]["votes"], 2);
    let some = opinions(&w, &batch, "/a~1b").await;
    assert_contains(&some, json!({ "agreement": "incomplete", "answers": [{ "value": 0, "votes": 1 }] }));
    assert_eq!(some["jobs"][0]["answer"], Value::Null);
    w.check().await;
}

#[tokio::test]
async fn every_job_counts_as_what_it_is() {
    let w = World::start().await;
    w.update_settings(json!({ "lease_ms": 60_000 })).await;
    w.stop_clock();
    let job = json!({ "payload": 1, "max_attempts": 2 });
    let batch = w.create_batch(json!({ "overlap": 6, "job": job })).await;
    let late = w.reserve_as("ann").await;
    w.advance_clock(60_001);
    w.sweep().await;
    w.complete_with(&late, "fine").await.is(200);
    let undone = w.reserve_as("bob").await;
    w.close(&undone, "spam", 10_000).await.is(200);
    w.undo(&undone).await.is(200);
    let closing = w.reserve_as("cleo").await;
    w.close(&closing, "spam", 10_000).await.is(200);
    let skipped = w.reserve_as("dan").await;
    w.post("/jobs/abandon", json!({ "reservation": skipped.reservation, "skip": true })).await.is(200);
    for worker in ["eve", "eve"] {
        w.fail_with(&w.reserve_with(json!({ "worker": worker, "id": member_id(&batch, 4) })).await, "no picture")
            .await
            .is(200);
    }
    w.cancel(&member_id(&batch, 5)).await.is(200);
    let seen = opinions(&w, &batch, "").await;
    assert_contains(&seen, json!({ "agreement": "incomplete", "answers": [{ "value": "fine", "votes": 1 }] }));
    let mut jobs: Vec<_> = seen["jobs"].as_array().expect("jobs").iter().collect();
    jobs.sort_by_key(|job| job["worker"].to_string());
    let find =
        |worker: &str| jobs.iter().find(|job| job["worker"] == worker).unwrap_or_else(|| panic!("{worker}: {seen}"));
    assert_contains(
        find("ann"),
        json!({ "state": "completed", "late": true, "answer": 0, "counts": { "expired": 1 } }),
    );
    assert_contains(find("bob"), json!({ "state": "reserved", "undoable": false, "answer": null }));
    assert_contains(find("cleo"), json!({ "state": "reserved", "undoable": true, "answer": null }));
    let of = |state: &str| jobs.iter().find(|job| job["state"] == state).unwrap_or_else(|| panic!("{state}: {seen}"));
    assert_contains(of("waiting"), json!({ "worker": null, "counts": { "abandoned": 1 } }));
    assert_eq!(of("waiting")["skipped_by"], json!(["dan"]));
    assert_contains(of("dead"), json!({ "worker": null, "answer": null, "counts": { "failed": 2 } }));
    assert_contains(of("cancelled"), json!({ "worker": null, "answer": null }));
    w.advance_clock(10_000);
    w.sweep().await;
    let seen = opinions(&w, &batch, "").await;
    assert_eq!(seen["agreement"], "divided", "the answer counts once it cannot be taken back: {seen}");
    w.check().await;
}

#[tokio::test]
async fn batches_are_found_by_their_agreement() {
    let w = World::start().await;
    let mut wanted = Vec::new();
    for n in 0..60 {
        let other = if n % 20 == 7 { "spam" } else { "fine" };
        let id = answered(&w, n, &[json!({ "v": "fine" }), json!({ "v": other })]).await;
        wanted.extend((other == "spam").then_some(json!(id)));
    }
    w.create_batch(json!({ "jobs": [{ "payload": 1 }] })).await;
    let open = ask(&w, 3, 1).await;
    wanted.sort_by_key(Value::to_string);
    for limit in [1, 2, 100] {
        let mut found = divided(&w, limit).await;
        found.sort_by_key(Value::to_string);
        assert_eq!(found, wanted, "in pages of {limit}");
    }
    let incomplete = w.pages("/batches?agreement=incomplete", "batches", 10).await;
    assert_eq!(incomplete.iter().map(|batch| &batch["id"]).collect::<Vec<_>>(), [&json!(open)]);
    assert_eq!(w.pages("/batches?agreement=unanimous&at=/v", "batches", 10).await.len(), 57);
    let all = w.pages("/batches?opinions=true", "batches", 7).await;
    let without = all.iter().filter(|batch| batch["opinions"].is_null()).count();
    assert_eq!((all.len(), without), (62, 1), "a batch without an overlap is listed without opinions");
    w.check().await;
}

#[tokio::test]
async fn page_reads_a_bounded_amount() {
    let w = World::start_process().await;
    let mut meter = w.meter().await;
    for n in 0..8 {
        answered(&w, n, &vec![json!("x".repeat(OVERLAP_RESULT_BYTES)); 3]).await;
    }
    meter.script_runs(&w.engine).await;
    let page = w.get("/batches?opinions=true").await.is(200);
    assert_eq!(page["batches"].as_array().map(Vec::len), Some(2), "1 MiB is over in the second");
    assert!(page["next"].is_string());
    let page = w.get("/batches?agreement=divided").await.is(200);
    assert_eq!(page["batches"], json!([]), "what is left out was read too");
    assert!(page["next"].is_string());
    meter.assert_bounded("large opinions", &w.engine).await;
    assert!(divided(&w, 50).await.is_empty());
    assert_eq!(w.pages("/batches?opinions=true", "batches", 100).await.len(), 8);
    w.check().await;
}

#[tokio::test]
async fn lists_of_many_batches_use_small_scripts() {
    let w = World::start_process().await;
    let mut meter = w.meter().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let job = json!({ "payload": "x".repeat(2_000) });
    for _ in 0..3 {
        let batches = vec![json!({ "overlap": 9, "job": job }); 100];
        w.post("/batches", batches.into()).await.is(201);
    }
    for worker in &NAMES[..3] {
        for held in w.reserve_all(json!({ "worker": worker, "limit": 100 })).await {
            w.complete_with(&held, 1).await.is(200);
        }
    }
    meter.script_runs(&w.engine).await;
    assert_eq!(w.pages("/batches?opinions=true", "batches", 100).await.len(), 300);
    assert!(divided(&w, 100).await.is_empty());
    meter.assert_bounded("opinions of three hundred batches", &w.engine).await;
    w.check().await;
}

#[tokio::test]
async fn viewers_do_not_see_who_gave_which() {
    let keys = [("web", "producer", "*"), ("watch", "viewer", "*"), ("desk", "worker", "*")];
    let w = World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    let [web, watch, desk] = ["web", "watch", "desk"].map(|name| w.with_credential(&key(name)));
    let batch = ask(&web, 3, 1).await;
    desk.complete_with(&desk.reserve_as("ann").await, "fine").await.is(200);
    let skipped = desk.reserve_as("bob").await;
    desk.post("/jobs/abandon", json!({ "reservation": skipped.reservation, "skip": true })).await.is(200);
    desk.reserve_as("cleo").await;
    for path in [format!("/batches/{batch}?opinions=true"), "/batches?opinions=true".into()] {
        let seen = watch.get(&path).await.is(200).to_string();
        for name in ["ann", "bob", "cleo"] {
            assert!(!seen.contains(name), "{path}: {seen}");
            assert!(web.get(&path).await.is(200).to_string().contains(name), "{path}");
        }
        assert!(seen.contains("\"fine\"") && seen.contains("\"skipped_by\":[null]"), "{seen}");
        desk.get(&path).await.is(403);
    }
    w.check().await;
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let w = World::start().await;
    let batch = ask(&w, 2, 1).await;
    let one = format!("/batches/{batch}");
    for (path, query, parameter) in [
        ("/batches", "agreement=much", "agreement"),
        ("/batches", "agreement=divided&opinions=false", "agreement"),
        ("/batches", "at=/v", "at"),
        ("/batches", "opinions=true&at=v", "at"),
        ("/batches", "opinions=true&at=/v~2", "at"),
        ("/batches", "opinions=perhaps", "opinions"),
        (&one, "at=/v", "at"),
        (&one, "opinions=true&wait_ms=10", "wait_ms"),
        (&one, "agreement=divided", "agreement"),
    ] {
        let refused = w.get(&format!("{path}?{query}")).await.is(422);
        assert_eq!(refused["errors"][0]["parameter"], parameter, "{path}?{query}: {refused}");
    }
    let deep = "/x".repeat(17);
    w.get(&format!("{one}?opinions=true&at={deep}")).await.is(422);
    w.get("/batches?opinions=true&queue=nowhere").await.is(404);
    w.get("/batches/default-7ZZZZZZZZZZZZZZZZZZZZZ0000?opinions=true").await.is(404);
    assert_eq!(number(&w.batch(&batch).await["counts"], "total"), 2);
    w.check().await;
}
