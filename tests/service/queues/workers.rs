//! The list of workers: who holds which job in all queues, expired leases first, and who waits.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::world::{Client, ReservedJob, World, access::key, eventually, id_of, program, run};

async fn held_by(w: &World, queue: &str, worker: &str, lease_ms: u64) -> String {
    w.enqueue_with(json!({ "queue": queue, "payload": worker })).await;
    let held = w.reserve_with(json!({ "queues": [queue], "worker": worker, "lease_ms": lease_ms })).await;
    held.id.clone()
}

async fn page(client: &Client, query: &str) -> (Vec<String>, Value) {
    let page = client.get(&format!("/workers{query}")).await.is(200);
    let held = page["held"].as_array().expect("a list").iter();
    (held.map(|held| held["worker"].as_str().expect("a name").to_owned()).collect(), page)
}

#[tokio::test]
async fn workers_are_listed_by_deadline_across_queues() {
    let w = World::start().await;
    w.stop_clock();
    for (queue, worker, lease_ms) in [
        ("b", "dan", 9_000),
        ("a", "eve", 9_000),
        ("c", "bob", 2_000),
        ("a", "ann", 1_000),
        ("b", "cat", 3_000),
        ("c", "fay", 9_000),
    ] {
        held_by(&w, queue, worker, lease_ms).await;
    }
    w.advance_clock(1_500);
    let (all, answer) = page(&w, "").await;
    assert_eq!(all, ["ann", "bob", "cat", "eve", "dan", "fay"], "by deadline, then by queue");
    assert_eq!((&answer["held"][0]["expires_in_ms"], &answer["held"][1]["expires_in_ms"]), (&json!(0), &json!(500)));
    for limit in 1..=6 {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let (some, answer) = page(&w, &format!("?limit={limit}{after}")).await;
            assert!(some.len() <= limit);
            found.extend(some);
            match answer["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(found, all, "pages of {limit}");
    }
    w.get("/workers?after=00").await.invalid_by("parameter", &["after"]);
    w.check().await;
}

/// Workers hold three jobs each, reserved together, so that these share a deadline.
async fn held_in_threes(w: &World) -> HashMap<String, ReservedJob> {
    let mut all = HashMap::new();
    for person in 0..8 {
        let queue = ["a", "b"][person % 2];
        w.enqueue_many((0..3).map(|_| json!({ "queue": queue, "payload": 1, "dedupe": false }))).await;
        let held = w.reserve_all(json!({ "queues": [queue], "limit": 3 })).await;
        all.extend(held.into_iter().map(|held| (held.id.clone(), held)));
        w.advance_clock(u64::from(person % 3 == 0));
    }
    assert_eq!(all.len(), 24);
    all
}

#[tokio::test]
async fn worker_pages_list_each_job_once_while_jobs_move() {
    let w = World::start().await;
    w.stop_clock();
    for limit in 1..=6 {
        let (mut all, mut listed, mut moved, mut after) =
            (held_in_threes(&w).await, Vec::new(), HashSet::new(), String::new());
        loop {
            let page = w.get(&format!("/workers?limit={limit}{after}")).await.is(200);
            let ids: Vec<_> = page["held"].as_array().expect("a list").iter().map(id_of).collect();
            // A job that moved comes again at the end.
            listed.extend(ids.iter().filter(|id| !moved.contains(*id)).cloned());
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
            let last = ids.last().expect("a last entry");
            if moved.insert(last.clone()) {
                w.advance_clock(1);
                match moved.len() % 3 {
                    0 => w.complete(&all.remove(last).expect("held")).await.is(200),
                    _ => w.extend(&all[last]).await.is(200),
                };
            }
        }
        let once: HashSet<_> = listed.iter().collect();
        assert_eq!((once.len(), listed.len()), (24, 24), "pages of {limit}");
        for held in all.values() {
            w.complete(held).await.is(200);
        }
    }
    w.check().await;
}

#[tokio::test]
async fn waiting_workers_are_listed_per_visible_queue() {
    let keys = [("elsewhere", "operator", "else*")];
    let w = World::plan().with_keys(&keys).start().await;
    held_by(&w, "here", "ann", 60_000).await;
    let wait = |worker: &str, queues: Value| {
        let request = w.request("POST", "/jobs/reserve");
        let body = json!({ "queues": queues, "worker": worker, "wait_ms": 30_000 }).to_string();
        tokio::spawn(async move { request.json(body).send().await })
    };
    let waiting = [wait("bob", json!(["here", "elsewhere"])), wait("cat", json!(["here"]))];
    let answer = eventually("both wait", async || {
        let answer = w.get("/workers").await.is(200);
        (answer["waiting_total"] == 2).then_some(answer)
    })
    .await;
    let mut names: Vec<_> =
        answer["waiting"].as_array().expect("a list").iter().map(|waits| &waits["worker"]).collect();
    names.sort_by_key(|name| name.to_string());
    assert_eq!((names, &answer["held"][0]["worker"]), (vec![&json!("bob"), &json!("cat")], &json!("ann")));
    let visible = w.with_credential(&key("elsewhere")).get("/workers").await.is(200);
    assert_eq!((&visible["held"], &visible["waiting_total"]), (&json!([]), &json!(1)));
    assert_eq!(visible["waiting"][0]["queues"], json!(["elsewhere"]), "only the queues that this key may see");
    for wait in waiting {
        wait.abort();
    }
    eventually("no worker waits", async || (w.get("/workers").await.is(200)["waiting_total"] == 0).then_some(())).await;
    w.check().await;
}

#[tokio::test]
async fn worker_names_with_outer_blanks_are_refused_everywhere() {
    let secret = "0123456789abcdef0123456789abcdef";
    let w = World::plan().with_keys(&[("web", "producer", "*")]).flag("--token-secret", secret).start().await;
    let web = w.with_credential(&key("web"));
    for name in [" ann", "ann ", " ", "\u{a0}ann", "ann\u{3000}", "\u{2003}ann\u{2028}"] {
        w.post("/jobs/reserve", json!({ "worker": name })).await.invalid_at(&["/worker"]);
        w.post("/jobs/release", json!({ "queue": "default", "worker": name })).await.invalid_at(&["/worker"]);
        web.post("/tokens", json!({ "worker": name, "queues": ["default"] })).await.invalid_at(&["/worker"]);
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for path in ["/queues/default/jobs", "/events"] {
            w.get(&format!("{path}?worker={encoded}")).await.invalid_by("parameter", &["worker"]);
        }
        w.get(&format!("/workers/{encoded}/reservations?queue=default")).await.invalid_by("parameter", &["worker"]);
        let end = run(program(["token", "--worker", name, "--queue", "default", "--token-secret", secret])).await;
        assert!(!end.status.success() && end.stderr.contains("white space at neither end"), "{name:?}: {end:?}");
    }
    // Blanks within a name are part of it, and names that look the same may differ.
    for (n, name) in ["Ann Smith", "Jos\u{e9}", "Jose\u{301}"].iter().enumerate() {
        w.enqueue(n).await;
        assert_eq!(w.reserve_as(name).await.body["worker"], *name);
    }
    w.check().await;
}
