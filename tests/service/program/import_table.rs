//! `intray import --csv`: the rows of a table become jobs, or batches of opinions.

use std::{fs, process::Stdio, time::Duration};

use serde_json::{Value, json};

use super::bulk::{calling, imported};
use crate::world::{Exit, World, run, tool};

/// As Excel writes it in a country with a decimal comma.
const SHEET: &str = "\u{feff}Nr;Frage;Prio;Wer;\r\n007;\"Ist das\r\n\"\"gut\"\"?\";10;ann|bob;\r\n8;Größe?;;;\r\n;;;;\r\n9;Und das?\r\n";
const MAPS: [&str; 6] = ["--queue", "own", "--map", "Prio=priority", "--map", "Wer=assignees"];

/// Imports the table `text`.
async fn table(w: &World, text: impl AsRef<[u8]>, flags: &[&str]) -> Exit {
    fs::write(w.folder().join("table.csv"), text).expect("written");
    imported(w, &[&["--csv", "table.csv"], flags].concat()).await
}

async fn jobs(w: &World, queue: &str) -> Vec<Value> {
    let page = w.get(&format!("/queues/{queue}/jobs")).await.is(200);
    page["jobs"].as_array().expect("a list").clone()
}

async fn batches(w: &World, queue: &str) -> Vec<Value> {
    w.get(&format!("/batches?queue={queue}")).await.is(200)["batches"].as_array().expect("a list").clone()
}

fn report(rows: u64, new: u64, known: u64, refused: u64) -> String {
    format!("{rows} rows: {new} new, {known} known; 0 equal to one that is there; {refused} refused\n")
}

#[tokio::test]
async fn sheet_of_excel_becomes_a_job_a_row() {
    let w = World::start().await;
    let end = table(&w, SHEET, &MAPS).await;
    assert_eq!((end.status.code(), end.stdout, end.stderr.as_str()), (Some(0), report(3, 3, 0, 0), ""));
    let jobs = jobs(&w, "own").await;
    assert_eq!(jobs.len(), 3, "{jobs:?}");
    assert_eq!(jobs[0]["payload"], json!({ "Nr": "8", "Frage": "Größe?" }));
    assert_eq!((&jobs[0]["priority"], &jobs[0]["assignees"]), (&json!(50), &Value::Null));
    assert_eq!(jobs[1]["payload"], json!({ "Nr": "9", "Frage": "Und das?" }));
    assert_eq!(jobs[2]["payload"], json!({ "Nr": "007", "Frage": "Ist das\r\n\"gut\"?" }), "it is for two people");
    assert_eq!((&jobs[2]["priority"], &jobs[2]["assignees"]), (&json!(10), &json!(["ann", "bob"])));
    w.check().await;
}

#[tokio::test]
async fn repeated_import_of_a_table_adds_only_new_rows() {
    let w = World::start().await;
    table(&w, SHEET, &MAPS).await;
    let end = table(&w, SHEET, &MAPS).await;
    assert_eq!((end.status.code(), end.stdout), (Some(0), report(3, 0, 3, 0)));
    let end = table(&w, format!("{SHEET}10;Neu;;;\r\n"), &MAPS).await;
    assert_eq!((end.status.code(), end.stdout), (Some(0), report(4, 1, 3, 0)));
    let end = table(&w, SHEET.replace("Größe?", "Farbe?"), &MAPS).await;
    assert_eq!((end.status.code(), end.stdout), (Some(3), report(3, 0, 2, 1)), "a changed row is no new one");
    assert!(end.stderr.starts_with("row 3: "), "{}", end.stderr);
    let end = table(&w, SHEET, &[&MAPS[..], &["--first-line", "5"]].concat()).await;
    assert_eq!(end.stdout, report(1, 0, 1, 0));
    w.check().await;
}

#[tokio::test]
async fn bad_rows_are_refused_by_number_and_column() {
    let w = World::start().await;
    let bad = "Nr,Prio,Wer\n1,5,\n2,high,\n3,100,\n4,,,,x\n5,7,";
    let end = table(&w, format!("{bad}{}\n6,,\n", "n".repeat(200)), &MAPS).await;
    assert_eq!((end.status.code(), end.stdout.as_str()), (Some(3), report(6, 2, 0, 4).as_str()), "{}", end.stderr);
    let mut lines: Vec<_> = end.stderr.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines[0], "row 3, column Prio: \"high\" is no whole number");
    assert!(lines[1].starts_with("row 4, column Prio: priority: must be a whole number"), "{lines:?}");
    assert_eq!(lines[2], "row 5: has 5 cells, but there are 3 columns");
    assert!(lines[3].starts_with("row 6, column Wer: assignees"), "{lines:?}");
    let good = bad.replace("high", "1").replace("100", "99").replace(",,x", "");
    let end = table(&w, format!("{good}ann\n6,,\n"), &MAPS).await;
    assert_eq!((end.status.code(), end.stdout.as_str()), (Some(0), report(6, 4, 2, 0).as_str()), "{}", end.stderr);
    assert_eq!(jobs(&w, "own").await.len(), 6);
    w.check().await;
}

#[tokio::test]
async fn dry_run_of_a_table_sends_nothing() {
    let w = World::start().await;
    let rows: String = (1..=9).map(|n| format!("{n},{}\n", if n == 4 { "high" } else { "5" })).collect();
    let flags = ["--queue", "own", "--map", "Prio=priority", "--dry-run"];
    let end = table(&w, format!("Nr,Prio\n{rows}"), &flags).await;
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    assert_eq!(end.stderr, "row 5, column Prio: \"high\" is no whole number\n");
    let lines: Vec<_> = end.stdout.lines().collect();
    assert_eq!(lines[0], r#"{"queue":"own","payload":{"Nr":"1"},"priority":5}"#);
    assert_eq!((lines.len(), lines[5]), (6, "9 rows: 8 jobs, 1 refused; nothing was sent"));
    let end = table(&w, "Nr\n1\n", &["--overlap", "3", "--dry-run"]).await;
    let shown = "{\"overlap\":3,\"job\":{\"payload\":{\"Nr\":\"1\"}}}\n1 rows: 1 batches of 3 jobs, 0 refused; nothing was sent\n";
    assert_eq!((end.status.code(), end.stdout.as_str()), (Some(0), shown));
    assert_eq!(w.get("/queues").await.is(200)["queues"], json!([]));
    w.check().await;
}

#[tokio::test]
async fn overlap_makes_a_batch_of_opinions_a_row() {
    let w = World::start().await;
    let text = "Nr,Prio,Not\n1,10,ann\n2,200,\n3,,\n";
    let flags = ["--queue", "own", "--overlap", "3", "--map", "Prio=priority", "--map", "Not=excluded"];
    let end = table(&w, text, &flags).await;
    assert_eq!((end.status.code(), end.stdout.as_str()), (Some(3), report(3, 2, 0, 1).as_str()), "{}", end.stderr);
    assert!(end.stderr.starts_with("row 3, column Prio: priority: must be"), "{}", end.stderr);
    let made = batches(&w, "own").await;
    assert_eq!(made.iter().map(|batch| batch["counts"]["total"].clone()).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(jobs(&w, "own").await[0]["excluded"], json!(["ann"]));
    // The same moment by Redis's clock or not: which batches are known is exact.
    let end = table(&w, text.replace("200", "20"), &flags).await;
    assert_eq!((end.status.code(), end.stdout), (Some(0), report(3, 1, 2, 0)));
    let end = table(&w, format!("{}4,,\n", text.replace("200", "20")), &flags).await;
    assert_eq!((end.status.code(), end.stdout), (Some(0), report(4, 1, 3, 0)));
    let end = table(&w, text.replace("200", "20").replace("ann", "bob"), &flags).await;
    assert_eq!((end.status.code(), end.stdout), (Some(3), report(3, 0, 2, 1)), "a changed row is no new one");
    assert_eq!(batches(&w, "own").await.len(), 4);
    w.check().await;
}

#[tokio::test]
async fn killed_import_of_a_table_is_completed_by_the_next() {
    let w = World::start().await;
    for (queue, rows, flags, jobs) in [("own", 30_000, &[][..], 30_000), ("opinions", 300, &["--overlap", "2"], 600)] {
        let text: String = (0..rows).map(|n| format!("{n}\n")).collect();
        fs::write(w.folder().join("table.csv"), format!("Nr\n{text}")).expect("written");
        let words = [&["--csv", "table.csv", "--queue", queue], flags].concat();
        let mut command = calling(&w, &[&["import"], &*words].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        let path = format!("/queues/{queue}");
        while w.get(&path).await.json()["totals"]["enqueued"].as_u64().is_none_or(|jobs| jobs == 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        let end = imported(&w, &words).await;
        assert!(end.status.success() && !end.stdout.contains(" 0 known"), "{end:?}");
        let counts = &w.get(&path).await.is(200)["counts"];
        assert_eq!(counts["waiting"], jobs, "{queue}: {counts}");
    }
    w.check().await;
}

#[tokio::test]
async fn file_that_is_no_clear_table_sends_nothing() {
    let w = World::start().await;
    for (bytes, words) in [
        (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01"[..], "no text"),
        (b"", "is empty"),
        (b"a,b,a\n1,2,3\n", "two columns of the name a"),
        (b"a,b;c\n1,2\n", "--separator"),
        (b"a\n1\ngr\xf6\xdfe\n", "WINDOWS-1252"),
        (b"PK\x03\x04\x14\0\0\0", "save the sheet as CSV UTF-8"),
        (b"{\"payload\":1}\n", "leave out --csv"),
        (b"a,\"b\n1,2\n", "not closed"),
    ] {
        let end = table(&w, bytes, &[]).await;
        assert_eq!((end.status.code(), end.stderr.lines().count()), (Some(1), 1), "{words}: {end:?}");
        assert!(end.stderr.starts_with("intray: table.csv ") && end.stderr.contains(words), "{words}: {end:?}");
    }
    assert_eq!(w.get("/queues").await.is(200)["queues"], json!([]));
    let end = table(&w, "a,b\r\n", &[]).await;
    assert_eq!((end.status.code(), end.stdout), (Some(0), report(0, 0, 0, 0)), "a table of no rows");
    let end = table(&w, "a,b\n1,2\n3,\"4\n5,6\n", &[]).await;
    assert_eq!((end.status.code(), end.stdout), (Some(3), report(2, 1, 0, 1)), "a torn table");
    assert!(end.stderr.starts_with("row 3: has a quote that is not closed"), "{}", end.stderr);
    w.check().await;
}

#[tokio::test]
async fn large_table_takes_no_more_memory_than_a_small_one() {
    let w = World::start().await;
    let mut peaks = Vec::new();
    for rows in [1_000, 10_000] {
        let cell = "x".repeat(4_000);
        let text: String = (0..rows).map(|n| format!("{n},{cell}\n")).collect();
        fs::write(w.folder().join("table.csv"), format!("Nr,Text\n{text}")).expect("written");
        let script = "\"$0\" import --csv table.csv --queue own >report & pid=$!; \
                      while grep -s VmHWM /proc/$pid/status; do sleep 0.02; done; wait $pid";
        let mut bash = tool("bash");
        bash.args(["-c", script, env!("CARGO_BIN_EXE_intray")]).current_dir(w.folder()).env("INTRAY_URL", w.base());
        bash.stdout(Stdio::piped()).stderr(Stdio::piped());
        let end = run(bash).await;
        assert!(end.status.success(), "{end:?}");
        let report = fs::read_to_string(w.folder().join("report")).expect("a report");
        assert!(report.starts_with(&format!("{rows} rows: ")) && report.ends_with(" 0 refused\n"), "{report}");
        let peak = end.stdout.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).max();
        peaks.push(peak.expect("it was seen"));
    }
    // The large table has 36 MB more.
    assert!(peaks[1] < peaks[0] + (18 << 10), "{peaks:?} KiB");
    assert_eq!(w.get("/queues/own").await.is(200)["counts"]["waiting"], 10_000);
}
