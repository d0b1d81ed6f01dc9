//! Whole lists as lines, as a table, or as a stream that follows.

use serde_json::{Value, json};

use crate::world::{
    Client, ReservedJob, World,
    access::{key, keys_file_line},
    assert_contains,
    contract::{CONTRACT, NDJSON},
    eventually, id_of,
};

/// Reads an NDJSON stream line by line.
struct Reader {
    answer: reqwest::Response,
    unread: Vec<u8>,
    read: u64,
}

impl Reader {
    async fn open(client: &Client, path: &str) -> Self {
        let answer = client.request("GET", path).header("accept", NDJSON).open().await;
        assert_eq!(answer.status(), 200, "{path}");
        Self { answer, unread: Vec::new(), read: 0 }
    }

    /// The next non-blank line; `None` at the end.
    async fn line(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let line = std::str::from_utf8(&line).expect("UTF-8").trim();
                if !line.is_empty() {
                    // The first lines of a very long list are checked against the contract.
                    if self.read < 300 || line.starts_with("{\"error") {
                        CONTRACT.check_lines(line);
                    }
                    self.read += 1;
                    return Some(serde_json::from_str(line).expect("JSON"));
                }
            }
            self.unread.extend(self.answer.chunk().await.expect("a valid answer")?);
        }
    }
}

async fn lines(client: &Client, path: &str) -> Vec<Value> {
    let answer = client.request("GET", path).header("accept", NDJSON).send().await;
    assert_eq!((answer.status, answer.content_type().as_str()), (200, NDJSON), "{}", answer.text());
    answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Enqueues and completes so many jobs.
async fn completed(w: &World, count: usize) -> Vec<String> {
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let mut ids = Vec::new();
    for from in (0..count).step_by(100) {
        w.enqueue_many((from..count.min(from + 100)).map(|n| json!({ "payload": { "n": n } }))).await;
        for held in w.reserve_all(json!({ "limit": 100 })).await {
            w.complete_with(&held, json!({ "verdict": format!("={}", held.body["payload"]["n"]) })).await.is(200);
            ids.push(held.id);
        }
    }
    ids
}

#[tokio::test]
async fn lines_hold_each_job_once_and_resume_after_any_line() {
    let w = World::start().await;
    let ids = completed(&w, 250).await;
    let path = "/queues/default/jobs?state=completed";
    let all = lines(&w, path).await;
    assert_eq!(all.iter().map(id_of).collect::<Vec<_>>(), ids);
    assert_eq!(all[0]["payload"], json!({ "n": 0 }));
    for cut in [0, 99, 100, 248, 249] {
        let next = all[cut]["next"].as_str().expect("a next");
        let rest = lines(&w, &format!("{path}&after={next}")).await;
        assert_eq!(rest.iter().map(id_of).collect::<Vec<_>>(), ids[cut + 1..], "after line {cut}");
    }
    let waiting = w.enqueue_many((0..130).map(|n| json!({ "payload": n, "client": "ann" }))).await;
    assert_eq!(lines(&w, "/queues/default/jobs?client=ann").await.iter().map(id_of).collect::<Vec<_>>(), waiting);
    assert_eq!(lines(&w, "/queues/default/jobs?client=bob").await, [] as [Value; 0]);
    assert_eq!(lines(&w, "/queues/default/jobs?state=dead").await, [] as [Value; 0]);
    w.check().await;
}

#[tokio::test]
async fn csv_has_the_requested_columns_and_no_formulas() {
    let w = World::start().await;
    let ids = completed(&w, 120).await;
    let table = async |query: &str| {
        let path = format!("/queues/default/jobs?state=completed{query}");
        let answer = w.request("GET", &path).header("accept", "text/csv").send().await;
        assert_eq!((answer.status, answer.content_type().as_str()), (200, "text/csv"), "{}", answer.text());
        answer.text().split("\r\n").map(str::to_owned).collect::<Vec<_>>()
    };
    let rows = table("&columns=id,/payload/n&columns=/result/verdict,/result/none").await;
    assert_eq!((rows.len(), rows[0].as_str()), (122, "id,/payload/n,/result/verdict,/result/none"));
    for (n, (row, id)) in rows[1..].iter().zip(&ids).enumerate() {
        assert_eq!(*row, format!("{id},{n},\"'={n}\","));
    }
    let default_columns = table("").await;
    assert!(
        default_columns[0].starts_with("id,state,priority")
            && default_columns[1].starts_with(&format!("{},completed,50", ids[0]))
    );
    assert!(
        default_columns[1].ends_with("\"{\"\"n\"\":0}\",\"{\"\"verdict\"\":\"\"=0\"\"}\""),
        "{}",
        default_columns[1]
    );
    w.check().await;
}

#[tokio::test]
async fn invalid_export_parameters_are_refused() {
    let w = World::plan().with_keys(&[("web", "producer", "*"), ("other", "producer", "other")]).start().await;
    w.enqueue(1).await;
    let get_list = async |client: &Client, accept: &str, query: &str| {
        client.request("GET", &format!("/queues/{query}")).header("accept", accept).send().await
    };
    for (accept, query, wrong) in [
        (NDJSON, "limit=1&wait_ms=1", &["limit", "wait_ms"][..]),
        (NDJSON, "follow=true", &["follow"]),
        (NDJSON, "follow=yes&state=completed", &["follow"]),
        (NDJSON, "columns=id", &["columns"]),
        ("text/csv", "follow=1&state=completed", &["follow"]),
        ("text/csv", "columns=/a~2,id,", &["columns", "columns"]),
        ("*/*", "follow=1", &["follow"]),
    ] {
        get_list(&w, accept, &format!("default/jobs?{query}")).await.invalid_by("parameter", wrong);
    }
    get_list(&w, NDJSON, "none/jobs").await.refused("unknown-queue");
    let (web, other) = (w.with_credential(&key("web")), w.with_credential(&key("other")));
    get_list(&web, NDJSON, "default/jobs?state=waiting").await.refused("forbidden");
    get_list(&other, "text/csv", "default/jobs?state=completed").await.refused("forbidden");
    assert_eq!(get_list(&web, NDJSON, "default/jobs?state=completed").await.status, 200);
    w.check().await;
}

#[tokio::test]
async fn followed_list_sends_each_result_and_resumes() {
    let w = World::start().await;
    let mut ids = completed(&w, 3).await;
    let mut path = "/queues/default/jobs?state=completed&follow=1".to_owned();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut reader = Reader::open(&w, &path).await;
        while seen.len() < ids.len() {
            seen.push(id_of(&reader.line().await.expect("the stream has no end")));
        }
        ids.extend(completed(&w, 3).await);
        let last = reader.line().await.expect("the stream has no end");
        seen.push(id_of(&last));
        // Two more results exist when this reader is cut.
        path =
            format!("/queues/default/jobs?state=completed&follow=1&after={}", last["next"].as_str().expect("a next"));
    }
    let mut reader = Reader::open(&w, &path).await;
    while seen.len() < ids.len() {
        seen.push(id_of(&reader.line().await.expect("the stream has no end")));
    }
    assert_eq!(seen, ids);
    w.check().await;
}

#[tokio::test]
async fn followed_list_ends_on_revocation_and_shutdown() {
    let w = World::plan().own_process().with_keys(&[("web", "producer", "*")]).start().await;
    completed(&w, 1).await;
    let path = "/queues/default/jobs?state=completed&follow=true";
    let mut web = Reader::open(&w.with_credential(&key("web")), path).await;
    let first = web.line().await.expect("one");
    let (mut other, client) = w.start_instance().await;
    let mut root = Reader::open(&client, path).await;
    root.line().await.expect("one");
    std::fs::write(w.folder().join("keys"), keys_file_line("root", "operator", "*")).expect("written");
    let last = web.line().await.expect("a last line");
    assert_contains(&last, json!({ "error": { "status": 401 }, "next": first["next"] }));
    assert_eq!(web.line().await, None);
    other.signal(libc::SIGTERM);
    let last = root.line().await.expect("a last line");
    assert_contains(&last, json!({ "error": { "status": 503 }, "next": first["next"] }));
    assert_eq!(root.line().await, None);
    assert!(other.wait_for_exit().await.success());
    w.check().await;
}

#[tokio::test]
async fn interrupted_list_ends_with_an_error() {
    let w = World::plan().with_default_redis_timeout().start().await;
    for _ in 0..3 {
        w.enqueue_many((0..80).map(|n| json!({ "payload": [n, "x".repeat(90_000)], "dedupe": false }))).await;
    }
    let path = "/queues/default/jobs";
    let mut reader = Reader::open(&w, path).await;
    let mut table = w.request("GET", path).header("accept", "text/csv").open().await;
    table.chunk().await.expect("a head").expect("a head");
    w.engine.freeze();
    let (mut count, mut last) = (0, Value::Null);
    while let Some(line) = reader.line().await {
        count += 1;
        last = line;
    }
    assert!(count < 241, "{count} lines");
    assert_contains(&last, json!({ "error": { "type": "/problems/unavailable", "applied": false } }));
    let broken = eventually("the table ends", async || match table.chunk().await {
        Ok(Some(_)) => None,
        Ok(None) => Some(false),
        Err(_) => Some(true),
    });
    assert!(broken.await, "the connection breaks, so that the table is not taken for complete");
    w.engine.thaw();
    let next = last["next"].as_str().expect("a next");
    let rest = lines(&w, &format!("{path}?after={next}")).await;
    assert_eq!(count - 1 + rest.len(), 240, "the next read continues after the last line");
    w.check().await;
}

/// Reads half of a list, runs `meanwhile`, reads the rest, and counts how often each id came.
async fn read_around(w: &World, state: &str, ids: &[String], meanwhile: impl Future<Output = ()>) -> Vec<usize> {
    let path = format!("/queues/default/jobs?state={state}");
    let half = w.get(&format!("{path}&limit=6")).await.is(200);
    meanwhile.await;
    let rest = lines(w, &format!("{path}&after={}", half["next"].as_str().expect("more"))).await;
    let all: Vec<_> = half["jobs"].as_array().expect("a list").iter().chain(&rest).map(id_of).collect();
    ids.iter().map(|id| all.iter().filter(|one| *one == id).count()).collect()
}

#[tokio::test]
async fn unmoved_jobs_come_once_while_others_move() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let ids = w.enqueue_many((0..12).map(|n| json!({ "payload": n }))).await;
    let moved = async {
        w.set_priority(&ids[9], 0).await.is(200);
        w.set_priority(&ids[2], 99).await.is(200);
    };
    let mut times = read_around(&w, "waiting", &ids, moved).await;
    assert_eq!([times.remove(9), times.remove(2)], [0, 2], "one job moved before the cursor, one after it");
    assert_eq!(times, [1; 10]);
    let held = w.reserve_all(json!({ "limit": 12 })).await;
    let ids = w.list_ids("reserved").await;
    let extended = async {
        w.advance_clock(1_000);
        w.extend(held.iter().find(|held| held.id == ids[0]).expect("held")).await.is(200);
    };
    let mut times = read_around(&w, "reserved", &ids, extended).await;
    assert_eq!(times.remove(0), 2, "the extended job moved after the cursor");
    assert_eq!(times, [1; 11]);
    // In lists that only grow at the end, every job comes exactly once.
    let ended = async |held: &[ReservedJob]| {
        for held in held {
            w.complete(held).await.is(200);
        }
    };
    ended(&held[..8]).await;
    assert_eq!(read_around(&w, "completed", &ids, ended(&held[8..])).await, [1; 12]);
    w.check().await;
}

#[tokio::test]
async fn long_list_is_streamed_with_bounded_memory() {
    let w = World::start_process().await;
    let size: u64 = std::env::var("INTRAY_NDJSON_LINES").map_or(1_500, |lines| lines.parse().expect("a number"));
    for from in (0..size).step_by(10_000) {
        let body: String = (from..size.min(from + 10_000)).map(|n| format!("{{\"payload\":{n}}}\n")).collect();
        w.request("POST", "/jobs").header("content-type", NDJSON).body(body).send().await;
    }
    let memory = async || w.metric("process_resident_memory_bytes").await as u64 >> 10;
    let (before, begin) = (memory().await, std::time::Instant::now());
    let (mut reader, mut count, mut max) = (Reader::open(&w, "/queues/default/jobs").await, 0, 0);
    while let Some(line) = reader.line().await {
        assert_eq!(line["payload"], count, "in order, each once");
        count += 1;
        if count % 20_000 == 1 {
            max = max.max(memory().await);
        }
    }
    println!("{count} lines in {:.1} s; {before} KiB before, at most {max} KiB", begin.elapsed().as_secs_f64());
    assert_eq!(count, size);
    assert!(max < before + 20_000, "{before} KiB before, {max} KiB");
}
