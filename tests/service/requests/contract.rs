//! Every answer that the contract documents is provoked and checked against it.

mod batches;
mod bodies;
mod guarded;
mod jobs;
mod shape;
mod webhooks;

use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::json;

use self::guarded::Guarded;
use crate::world::{Answer, Client, World, access::SECRET, contract::CONTRACT, eventually};

/// A method, and a path with its parameters filled in.
struct Operation<'a> {
    method: &'a str,
    template: &'a str,
    path: String,
}

const UNKNOWN_RESERVATION: &str = "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ.7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
/// Routes that need no parameters and no state.
const SERVED: [&str; 17] = [
    "/",
    "/livez",
    "/readyz",
    "/metrics",
    "/me",
    "/openapi.yaml",
    "/client.js",
    "/client.d.ts",
    "/client.tgz",
    "/form.js",
    "/form.d.ts",
    "/form.css",
    "/python/",
    "/python/{wheel}",
    "/docs/",
    "/console/",
    "/desk/",
];

#[tokio::test]
async fn every_documented_answer_can_be_provoked() {
    let w = World::plan().own_process().with_webhooks([webhooks::line()]).start().await;
    w.update_settings(json!({ "worker_limit": 1 })).await;
    let guarded = Guarded::start().await;
    let crowded = World::plan().own_process().flag("--max-queues", "1").start().await;
    crowded.enqueue(1).await;
    let frozen = World::plan()
        .own_process()
        .with_default_redis_timeout()
        .with_keys(&[])
        .flag("--token-secret", SECRET)
        .with_webhooks([webhooks::line()]);
    let frozen = frozen.start().await;
    frozen.enqueue(1).await;
    let mut while_frozen = Vec::new();
    let mut provoked = 0;
    for (method, template, status, response) in CONTRACT.answers() {
        let problems = CONTRACT.problems(&response);
        let slugs = if problems.is_empty() { vec![String::new()] } else { problems };
        for slug in slugs {
            provoked += 1;
            let operation =
                Operation { method: &method, template: &template, path: filled(&template, unknown(&template)) };
            let w = if template == "/tokens" { &guarded.issuing } else { &w };
            let answer = match status {
                401 => guarded.unauthenticated(&operation).await,
                403 if slug == "forbidden" => guarded.other_role(&operation).await,
                404 if slug == "not-found" && template == "/tokens" => guarded.unsigned(&operation).await,
                200 | 201 => succeed(w, &operation, status).await,
                304 => unchanged(w, &operation).await,
                503 => {
                    while_frozen.push((method.clone(), template.clone(), status, slug));
                    continue;
                }
                507 if operation.template == "/workers/{worker}" => full_of_work(w).await,
                507 => full(w, &operation).await,
                429 if slug == "rate-limited" && needs_no_key(&operation) => guarded.guessing(&operation).await,
                429 if slug == "rate-limited" => too_often(&guarded.limited, &operation).await,
                429 if slug == "too-many-queues" => one_queue_more(&crowded, &operation).await,
                _ => refuse(w, &operation, &slug).await,
            };
            expect(&method, &template, status, &slug, &answer);
        }
    }
    assert!(provoked > 100, "the contract documents {provoked} answers");

    frozen.engine.freeze();
    let mut calls = tokio::task::JoinSet::new();
    for (method, template, status, slug) in while_frozen {
        let client = (*frozen).clone();
        calls.spawn(async move {
            let body = json!({
                "/jobs": { "payload": 2 }, "/jobs/{id}": { "priority": 1 }, "/jobs/release": { "id": jobs::UNKNOWN },
                "/jobs/requeue": { "id": jobs::UNKNOWN }, "/jobs/reprioritize": { "queue": "default", "priority": 1 },
                "/jobs/reassign": { "queue": "default", "from": "bob", "to": null },
                "/tokens": { "worker": "ann", "job": jobs::UNKNOWN },
                "/queues/{queue}": {}, "/batches": batches::items(),
                "/batches/{id}/jobs": batches::items(), "/webhooks/{name}/redeliver": webhooks::redelivery(),
            });
            let settling = CONTRACT.settle_body(&method, &template, UNKNOWN_RESERVATION);
            let body = settling.unwrap_or_else(|| body[&template].clone());
            let path = filled(&template, unknown(&template));
            let query = match (method.as_str(), template.as_str()) {
                ("DELETE", "/queues/{queue}") => "?state=all",
                (_, webhooks::DELIVERIES) => "?queue=default",
                _ => "",
            };
            let path = format!("{path}{query}");
            let request = client.request(&method, &path);
            let answer =
                if body.is_null() { request.send().await } else { request.json(body.to_string()).send().await };
            expect(&method, &template, status, &slug, &answer);
        });
    }
    calls.join_all().await;
    frozen.engine.thaw();
    w.check().await;
}

#[track_caller]
fn expect(method: &str, template: &str, status: u16, slug: &str, answer: &Answer) {
    assert_eq!(answer.status, status, "{method} {template} {slug}: {}", answer.text());
    if !slug.is_empty() {
        assert_eq!(answer.json()["type"], format!("/problems/{slug}"), "{method} {template}");
    }
}

fn filled(template: &str, id: &str) -> String {
    let path = template.replace("{id}", id).replace("{queue}", "default").replace("{worker}", "ann");
    path.replace("{wheel}", env!("BUILT_WHEEL")).replace("{name}", webhooks::NAME)
}

/// An id that does not exist, of the kind that the path needs.
fn unknown(template: &str) -> &'static str {
    if template.starts_with("/batches") { batches::UNKNOWN } else { jobs::UNKNOWN }
}

fn needs_no_key(operation: &Operation<'_>) -> bool {
    CONTRACT.document["paths"][operation.template][operation.method.to_lowercase()]["security"] == json!([])
}

/// Makes several calls at once, until one is over the rate limit.
async fn too_often(limited: &Client, operation: &Operation<'_>) -> Answer {
    let call = || limited.request(operation.method, &operation.path).json("{}").send();
    eventually("a call is over the rate limit", async || {
        // Successful answers are not awaited: a stream of events has no end.
        let mut answers: FuturesUnordered<_> = [call(), call(), call()].into_iter().collect();
        while let Some(answer) = answers.next().await {
            if answer.status == 429 {
                return Some(answer);
            }
        }
        None
    })
    .await
}

/// A call that would create a queue.
async fn one_queue_more(crowded: &Client, operation: &Operation<'_>) -> Answer {
    let body = match operation.template {
        "/jobs" => json!({ "queue": "another", "payload": 1 }),
        "/batches" => json!({ "queue": "another", "jobs": [{ "payload": 1 }] }),
        _ => json!({ "paused": true }),
    };
    let path = operation.path.replace("default", "another");
    crowded.request(operation.method, &path).json(body.to_string()).send().await
}

/// Asks again with the ETag of the first answer.
async fn unchanged(w: &World, operation: &Operation<'_>) -> Answer {
    let first = w.get(&operation.path).await;
    let tag = first.header("etag").expect("a version").to_owned();
    w.request(operation.method, &operation.path).header("if-none-match", &tag).send().await
}

async fn succeed(w: &World, operation: &Operation<'_>, status: u16) -> Answer {
    match operation.template {
        "/tokens" => w.post("/tokens", json!({ "worker": "ann", "queues": ["default"] })).await,
        template if template.starts_with("/batches") => batches::succeed(w, operation, status).await,
        template if template.starts_with("/webhooks") => webhooks::succeed(w, operation).await,
        _ => jobs::succeed(w, operation, status).await,
    }
}

async fn refuse(w: &World, operation: &Operation<'_>, slug: &str) -> Answer {
    let Operation { method, template, path } = operation;
    match slug {
        // For reads, a browser sends no Origin, only Sec-Fetch-Site.
        "origin-not-allowed" if *method == "GET" => {
            w.request(method, path).header("sec-fetch-site", "cross-site").send().await
        }
        "origin-not-allowed" => {
            w.request(method, path).header("origin", "https://evil.example").json("{}").send().await
        }
        "not-json" => w.request(method, path).json("{").send().await,
        "unsupported-media-type" => w.request(method, path).header("content-type", "text/html").body("{}").send().await,
        "too-large" => w.request(method, path).json(vec![b' '; (8 << 20) + 1]).send().await,
        "invalid-request" => w.request(method, &format!("{path}?nonsense=1")).json("{}").send().await,
        _ if template.starts_with("/batches") => batches::refuse(w, operation, slug).await,
        _ if template.starts_with("/webhooks") => webhooks::refuse(w, operation, slug).await,
        _ => jobs::refuse(w, operation, slug).await,
    }
}

/// A removal of the sheets of a worker whose work a full Redis cannot count.
async fn full_of_work(w: &World) -> Answer {
    w.update_settings(json!({ "sheets": true })).await;
    let held = w.reserve_with(json!({ "id": jobs::fresh(w).await, "worker": "dot" })).await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    w.complete(&held).await.is(200);
    let answer = w.delete("/workers/dot").await;
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    w.update_settings(json!({ "sheets": false })).await;
    answer
}

/// One call while Redis has no memory left.
async fn full(w: &World, operation: &Operation<'_>) -> Answer {
    let id = jobs::fresh(w).await;
    let held = w.reserve_with(json!({ "id": id })).await;
    let open = batches::open(w, "default").await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    let answer = match operation.template {
        "/batches" => w.post("/batches", batches::items()).await,
        "/batches/{id}/jobs" => w.post(&filled(operation.template, &open), batches::items()).await,
        "/jobs" => w.send_enqueue(json!({ "payload": "no room" })).await,
        "/jobs/complete" => w.complete_with(&held, "x".repeat(5_000)).await,
        typed @ ("/jobs/extend" | "/jobs/abandon") => {
            w.post(typed, json!({ "reservation": held.reservation, "draft": "x".repeat(5_000) })).await
        }
        given @ "/jobs/hand-over" => {
            let body = json!({ "reservation": held.reservation, "to": "bob", "draft": "x".repeat(5_000) });
            w.post(given, body).await
        }
        other => panic!("no case fills Redis for {other}"),
    };
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    answer
}

#[tokio::test]
async fn answers_of_any_route_can_be_provoked_at_every_route() {
    let w = World::plan().own_process().start().await;
    let broken = World::start_process().await;
    let code = unknown("/jobs/{id}").rsplit('-').next().expect("a code").to_owned();
    let _: u64 = broken.engine.run(&format!("HSET intray:{{default}}:2:jobs {code} nonsense")).await;
    let _: u64 = broken.engine.run("HSET intray:{default}:2:totals stamp nonsense").await;
    let _: u64 = broken.engine.run("ZADD intray:2:queues 1 default").await;
    let documented = CONTRACT.document["x-any-route-responses"].as_object().expect("a table").keys();
    for status in documented.map(|status| status.parse::<u16>().expect("a status")) {
        for template in CONTRACT.document["paths"].as_object().expect("paths").keys() {
            let method = CONTRACT.document["paths"][template]
                .as_object()
                .expect("methods")
                .keys()
                .find(|key| *key != "parameters")
                .expect("one")
                .to_uppercase();
            let path = filled(template, unknown(template));
            let answer = match status {
                404 => w.get(&format!("{path}/nowhere/at/all")).await,
                405 => w.request("PUT", &path).send().await,
                // Probes call by address, without a host name.
                421 if ["/livez", "/readyz"].contains(&template.as_str()) => continue,
                421 => w.request(&method, &path).header("host", "evil.example").send().await,
                // Tests of slow clients in `sockets.rs` reach it for all routes with a body.
                408 => continue,
                500 if SERVED.contains(&template.as_str()) => continue,
                500 => match (method.as_str(), template.as_str()) {
                    ("POST", "/jobs") => broken.send_enqueue(json!({ "payload": 1 })).await,
                    ("GET", "/jobs/{id}") => broken.get(&path).await,
                    _ => continue,
                },
                other => panic!("no case provokes {other}"),
            };
            assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        }
    }
    w.check().await;
}
