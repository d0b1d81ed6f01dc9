//! What a table may cost: its columns are found in one pass of each job, and other callers are answered meanwhile.

use std::time::Duration;

use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

use crate::world::{Answer, Client, World, background_caller::BackgroundCaller};

async fn table(client: &Client, columns: &str) -> Answer {
    let path = format!("/queues/default/jobs?columns={columns}");
    client.request("GET", &path).header("accept", "text/csv").send().await
}

/// A pointer of so many steps into a payload.
fn pointer(steps: usize) -> String {
    format!("payload{}", "/a".repeat(steps - 1))
}

/// So many jobs of 250 KB, nested as deep as a payload may be.
async fn enqueue_deep(w: &World, count: usize) {
    let payload = format!("{}[{}1]{}", r#"{"a":"#.repeat(126), "1,".repeat(125_000), "}".repeat(126));
    for _ in 0..count {
        w.post_text("/jobs", format!(r#"{{"dedupe":false,"payload":{payload}}}"#)).await.is(201);
    }
}

#[tokio::test]
async fn columns_beyond_their_limits_are_refused() {
    let w = World::start().await;
    enqueue_deep(&w, 1).await;
    let overlapping = |columns: usize| (1..=columns).map(pointer).collect::<Vec<_>>().join(",");
    for (columns, rule) in [
        (pointer(17), "must be JSON pointers of at most 16 steps"),
        (["payload"; 5].join(","), "must not show the same part of a job more than 4 times"),
        (overlapping(5), "must not show the same part of a job more than 4 times"),
        ((0..65).map(|n| format!("payload/{n}")).collect::<Vec<_>>().join(","), "must name at most 64"),
    ] {
        let refusal = table(&w, &columns).await;
        assert!(refusal.text().contains(rule), "{columns}: {}", refusal.text());
        refusal.invalid_by("parameter", &["columns"]);
    }
    for columns in [pointer(16), ["payload"; 4].join(","), overlapping(4)] {
        let answer = table(&w, &columns).await;
        assert_eq!(answer.status, 200, "{columns}");
        let cells = answer.text().len() / 250_000;
        assert_eq!(cells, columns.split(',').count(), "{columns}");
    }
    w.check().await;
}

#[tokio::test]
async fn table_of_large_jobs_has_each_row_once() {
    let w = World::start().await;
    let text = |n: usize| format!("{n},{}", "\"x".repeat(50_000));
    let ids = w.enqueue_many((0..12).map(|n| json!({ "payload": { "n": n, "text": text(n) } }))).await;
    let answer = table(&w, "id,payload/n,payload/text,payload").await.text();
    let rows: Vec<_> = answer.split("\r\n").collect();
    assert_eq!((rows.len(), rows[0]), (14, "id,payload/n,payload/text,payload"));
    let quoted = |text: String| format!("\"{}\"", text.replace('"', "\"\""));
    for (n, (row, id)) in rows[1..].iter().zip(&ids).enumerate() {
        let payload = format!(r#"{{"n":{n},"text":{}}}"#, json!(text(n)));
        assert!(*row == format!("{id},{n},{},{}", quoted(text(n)), quoted(payload)), "row {n}");
    }
    w.check().await;
}

async fn read_in_a_loop(client: Client, columns: String) {
    loop {
        assert!(matches!(table(&client, &columns).await.status, 200 | 429 | 503));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_deep_columns_slow_no_other_caller() {
    let (w, quiet) = (World::start_process().await, World::start_process().await);
    let deep: Vec<_> = (0..60).map(|n| format!("{}/{n}", pointer(15))).chain((13..17).map(pointer)).collect();
    let mut readers = JoinSet::new();
    for (w, columns) in [(&w, deep.join(",")), (&quiet, "id".to_owned())] {
        enqueue_deep(w, 8).await;
        for _ in 0..4 {
            readers.spawn(read_in_a_loop((**w).clone(), columns.clone()));
        }
    }
    let honest = BackgroundCaller::start(&w, &quiet).await;
    sleep(Duration::from_secs(2)).await;
    let measured = honest.stop().await;
    assert!(readers.try_join_next().is_none(), "a reader was refused in another way");
    readers.shutdown().await;
    measured.assert_not_much_slower("four tables of deep columns");
    w.check().await;
}
