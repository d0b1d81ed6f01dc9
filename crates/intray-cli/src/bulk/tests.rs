//! The table of `tests/retries.json`, which a test of each client reads, against answers of a fake service.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    calls::{Failure, NDJSON},
    import::{send_some, table::batches::post_once},
    retry_budget::{AskedPause, RetryBudget},
};
use crate::client::Service;

fn table() -> Value {
    serde_json::from_str(include_str!("../../../../tests/retries.json")).expect("a table")
}

fn cases(table: &Value) -> &Vec<Value> {
    table["cases"].as_array().expect("a list")
}

/// The bytes that a service of this case sends before it closes.
fn answer(case: &Value) -> String {
    match case["failure"].as_str() {
        Some("cut before the answer") => return String::new(),
        Some("cut within the answer") => {
            return format!("HTTP/1.1 200 x\r\ncontent-type: {NDJSON}\r\ncontent-length: 99\r\n\r\n{{");
        }
        Some(other) => panic!("{other}: no such failure"),
        None => {}
    }
    let problem = |slug: &str| {
        let (status, retry_after_ms) = (&case["status"], &case["retry_after_ms"]);
        let kind = format!("/problems/{slug}");
        json!({ "type": kind, "status": status, "detail": "no", "retry_after_ms": retry_after_ms }).to_string()
    };
    let body = case["problem"].as_str().map_or_else(|| "<h1>No</h1>".to_owned(), problem);
    let header = case["retry_after"].as_str().map(|text| format!("retry-after: {text}\r\n")).unwrap_or_default();
    let (status, length) = (&case["status"], if case["status"] == 204 { 0 } else { body.len() });
    format!("HTTP/1.1 {status} x\r\n{header}content-length: {length}\r\n\r\n{}", &body[..length])
}

fn service(case: &Value) -> Service {
    if case["failure"] == "no connection" {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        return Service::open(listener.local_addr().expect("bound"));
    }
    answering(answer(case))
}

fn answering(answer: String) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let service = Service::open(listener.local_addr().expect("bound"));
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a caller");
        // hyper accepts no answer that arrives before its call.
        stream.read_exact(&mut [0; 4]).expect("a call");
        stream.write_all(answer.as_bytes()).expect("a reader");
        drop(stream.shutdown(Shutdown::Write));
        io::copy(&mut stream, &mut io::sink())
    });
    service
}

#[tokio::test]
async fn command_line_follows_the_table_of_retries() {
    let table = table();
    let client = &table["clients"]["cli"];
    assert_eq!(client["tries"], 1, "what others try a few times is final");
    for case in cases(&table) {
        let failure = send_some(&service(case), "key", 1, Bytes::from_static(b"{}\n")).await.err();
        let pauses = [
            pause(failure.unwrap_or_else(|| panic!("{case}: it is no failure"))),
            // A row of a table, refused by itself or with its call.
            post_once(&service(case), "key", Bytes::from_static(b"[{}]")).await.map_or_else(pause, |_| None),
        ];
        let rule = case["but"].get("cli").unwrap_or(case);
        let range = match rule["do"].as_str() {
            Some("final" | "few") => None,
            Some("again") => Some(&client["pause_ms"]),
            Some("wait") => Some(&rule["wait_ms"]),
            _ => panic!("{case}: the command line has no such rule"),
        };
        let ms = |n: usize| range.and_then(|range| range[n].as_u64()).map(Duration::from_millis);
        assert!(pauses.iter().all(|pause| ms(0) <= *pause && *pause <= ms(1)), "{case}: {pauses:?}");
    }
}

fn pause(failure: Failure) -> Option<Duration> {
    match failure {
        Failure::Passing(_, asked) => RetryBudget::new().pause(Instant::now(), asked),
        Failure::Final(_) => None,
    }
}

#[tokio::test]
async fn refused_batch_of_a_row_is_sent_again_if_that_may_help() {
    for (status, retried) in [(422, false), (403, false), (429, true), (503, true), (507, true)] {
        let error = json!({ "type": "/problems/x", "status": status, "detail": "no", "retry_after_ms": 700 });
        let body = json!({ "batches": [{ "error": error }] }).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}", body.len());
        let outcome = post_once(&answering(format!("{head}\r\n\r\n{body}")), "key", Bytes::from_static(b"[{}]")).await;
        let expected = retried.then_some(Duration::from_millis(700));
        assert_eq!(outcome.map_or_else(pause, |_| None), expected, "{status}");
    }
}

#[test]
fn command_line_is_as_patient_as_the_table_says() {
    let table = table();
    let limit = Duration::from_secs(table["clients"]["cli"]["patience_s"][0].as_u64().expect("seconds"));
    let (mut retries, now) = (RetryBudget::new(), Instant::now());
    assert!(retries.pause(now, AskedPause::None).is_some());
    assert!(retries.pause(now + limit - Duration::from_millis(1), AskedPause::None).is_some());
    assert!(retries.pause(now + limit, AskedPause::None).is_none());
}

#[test]
fn table_of_retries_has_each_problem_of_the_contract() {
    let rows = include_str!("../../../../openapi.yaml").lines();
    let rows = rows.filter_map(|line| line.trim().strip_prefix("| `/problems/")?.split_once("` | "));
    let contract: BTreeSet<_> = rows
        .flat_map(|(slug, rest)| {
            let statuses = rest.split(" | ").next().unwrap_or_default();
            statuses.split(", ").map(move |status| (status.to_owned(), slug.to_owned()))
        })
        .collect();
    let table = table();
    let own =
        cases(&table).iter().filter_map(|case| Some((case["status"].to_string(), case["problem"].as_str()?.into())));
    assert_eq!(own.collect::<BTreeSet<_>>(), contract);
}
