//! A job a line, as many as there are: they go into the line while they come, whatever becomes of the connection.

use serde_json::{Value, json};

use crate::world::{
    Answer, Client, World,
    access::{key, keys_file_line},
    assert_contains, eventually, id_of,
    upload::Upload,
};

async fn sent(client: &Client, query: &str, key: Option<&str>, body: impl Into<Vec<u8>>) -> Answer {
    let request = client.request("POST", &format!("/jobs{query}")).header("content-type", "application/x-ndjson");
    let request = if let Some(key) = key { request.header("idempotency-key", key) } else { request };
    request.body(body).send().await
}

fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The last line of an answer.
fn summary(answer: &Answer) -> Value {
    lines(answer).pop().expect("a last line")
}

fn numbered(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(|n| format!("{{\"payload\":{n}}}\n")).collect()
}

/// `created`: new jobs, and those of an earlier call with the same key.
fn counted(lines: u64, [created, known]: [u64; 2], duplicates: u64, errors: u64) -> Value {
    json!({
        "lines": lines, "created": created, "known": known, "duplicates": duplicates, "errors": errors, "complete": true,
    })
}

#[tokio::test]
async fn ndjson_lines_are_independent_and_keep_their_order() {
    let w = World::plan().flag("--max-payload-bytes", "100").start().await;
    let long = format!("{{\"payload\":\"{}\"}}", "x".repeat(20_000));
    let large = format!("{{\"payload\":\"{}\"}}", "x".repeat(100));
    let body = format!(
        "\u{feff}{{\"payload\":1}}\r\n\n  \n{{\"payload\":2}}\nnonsense\n[1]\n{{\"payload\":1}}\n{long}\n{large}\n{{\"payload\":3,\"queue\":\"?\"}}\n{{\"payload\":4}}"
    );
    let answers = lines(&sent(&w, "", None, body.clone()).await);
    let expected = [
        json!({ "line": 5, "error": { "status": 400 } }),
        json!({ "line": 6, "error": { "status": 422 } }),
        json!({ "line": 8, "error": { "status": 413 } }),
        json!({ "line": 9, "error": { "status": 413 } }),
        json!({ "line": 10, "error": { "status": 422, "errors": [{ "pointer": "/queue" }] } }),
        counted(11, [3, 0], 1, 5),
    ];
    assert_eq!(answers.len(), expected.len(), "{answers:?}");
    answers.iter().zip(expected).for_each(|(answers, expected)| assert_contains(answers, expected));
    let all = lines(&sent(&w, "?answers=all", None, body).await);
    assert_eq!(
        all.iter().filter_map(|answers| answers["line"].as_u64()).collect::<Vec<_>>(),
        [1, 4, 5, 6, 7, 8, 9, 10, 11]
    );
    assert_contains(&all[0], json!({ "line": 1, "duplicate": true, "state": "waiting", "queue": "default" }));
    assert_eq!(all[9], counted(11, [0, 0], 4, 5));
    for expected in [1, 2, 4] {
        let held = w.reserve().await;
        assert_eq!(held.body["payload"], expected);
        w.complete(&held).await.is(200);
    }
    assert_eq!(summary(&sent(&w, "", None, "").await), counted(0, [0, 0], 0, 0));
    w.check().await;
}

#[tokio::test]
async fn keyed_upload_continues_and_refuses_changed_lines() {
    let w = World::start().await;
    assert_eq!(summary(&sent(&w, "", Some("k"), numbered(1..=3)).await), counted(3, [3, 0], 0, 0));
    assert_eq!(summary(&sent(&w, "", Some("k"), numbered(1..=5)).await), counted(5, [2, 3], 0, 0));
    let changed = numbered([1, 7, 3, 4, 5, 6]);
    let answers = lines(&sent(&w, "", Some("k"), changed).await);
    assert_contains(&answers[0], json!({ "line": 2, "error": { "type": "/problems/idempotency-key-reused" } }));
    assert_eq!(answers[1], counted(6, [1, 4], 0, 1));
    // Sends only the missing lines, with their position.
    assert_eq!(summary(&sent(&w, "?first_line=6", Some("k"), numbered([6, 8])).await), counted(2, [1, 1], 0, 0));
    assert_eq!(summary(&sent(&w, "", Some("other"), numbered(1..=8)).await), counted(8, [1, 0], 7, 0));
    assert_eq!(w.queue().await["totals"]["enqueued"], 8);
    // A call of one job under the same key is the same as its line.
    let single = w.request("POST", "/jobs").header("idempotency-key", "k").json("{\"payload\":1}").send().await;
    assert_eq!(id_of(&single.is(201)), id_of(&lines(&sent(&w, "?answers=all", Some("k"), numbered([1])).await)[0]));
    w.check().await;
}

/// Number of lines; `INTRAY_NDJSON_LINES` overrides it.
fn size() -> u64 {
    std::env::var("INTRAY_NDJSON_LINES").map_or(2_000, |lines| lines.parse().expect("a number"))
}

#[tokio::test]
async fn interrupted_uploads_store_each_job_once() {
    const CUTS: u64 = 20;
    let (w, size) = (World::start_process().await, size());
    summary(&sent(&w, "", None, numbered(0..1)).await);
    let memory = async || w.metric("process_resident_memory_bytes").await as u64 >> 10;
    let (before, begin) = (memory().await, std::time::Instant::now());
    let mut max = 0;
    for cut in 0..=CUTS {
        let mut upload = Upload::begin(&w, "", &[("idempotency-key", "all")]).await;
        let end = if cut == CUTS { size } else { size * (cut + 1) / (CUTS + 1) };
        for from in (1..=end).step_by(500) {
            assert!(upload.send(&numbered(from..=end.min(from + 499))).await);
            if from % 50_000 < 500 {
                max = max.max(memory().await);
            }
        }
        if cut < CUTS {
            // In the middle of a line, and every other time while much is on its way.
            upload.send("{\"payl").await;
            while cut % 2 == 0 && w.queue().await["totals"]["enqueued"].as_u64() < Some(end) {}
            continue;
        }
        upload.finish().await;
        let answers = upload.answer().await.1;
        let created = answers[0]["created"].as_u64().expect("a number");
        assert_eq!(answers, [counted(size, [created, size - created], 0, 0)]);
    }
    let took = begin.elapsed().as_secs_f64();
    println!("{size} lines, cut {CUTS} times: {took:.1} s; {before} KiB before, at most {max} KiB");
    assert_eq!(w.queue().await["totals"]["enqueued"], size + 1);
    assert!(max < before + 24_000, "{before} KiB before, {max} KiB with lines");
    if size < 100_000 {
        w.check().await;
    }
}

#[tokio::test]
async fn upload_answers_each_line_as_it_arrives() {
    let w = World::start().await;
    let mut upload = Upload::begin(&w, "?answers=all", &[]).await;
    for n in 1..=3 {
        assert!(upload.send(&numbered([n])).await);
        if n == 1 {
            assert_eq!(upload.status().await, 200);
        }
        assert_contains(&upload.line().await, json!({ "line": n, "duplicate": false }));
    }
    upload.finish().await;
    assert_eq!(upload.line().await, counted(3, [3, 0], 0, 0));
    w.check().await;
}

#[tokio::test]
async fn unread_upload_errors_are_limited_and_counted() {
    let w = World::start().await;
    let mut upload = Upload::begin(&w, "", &[]).await;
    for _ in 0..10 {
        assert!(upload.send(&"nonsense\n".repeat(200)).await);
    }
    upload.finish().await;
    let (status, answers) = upload.answer().await;
    assert_eq!(status, 200);
    assert_contains(answers.last().expect("a last line"), json!({ "lines": 2_000, "errors": 2_000, "complete": true }));
    let listed: usize = answers.iter().map(|line| line.to_string().len()).sum();
    assert!((60_000..70_000).contains(&listed), "{listed} bytes");
    // A caller that never reads is not read from.
    let mut mute = Upload::begin(&w, "?answers=all", &[]).await;
    let piece = "nonsense\n".repeat(5_000);
    let sending = async { while mute.send(&piece).await {} };
    assert!(
        tokio::time::timeout(std::time::Duration::from_secs(1), sending).await.is_err(),
        "the upload is not blocked"
    );
}

#[tokio::test]
async fn full_and_forbidden_queues_refuse_only_their_lines() {
    let w = World::plan().with_keys(&[("web", "producer", "default")]).start().await;
    w.update_settings(json!({ "max_jobs": 2 })).await;
    let web = w.with_credential(&key("web"));
    let body = format!("{}{{\"payload\":1,\"queue\":\"other\"}}\n{{\"payload\":1}}\n", numbered(1..=3));
    let answers = lines(&sent(&web, "", None, body).await);
    assert_contains(&answers[0], json!({ "line": 3, "error": { "type": "/problems/queue-full" } }));
    assert_contains(&answers[1], json!({ "line": 4, "error": { "type": "/problems/forbidden" } }));
    assert_eq!(answers[2], counted(5, [2, 0], 1, 2));
    sent(&web, "?answers=none", None, "").await.invalid_by("parameter", &["answers"]);
    sent(&web, "?first_line=0&x=1", None, "").await.invalid_by("parameter", &["first_line", "x"]);
    w.check().await;
}

#[tokio::test]
async fn removed_key_ends_its_uploads() {
    let w = World::plan().with_keys(&[("web", "producer", "*")]).start().await;
    let bearer = format!("Bearer {}", key("web"));
    let mut upload = Upload::begin(&w, "", &[("authorization", &bearer)]).await;
    let mut talking = Upload::begin(&w, "?answers=all", &[("authorization", &bearer)]).await;
    assert!(upload.send(&numbered(1..=3)).await && talking.send("nonsense\n").await);
    eventually("they are there", async || {
        (w.get("/queues/default").await.json()["counts"]["waiting"] == 3).then_some(())
    })
    .await;
    std::fs::write(w.folder().join("keys"), keys_file_line("root", "operator", "*")).expect("written");
    let (status, answers) = upload.answer().await;
    assert_eq!(status, 200);
    assert_contains(&answers[0], json!({ "lines": 3, "created": 3, "complete": false, "error": { "status": 401 } }));
    assert_eq!(talking.status().await, 200);
    talking.line().await;
    assert_contains(&talking.line().await, json!({ "complete": false, "error": { "status": 401 } }));
    talking.assert_answer_ends().await;
    w.check().await;
}

#[tokio::test]
async fn upload_reports_unstored_lines_when_redis_is_away() {
    let w = World::plan().with_default_redis_timeout().start().await;
    let mut upload = Upload::begin(&w, "", &[("idempotency-key", "k")]).await;
    assert!(upload.send(&numbered(1..=50)).await);
    eventually("they are there", async || {
        (w.get("/queues/default").await.json()["counts"]["waiting"] == 50).then_some(())
    })
    .await;
    w.engine.freeze();
    assert!(upload.send(&numbered(51..=60)).await);
    let (_, answers) = upload.answer().await;
    w.engine.thaw();
    let last = answers.last().expect("a last line");
    assert_contains(
        last,
        json!({ "lines": 60, "created": 50, "errors": 10, "complete": false, "error": { "status": 503 } }),
    );
    for (answers, n) in answers.iter().zip(51..=60) {
        assert_contains(answers, json!({ "line": n, "error": { "type": "/problems/unavailable" } }));
        assert!(answers["error"]["applied"] == "unknown" || answers["error"]["applied"] == false, "{answers}");
    }
    let last = summary(&sent(&w, "", Some("k"), numbered(1..=70)).await);
    let created = last["created"].as_u64().expect("a number");
    assert_eq!(last, counted(70, [created, 70 - created], 0, 0));
    assert!((10..=20).contains(&created), "those that were never tried, and perhaps those that failed: {created}");
    assert_eq!(w.queue().await["totals"]["enqueued"], 70);
    w.check().await;
}

#[tokio::test]
async fn shutdown_ends_uploads_with_a_summary() {
    let w = World::start_process().await;
    let (mut other, client) = w.start_instance().await;
    let mut upload = Upload::begin(&client, "", &[]).await;
    assert!(upload.send(&numbered(1..=3)).await);
    eventually("they are there", async || {
        (w.get("/queues/default").await.json()["counts"]["waiting"] == 3).then_some(())
    })
    .await;
    other.signal(libc::SIGTERM);
    let (_, answers) = upload.answer().await;
    assert_contains(&answers[0], json!({ "lines": 3, "created": 3, "complete": false, "error": { "status": 503 } }));
    assert!(other.wait_for_exit().await.success());
    w.check().await;
}

/// Nine thousand lines are nine calls, of which four may be made at once.
#[tokio::test]
async fn blank_lines_count_for_the_rate_limit() {
    let w = World::plan().with_keys(&[("web", "producer", "*")]).flag("--rate-limit", "4").start().await;
    let web = w.with_credential(&key("web"));
    let begin = std::time::Instant::now();
    assert_eq!(summary(&sent(&web, "", None, " \n".repeat(9_000)).await), counted(9_000, [0, 0], 0, 0));
    assert!(begin.elapsed() >= std::time::Duration::from_secs(1), "{:?}", begin.elapsed());
}
