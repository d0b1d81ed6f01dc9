//! The commands of docs/lead.md, as printed: from a table to a report and to a leaver, with a key for the lead's queues alone.

use serde_json::{Value, json};

use super::documented_calls::{run_as_printed, saved, shell};
use crate::world::{World, http::Answer};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lead.md"));

/// What the page asks the person who runs the service for.
async fn keys(folder: &std::path::Path) -> String {
    let command = PAGE.split('`').find(|words| words.starts_with("intray key lead operator")).expect("a command");
    shell(&format!("{command}\ntail -n 1 lead.key >keys.txt"), folder).await;
    let key = std::fs::read_to_string(folder.join("lead.key")).expect("a key");
    format!("Bearer {}", key.lines().next().expect("a line"))
}

async fn call(w: &World, key: &str, path: &str, body: Value) -> Answer {
    w.request("POST", path).header("authorization", key).json(body.to_string()).send().await
}

#[tokio::test]
async fn lead_gets_from_a_table_to_a_report_and_removes_a_leaver() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let key = keys(folder).await;
    let file = folder.join("keys.txt");
    let w = World::plan().own_process().flag("--keys-file", file.to_str().expect("UTF-8")).start().await;
    saved(PAGE, &w, folder);
    let (before, after) = PAGE.split_once("\n## Report\n").expect("a report");
    run_as_printed(before, &w, folder).await;
    for (worker, skill, text) in [("ann", "en", "WIN a phone: click here"), ("bob", "de", "Die Lampe ist kaputt")] {
        let asked = json!({ "queues": ["comments"], "worker": worker, "skills": [skill] });
        let held = call(&w, &key, "/jobs/reserve", asked).await.is(200)["jobs"][0].clone();
        assert_eq!(held["payload"], json!({ "Text": text }), "its language and its priority are no part of the text");
        let result = json!({ "verdict": "fine" });
        call(&w, &key, "/jobs/complete", json!({ "reservation": held["reservation"], "result": result })).await.is(200);
    }
    let (intro, _) = PAGE.split_once("\n## Before the first day\n").expect("an introduction");
    run_as_printed(&format!("{intro}\n{after}"), &w, folder).await;
    let report = std::fs::read_to_string(folder.join("report.csv")).expect("a report");
    let rows: Vec<_> = report.lines().collect();
    assert_eq!(rows.len(), 3, "{report}");
    assert!(rows[0].starts_with("\u{feff}payload/Text,result,completed/worker,"), "{report}");
    assert!(rows[1].starts_with("WIN a phone: click here,\"{\"\"verdict\"\":\"\"fine\"\"}\",ann,"), "{report}");
    assert!(rows[2].starts_with("Die Lampe ist kaputt,"), "{report}");
}
