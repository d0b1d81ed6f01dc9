//! What `intray export` writes, and where: one job per line, and an existing file is kept on failure.

use std::fs;

use serde_json::{Value, json};

use super::bulk::{calling, exported};
use crate::world::{CallFate, World, contract::NDJSON, id_of, run};

/// Completes jobs one by one.
async fn completed(w: &World, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0..count {
        ids.push(w.enqueue(json!({ "n": n })).await);
        let held = w.reserve().await;
        w.complete(&held).await.is(200);
    }
    ids
}

fn ids(text: &str) -> Vec<String> {
    text.lines().map(|line| id_of(&serde_json::from_str(line).expect("a job a line"))).collect()
}

#[tokio::test]
async fn export_writes_a_payload_with_line_breaks_on_one_line() {
    let w = World::start().await;
    let forged =
        "[\r\n{\"id\":\"forged\",\"next\":null}\r{\"error\":{\"status\":400,\"detail\":\"end\"},\"next\":null}\n]";
    let forged = forged.replace("}\r{", "},\r{");
    let error = "[\n{\"error\":{\"status\":400,\"detail\":\"it ends here\"},\"next\":null}\n]";
    w.post_text("/jobs", format!("{{\"payload\":{{\n \"a\" : \"b\\n\",\r\"c\":\r\n{forged}}}}}")).await.is(201);
    let held = w.reserve().await;
    let complete = async |result: &str| {
        let body = format!("{{\"reservation\":\"{}\",\"result\":{result}}}", held.reservation);
        w.post_text("/jobs/complete", body).await
    };
    complete(&forged).await.is(200);
    complete(error).await.refused("reservation-lost");
    let after = completed(&w, 1).await;
    let all = [vec![held.id.clone()], after].concat();
    let lines = exported(&w, &["default"]).await;
    assert!(!lines.contains('\r'), "{lines}");
    assert_eq!(ids(&lines), all);
    let job: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    let kept = w.job(&held.id).await;
    for field in ["payload", "result", "late_results"] {
        assert_eq!(job[field], kept[field], "the same value");
    }
    assert_eq!((&job["payload"]["a"], job["late_results"].as_array().map(Vec::len)), (&json!("b\n"), Some(1)));
    let answer = w.request("GET", "/queues/default/jobs?state=completed").header("accept", NDJSON).send().await;
    assert_eq!(answer.text(), lines, "as the service sends it");
    w.check().await;
}

#[tokio::test]
async fn interrupted_export_continues_after_its_last_cursor() {
    let w = World::plan().with_proxy().start().await;
    let all = w.enqueue_many((0..130).map(|n| json!({ "payload": n }))).await;
    w.proxy().inject("list", 2, CallFate::NotDelivered);
    let lines = exported(&w, &["default", "--state", "waiting"]).await;
    assert_eq!((ids(&lines), w.proxy().injected_calls()), (all, 1), "each job once");
    w.check().await;
}

#[tokio::test]
async fn failed_export_keeps_the_existing_file() {
    let w = World::start().await;
    let file = w.folder().join("out");
    fs::write(&file, "precious").expect("written");
    for words in [&["none"][..], &["none", "--csv"], &["none", "--after", "00"]] {
        let end = run(calling(&w, &[&["export", "--output", "out"], words].concat())).await;
        assert_eq!(end.status.code(), Some(1), "{end:?}");
        assert_eq!(fs::read_to_string(&file).expect("a file"), "precious", "{words:?}");
    }
    completed(&w, 1).await;
    exported(&w, &["default", "--output", "out"]).await;
    assert_eq!(ids(&fs::read_to_string(&file).expect("a file")).len(), 1, "the list is written again");
    w.check().await;
}

#[tokio::test]
async fn export_with_after_appends_to_its_file() {
    let w = World::start().await;
    let read = |name: &str| fs::read_to_string(w.folder().join(name)).expect("a file");
    let first = completed(&w, 2).await;
    exported(&w, &["default", "--output", "lines"]).await;
    let table = ["default", "--csv", "--columns", "id,\"\n\"", "--output", "table"];
    exported(&w, &table).await;
    let last: Value = serde_json::from_str(read("lines").lines().last().expect("a line")).expect("JSON");
    let next = last["next"].as_str().expect("a next");
    let all = [first, completed(&w, 2).await].concat();
    exported(&w, &["default", "--output", "lines", "--after", next]).await;
    assert_eq!(ids(&read("lines")), all);
    exported(&w, &[&table[..], &["--after", next]].concat()).await;
    let rows: String = all.iter().map(|id| format!("{id},\r\n")).collect();
    assert_eq!(read("table"), format!("id,\"\"\"\n\"\"\"\r\n{rows}"), "one header row");
    // A new file has the whole table.
    exported(&w, &["default", "--csv", "--columns", "id", "--output", "new", "--after", next]).await;
    assert_eq!(read("new"), format!("id\r\n{}\r\n{}\r\n", all[2], all[3]));
    // A line cut by a full disk would become part of the next.
    fs::write(w.folder().join("lines"), "{\"id\":").expect("written");
    let end = run(calling(&w, &["export", "default", "--output", "lines", "--after", next])).await;
    assert!(!end.status.success() && end.stderr.contains("lines: its last line has no end"), "{end:?}");
    assert_eq!(read("lines"), "{\"id\":");
    w.check().await;
}

/// Excel needs a byte order mark to detect UTF-8; a file that is continued has one already.
#[tokio::test]
async fn csv_export_starts_with_a_byte_order_mark_on_request() {
    let w = World::start().await;
    w.enqueue(json!("Müller")).await;
    let words = ["default", "--state", "waiting", "--csv", "--columns", "payload"];
    assert_eq!(exported(&w, &words).await, "payload\r\nMüller\r\n");
    assert_eq!(exported(&w, &[&words[..], &["--bom"]].concat()).await, "\u{feff}payload\r\nMüller\r\n");
    let refused = run(calling(&w, &["export", "default", "--bom"])).await;
    assert!(!refused.status.success() && refused.stderr.contains("--csv"), "{refused:?}");
    w.complete(&w.reserve().await).await.is(200);
    let words = ["default", "--csv", "--columns", "payload", "--bom", "--output", "table"];
    exported(&w, &words).await;
    let next = exported(&w, &["default"]).await;
    let next: Value = serde_json::from_str(&next).expect("a line");
    exported(&w, &[&words[..], &["--after", next["next"].as_str().expect("a place")]].concat()).await;
    assert_eq!(fs::read_to_string(w.folder().join("table")).expect("a table"), "\u{feff}payload\r\nMüller\r\n");
    w.check().await;
}
