//! Payloads are the producer's: they come back byte for byte.

use serde_json::json;

use crate::world::{ReservedJob, World, id_of};

#[tokio::test]
async fn payload_is_returned_byte_for_byte() {
    let w = World::start().await;
    let deep = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    let long = format!("\"{}\"", "ä€🎉".repeat(20_000));
    let forty_digits = "1234567890123456789012345678901234567890";
    let payloads = [
        "[]",
        "{}",
        "0",
        "null",
        "true",
        "-0",
        "-0.0",
        "1.0",
        "1E+2",
        "9007199254740993",
        "1e400",
        forty_digits,
        r#""""#,
        r#"{"a":1,"a":2}"#,
        r#"{"b":1, "a":[ 1 ,2 ] }"#,
        r#""\u0000\ud83d\ude00\/""#,
        r#""\ud800""#,
        "\"ü\u{2028}\u{7f}\"",
        &deep,
        &long,
        r#"{"":{"":""}}"#,
    ];
    for payload in payloads {
        let answer = w.post_text("/jobs", format!(r#" {{ "payload" : {payload} , "dedupe" : false }} "#)).await;
        assert_eq!(answer.status, 201, "{payload:.100}: {}", answer.text());
        let id = id_of(&answer.json());
        assert_eq!(w.get(&format!("/jobs/{id}")).await.text_at("/payload"), payload);
        let handed = w.send_reserve(json!({})).await;
        assert_eq!(handed.text_at("/jobs/0/payload"), payload);
        let held = ReservedJob::new(&handed.json()["jobs"][0]);
        w.complete(&held).await.is(200);
        let listed = w.get("/queues/default/jobs?state=completed").await;
        assert!(listed.text().contains(payload), "{payload:.100}");
        w.delete("/queues/default?state=completed").await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn payload_over_256_kib_is_refused() {
    let w = World::start().await;
    let of = |kib: usize| format!("\"{}\"", "x".repeat((kib << 10) - 2));
    for kib in [1, 2, 200, 256] {
        let answer = w.post_text("/jobs", format!(r#"{{"payload":{}}}"#, of(kib))).await;
        answer.is(201);
        let handed = w.send_reserve(json!({})).await;
        assert!(handed.text_at("/jobs/0/payload") == of(kib), "{kib} KiB");
        w.complete(&ReservedJob::new(&handed.json()["jobs"][0])).await.is(200);
    }
    for size in ["x".repeat(300 << 10), "x".repeat((256 << 10) - 1)] {
        let answer = w.post("/jobs", json!({ "payload": size })).await;
        assert_eq!(answer.status, 413);
        answer.refused("too-large");
    }
    let held = {
        w.enqueue(1).await;
        w.reserve().await
    };
    let result = w.complete_with(&held, "x".repeat(300 << 10)).await;
    assert_eq!(result.status, 413);
    result.refused("too-large");
    w.complete_with(&held, "x".repeat(200 << 10)).await.is(200);
    let array = w.post("/jobs", json!([{ "payload": "x".repeat(300 << 10) }, { "payload": 5 }])).await.is(200);
    assert_eq!((&array["jobs"][0]["error"]["status"], &array["jobs"][1]["state"]), (&json!(413), &json!("waiting")));
    w.check().await;
}

#[tokio::test]
async fn max_payload_bytes_limits_payloads_and_results() {
    let w = World::plan().flag("--max-payload-bytes", "10").start().await;
    w.post_text("/jobs", r#"{"payload":"12345678"}"#).await.is(201);
    w.post_text("/jobs", r#"{"payload":"123456789"}"#).await.refused("too-large");
    let held = w.reserve().await;
    w.complete_with(&held, "123456789").await.refused("too-large");
    w.complete_with(&held, "12345678").await.is(200);
    w.check().await;
}

#[tokio::test]
async fn invalid_or_too_deep_json_stores_nothing() {
    let w = World::start().await;
    let deep = |n: usize| format!(r#"{{"payload":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    for n in [128, 200] {
        w.post_text("/jobs", deep(n)).await.invalid_at(&["/payload"]);
    }
    w.post_text("/jobs", deep(100_000)).await.invalid_at(&["/payload"]);
    for body in [
        &b"{\"payload\":\"\xff\"}"[..],
        b"{\"payload\":\"\xed\xa0\x80\"}",
        b"{\"payload\":01}",
        b"{\"payload\":1",
        b"{\"payload\":'a'}",
        b"{\"payload\":1}{}",
        b"{\"payload\":NaN}",
        b"{\"payload\":\"\x01\"}",
        b"",
        b"{\"payload\":}",
    ] {
        let answer = w.post_text("/jobs", body).await;
        assert_eq!(answer.status, 400, "{}", String::from_utf8_lossy(body));
        answer.refused("not-json");
    }
    w.get("/queues/default").await.refused("unknown-queue");
    w.check().await;
}
