//! The scripts of docs/quality.md, saved and run as printed, on answers whose figures are known.

use serde_json::{Value, json};

use super::documented_calls::{run_as_printed, saved, shell};
use crate::world::World;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/quality.md"));

/// A queue whose workers may hold what they need.
async fn queue(w: &World, name: &str) {
    w.request("PATCH", &format!("/queues/{name}")).json(r#"{"worker_limit":0,"dedupe":false}"#).send().await.is(201);
}

/// Each of these workers takes as many jobs as there are answers, and hands them in.
async fn answer(w: &World, queue: &str, worker: &str, answers: &[&str]) {
    for part in answers.chunks(100) {
        let held = w.reserve_all(json!({ "queues": [queue], "worker": worker, "limit": part.len() })).await;
        assert_eq!(held.len(), part.len(), "{worker} in {queue}");
        let results = held.iter().zip(part);
        let results =
            results.map(|(job, verdict)| json!({ "reservation": job.reservation, "result": { "verdict": verdict } }));
        w.post("/jobs/complete", Value::Array(results.collect())).await.is(200);
    }
}

async fn enqueue(w: &World, queue: &str, payloads: impl Iterator<Item = Value>) {
    let jobs: Vec<_> = payloads.map(|payload| json!({ "queue": queue, "payload": payload })).collect();
    w.enqueue_many(jobs).await;
}

/// Each item is answered by both, in the order in which it was enqueued.
async fn pairs(w: &World, name: &str, ann: &[&str], bob: &[&str]) {
    queue(w, name).await;
    for (worker, answers) in [("ann", ann), ("bob", bob)] {
        enqueue(w, name, (0..answers.len()).map(|n| json!({ "item": n }))).await;
        answer(w, name, worker, answers).await;
    }
}

/// The blocks of these sections, after those that say where the service is.
fn sections(names: &[&str]) -> String {
    let parts: Vec<_> = PAGE.split("\n## ").collect();
    let of = |name: &&str| parts.iter().find(|part| part.starts_with(name)).unwrap_or_else(|| panic!("no {name}"));
    names.iter().fold(parts[0].to_owned(), |page, name| format!("{page}\n{}", of(name)))
}

fn part(text: &str, from: &str) -> (String, String) {
    let (before, after) = text.split_once(from).unwrap_or_else(|| panic!("the page has {from}"));
    (before.to_owned(), after.to_owned())
}

#[tokio::test]
async fn second_look_asks_other_people_about_a_few_answers_once() {
    let w = World::start_process().await;
    saved(PAGE, &w, w.folder());
    queue(&w, "reviews").await;
    let workers = ["ann", "bob", "cleo", "dan"];
    enqueue(&w, "reviews", (0..1000).map(|n| json!({ "review": n }))).await;
    for worker in workers {
        answer(&w, "reviews", worker, &["fine"; 250]).await;
    }
    let (first, rest) = part(&sections(&["A second look"]), "Give the queue `second-look` the");
    run_as_printed(&first, &w, w.folder()).await;
    run_as_printed(&first, &w, w.folder()).await;
    let waiting = w.get("/queues/second-look/jobs?state=waiting&limit=100").await.is(200);
    let chosen = waiting["jobs"].as_array().expect("a list").clone();
    assert!((15..=95).contains(&chosen.len()), "{} of 1,000 are 5 %, seven deviations apart", chosen.len());
    let payloads: std::collections::BTreeSet<_> = chosen.iter().map(|job| job["payload"].to_string()).collect();
    assert_eq!(payloads.len(), chosen.len(), "the second run asks nothing twice");
    for job in &chosen {
        let excluded = job["excluded"].as_array().expect("the first one is excluded");
        assert!(excluded.len() == 1 && workers.iter().any(|worker| excluded[0] == **worker), "{job}");
        assert!(
            job["payload"]["review"].is_u64() && job["payload"].as_object().map(|all| all.len()) == Some(1),
            "{job}"
        );
    }
    queue_of_second_looks(&w, &chosen).await;
    let intro = sections(&[]);
    run_as_printed(&format!("{intro}\n{rest}"), &w, w.folder()).await;
    let report: Value = shell_json(&w, "python3 agreement.py verdict reviews.ndjson second.ndjson").await;
    assert_eq!((&report["items"], &report["percent"]), (&json!(chosen.len()), &json!(0.0)), "each second look differs");
    w.check().await;
}

/// All that were asked say something else.
async fn queue_of_second_looks(w: &World, chosen: &[Value]) {
    w.request("PATCH", "/queues/second-look").json(r#"{"worker_limit":0}"#).send().await.is(200);
    let held = w.reserve_all(json!({ "queues": ["second-look"], "worker": "eve", "limit": 100 })).await;
    assert_eq!(held.len(), chosen.len());
    for job in held {
        w.complete_with(&job, json!({ "verdict": "spam" })).await.is(200);
    }
}

async fn shell_json(w: &World, command: &str) -> Value {
    serde_json::from_str(&shell(command, w.folder()).await).expect("JSON")
}

#[tokio::test]
async fn report_of_pairs_is_as_printed_and_lists_what_differs() {
    let w = World::start_process().await;
    saved(PAGE, &w, w.folder());
    let bob: Vec<_> = (0..100).map(|n| if n < 10 { "spam" } else { "fine" }).collect();
    pairs(&w, "pairs", &["fine"; 100], &bob).await;
    run_as_printed(&sections(&["The report"]), &w, w.folder()).await;
    let (_, differ) = part(&sections(&["Several opinions"]), "`differ.ndjson`, which the report writes");
    run_as_printed(&format!("{}\n{differ}", sections(&[])), &w, w.folder()).await;
    let decide = w.get("/queues/decide/jobs?state=waiting&limit=100").await.is(200);
    let decide = decide["jobs"].as_array().expect("a list");
    assert_eq!(decide.len(), 10);
    assert!(
        decide.iter().all(|job| job["payload"]["answers"] == json!({ "ann": "fine", "bob": "spam" })),
        "{decide:?}"
    );
    w.check().await;
}

#[tokio::test]
async fn known_answers_say_how_often_each_person_is_right() {
    let w = World::start_process().await;
    saved(PAGE, &w, w.folder());
    let texts: Vec<_> = (0..10).map(|n| format!("text \"{n}\", of a\r\nproducer")).collect();
    let rows = texts
        .iter()
        .enumerate()
        .map(|(n, text)| format!("\"{}\",,{}\r\n", text.replace('"', "\"\""), if n < 5 { "fine" } else { "spam" }));
    let table = format!("\u{feff}Text,Note,expected\r\n{}", rows.collect::<String>());
    std::fs::write(w.folder().join("known.csv"), table).expect("written");
    queue(&w, "comments").await;
    let known = || texts.iter().map(|text| json!({ "Text": text }));
    let ann = ["fine", "fine", "fine", "fine", "fine", "spam", "spam", "spam", "spam", "fine", "spam"];
    let bob = ["fine", "fine", "spam", "spam", "fine", "spam", "spam", "fine", "spam", "fine", "fine"];
    for (worker, answers) in [("ann", ann), ("bob", bob)] {
        let others = std::iter::once(json!({ "Text": format!("a new one of {worker}") }));
        enqueue(&w, "comments", known().chain(others)).await;
        answer(&w, "comments", worker, &answers).await;
    }
    run_as_printed(&sections(&["Known answers"]), &w, w.folder()).await;
    w.check().await;
}

/// The table of three teams, by the script of the page; Cohen's kappa by its own rule, here.
#[tokio::test]
async fn measures_of_the_table_are_those_that_the_script_computes() {
    let w = World::start_process().await;
    saved(PAGE, &w, w.folder());
    let rows = PAGE.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 10).skip(1);
    let rows: Vec<Vec<f64>> =
        rows.map(|row| row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect()).collect();
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [9, 9, 9]);
    for row in rows {
        let (fine, differ, spam) = (row[0], row[1], row[2]);
        let counts = format!("[C(fine=2)] * {fine} + [C(fine=1, spam=1)] * {differ} + [C(spam=2)] * {spam}");
        let found = shell_json(&w, &format!("python3 -c 'import json; from collections import Counter as C; from agreement import report; print(json.dumps(report({counts})))'")).await;
        let share = (fine + differ / 2.0) / 100.0;
        let chance = share * share + (1.0 - share) * (1.0 - share);
        let kappa = ((fine + spam) / 100.0 - chance) / (1.0 - chance);
        assert!((kappa - row[4]).abs() < 0.0006, "kappa is {kappa}: {row:?}");
        let confirmed = |answer: &str| found["by_answer"][answer]["confirmed"].clone();
        let all = [
            found["percent"].clone(),
            found["alpha"].clone(),
            found["ac1"].clone(),
            confirmed("fine"),
            confirmed("spam"),
        ];
        assert_eq!(all.map(|value| value.as_f64()), [row[3], row[5], row[6], row[7], row[8]].map(Some), "{row:?}");
    }
}

/// Four people, twelve items, gaps: the data of Krippendorff's *Computing Krippendorff's Alpha-Reliability* (2011), whose alpha is 0.743.
#[tokio::test]
async fn alpha_of_the_published_example_is_the_published_one() {
    let w = World::start_process().await;
    saved(PAGE, &w, w.folder());
    let people = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."];
    let items: Vec<String> =
        (0..12).map(|n| people.iter().filter_map(|all| all.get(n..=n)).filter(|one| *one != ".").collect()).collect();
    let items = items.into_iter().filter(|item: &String| item.len() > 1).collect::<Vec<_>>().join(" ");
    let found = shell_json(&w, &format!("python3 -c 'import json; from collections import Counter as C; from agreement import report; print(json.dumps(report([C(item) for item in \"{items}\".split()])))'")).await;
    assert_eq!((&found["items"], &found["alpha"]), (&json!(11), &json!(0.743)));
}
