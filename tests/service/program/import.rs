//! What `intray import` reads, and the job that each line becomes, or its refusal by line number.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::bulk::{exported, imported};
use crate::world::{Exit, World, program, run, tool};

/// The payloads of waiting jobs.
async fn payloads(w: &World, queue: &str) -> Vec<Value> {
    let page = w.get(&format!("/queues/{queue}/jobs")).await.is(200);
    page["jobs"].as_array().expect("a list").iter().map(|job| job["payload"].clone()).collect()
}

/// The numbers of refused lines.
fn refused(end: &Exit) -> Vec<&str> {
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    end.stderr.lines().map(|line| line.split(':').next().unwrap_or_default()).collect()
}

/// Runs the program through a shell.
fn by_a_shell(w: &World, script: &str) -> Command {
    let mut command = tool("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_intray")]).current_dir(w.folder());
    command.env("INTRAY_URL", w.base()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[tokio::test]
async fn import_ignores_a_byte_order_mark() {
    let w = World::start().await;
    fs::write(w.folder().join("jobs"), "\u{feff}{\"payload\":1}\r\n{\"payload\":2}\r\n").expect("written");
    fs::write(w.folder().join("payloads"), "\u{feff}3\n4\n").expect("written");
    for words in [&["jobs", "--queue", "own"][..], &["payloads", "--payloads", "--queue", "own"]] {
        let end = imported(&w, words).await;
        assert!(end.status.success(), "{end:?}");
    }
    assert_eq!(payloads(&w, "own").await, [1, 2, 3, 4]);
    w.get("/queues/default").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn refusal_quotes_a_file_without_orders_to_the_terminal() {
    let w = World::start().await;
    let lines = "{\"payload\":1,\"\\u001b]0;owned\\u0007\\u001b[2J\":2}\n";
    fs::write(w.folder().join("jobs"), lines).expect("written");
    let end = imported(&w, &["jobs"]).await;
    assert_eq!(refused(&end), ["line 1"]);
    assert!(end.stderr.contains("\u{fffd}]0;owned\u{fffd}\u{fffd}[2J") && !end.stderr.contains('\u{1b}'), "{end:?}");
    let end = imported(&w, &["no\u{1b}[2Jfile"]).await;
    assert!(end.stderr.contains("no\u{fffd}[2Jfile: ") && !end.stderr.contains('\u{1b}'), "{end:?}");
    w.check().await;
}

#[tokio::test]
async fn import_of_payloads_reads_no_other_job_field() {
    let w = World::start().await;
    let lines = "1,\"priority\":0,\"client\":\"mallory\"\n2,\"queue\":\"elsewhere\"\nnonsense\n{\"a\":[4]}\n";
    fs::write(w.folder().join("lines"), lines).expect("written");
    let end = imported(&w, &["lines", "--payloads", "--queue", "own"]).await;
    assert_eq!(refused(&end), ["line 1", "line 2", "line 3"], "{}", end.stderr);
    assert_eq!(payloads(&w, "own").await, [json!({ "a": [4] })]);
    w.get("/queues/elsewhere").await.refused("unknown-queue");
    // With `--payload`, an invalid object goes to the named queue too.
    fs::write(w.folder().join("lines"), "{\"payload\":1,\"\\ud800\":2}\n{\"payload\":1\n[]\n").expect("written");
    let end = imported(&w, &["lines", "--queue", "own"]).await;
    assert_eq!(refused(&end), ["line 1", "line 2", "line 3"], "{}", end.stderr);
    w.get("/queues/default").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn import_reads_pipes_and_names_unreadable_files() {
    let w = World::start().await;
    fs::write(w.folder().join("jobs"), "1\n2\n").expect("written");
    for script in [
        "\"$0\" import <(cat jobs) --payloads --queue a",
        "cat jobs | \"$0\" import /dev/stdin --payloads --queue b",
        "cat jobs | \"$0\" import - --payloads --queue c",
        "mkfifo pipe; cat jobs >pipe & \"$0\" import pipe --payloads --queue d",
    ] {
        let end = run(by_a_shell(&w, script)).await;
        assert!(end.status.success(), "{script}: {end:?}");
        assert_eq!(end.stdout, "2 lines: 2 new, 0 known; 0 equal to one that is there; 0 refused\n", "{script}");
    }
    let end = imported(&w, &["."]).await;
    assert_eq!((end.status.code(), end.stderr.trim()), (Some(1), "intray: .: Is a directory (os error 21)"));
    w.check().await;
}

#[tokio::test]
async fn too_long_line_is_refused_and_the_next_imported() {
    let w = World::start().await;
    // The rest of the long line would be a valid job.
    let long = format!("{{\"payload\":2}}{}x", " ".repeat(9 << 20));
    fs::write(w.folder().join("jobs"), format!("{{\"payload\":1}}\n{long}\n{{\"payload\":3}}\n")).expect("written");
    let end = imported(&w, &["jobs"]).await;
    assert_eq!(refused(&end), ["line 2"], "{}", end.stderr);
    assert_eq!(payloads(&w, "default").await, [1, 3]);
    w.check().await;
}

#[tokio::test]
async fn import_can_start_after_a_given_line() {
    let w = World::start().await;
    let lines: String = (1..=9).map(|n| format!("{n}\n")).collect();
    fs::write(w.folder().join("jobs"), &lines).expect("written");
    let end = imported(&w, &["jobs", "--payloads", "--first-line", "6"]).await;
    assert_eq!(end.stdout, "4 lines: 4 new, 0 known; 0 equal to one that is there; 0 refused\n", "{end:?}");
    assert_eq!(payloads(&w, "default").await, [6, 7, 8, 9]);
    // Numbers count lines of the file, and deduplication does not depend on where the import begins.
    fs::write(w.folder().join("jobs"), format!("{lines}nonsense\n")).expect("written");
    let end = imported(&w, &["jobs", "--payloads", "--first-line", "8"]).await;
    assert_eq!(refused(&end), ["line 10"], "{}", end.stderr);
    assert!(imported(&w, &["jobs", "--payloads", "--first-line", "11"]).await.status.success());
    assert_eq!(payloads(&w, "default").await.len(), 4);
    w.check().await;
}

#[tokio::test]
async fn import_ignores_states_and_results_of_exported_jobs() {
    let w = World::start().await;
    let cancelled = w.enqueue("cancelled").await;
    w.cancel(&cancelled).await.is(200);
    w.enqueue_with(json!({ "payload": "dead", "max_attempts": 1 })).await;
    w.fail(&w.reserve().await).await.is(200);
    w.enqueue("done").await;
    w.complete_with(&w.reserve().await, "fine").await.is(200);
    let mut lines = String::new();
    for state in ["dead", "completed", "cancelled"] {
        lines += &exported(&w, &["default", "--state", state]).await;
    }
    // A line without export fields is an ordinary line.
    lines += "{\"payload\":\"plain\"}\n{\"error\":{\"status\":503},\"next\":null}\n";
    fs::write(w.folder().join("jobs"), lines).expect("written");
    let end = imported(&w, &["jobs", "--exported"]).await;
    assert_eq!(refused(&end), ["line 5"], "{}", end.stderr);
    assert!(end.stderr.starts_with("line 5: payload: is required (and 2 more)\n"), "{}", end.stderr);
    assert_eq!(payloads(&w, "default").await, ["dead", "done", "cancelled", "plain"]);
    let job = w.reserve().await;
    assert_eq!((job.body["payload"].as_str(), job.number("attempt")), (Some("dead"), 1));
    w.check().await;
}

#[tokio::test]
async fn import_and_export_reject_a_url_of_a_web_page() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("jobs"), "1\n").expect("written");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let welcome = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 7\r\n\r\nwelcome";
    for words in [&["import", "jobs"][..], &["export", "q"], &["export", "q", "--csv"]] {
        let mut command = program(words);
        command.args(["--url", &url]).current_dir(folder.path());
        let page = async {
            let (mut stream, _) = listener.accept().await.expect("a caller");
            stream.read_buf(&mut Vec::with_capacity(4_096)).await.expect("a call");
            stream.write_all(welcome).await.expect("a reader");
            stream
        };
        let (end, _stream) = tokio::join!(run(command), page);
        assert_eq!((end.status.code(), end.stdout.as_str()), (Some(1), ""), "{words:?}: {end:?}");
        assert!(end.stderr.contains("not intray"), "{words:?}: {end:?}");
    }
}

/// PowerShell's `>`, a compressed file, one array, a table: one error, and nothing is sent.
#[tokio::test]
async fn import_recognizes_wrong_formats_before_it_sends() {
    let w = World::start().await;
    let utf16: Vec<u8> = "\u{feff}{\"payload\":1}\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes, words) in [
        ("utf16", utf16.as_slice(), "iconv"),
        ("packed", b"\x1f\x8b\x08\0\0\0\0\0", "gunzip -c"),
        ("archive", b"PK\x03\x04\x14\0\0\0", "unzip -p"),
        ("array", b"[\n{\"payload\":1},\n{\"payload\":2}\n]\n", "jq -c '.[]'"),
        ("pretty", b"{\n\"payload\":1\n}\n{\"payload\":2}\n", "jq -c ."),
        ("table", b"id,payload\n1,2\n", "a table"),
        ("marked", "\u{feff}[{\"payload\":1}]".as_bytes(), "jq -c '.[]'"),
    ] {
        fs::write(w.folder().join(name), bytes).expect("written");
        let end = imported(&w, &[name]).await;
        assert_eq!((end.status.code(), end.stderr.lines().count()), (Some(1), 1), "{name}: {end:?}");
        assert!(
            end.stderr.starts_with(&format!("intray: {name} is ")) && end.stderr.contains(words),
            "{name}: {end:?}"
        );
        let end = run(by_a_shell(&w, &format!("cat {name} | \"$0\" import -"))).await;
        assert!(end.stderr.starts_with("intray: standard input is ") && end.stderr.contains(words), "{name}: {end:?}");
    }
    assert_eq!(w.get("/queues").await.is(200)["queues"], json!([]), "nothing is sent");
    w.check().await;
}
