//! Authorization: every route with every credential, and the answers for foreign ids.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::world::{
    Answer, Client, World,
    access::{SECRET, key, signed},
    contract::CONTRACT,
    id_of,
};

const KEYS: [(&str, &str, &str); 10] = [
    ("worker", "worker", "*"),
    ("asker", "asker", "*"),
    ("producer", "producer", "*"),
    ("viewer", "viewer", "*"),
    ("operator", "operator", "*"),
    ("worker-elsewhere", "worker", "else*"),
    ("asker-elsewhere", "asker", "else*"),
    ("producer-elsewhere", "producer", "else*"),
    ("viewer-elsewhere", "viewer", "else*"),
    ("operator-elsewhere", "operator", "else*"),
];

async fn guarded() -> World {
    let webhook = format!("shop http://127.0.0.1:1/ default completed {}", crate::webhooks::SECRET);
    World::plan().own_process().with_keys(&KEYS).with_webhooks([webhook]).flag("--token-secret", SECRET).start().await
}

fn method_of(path: &str, key: &str) -> Option<(String, String)> {
    (key != "parameters").then(|| (key.to_uppercase(), path.to_owned()))
}

/// Method and path template of everything that the contract has.
fn operations() -> Vec<(String, String)> {
    let paths = CONTRACT.document["paths"].as_object().expect("paths");
    let each = paths.iter().flat_map(|(path, item)| {
        item.as_object().expect("operations").keys().filter_map(|method| method_of(path, method))
    });
    each.collect()
}

/// The methods of each path of the contract; GET includes HEAD.
fn methods_by_path() -> BTreeMap<String, BTreeSet<String>> {
    let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (method, path) in operations() {
        let methods = paths.entry(path).or_default();
        methods.extend((method == "GET").then(|| "HEAD".to_owned()));
        methods.insert(method);
    }
    paths
}

/// A call that would do something, on things of the queue `default` that are there.
async fn call(w: &World, client: &Client, role: &str, method: &str, template: &str) -> Answer {
    if template == "/events" {
        return client.listen_answer("").await;
    }
    let job = id_of(&w.send_enqueue(json!({ "payload": 1, "dedupe": false })).await.is(201));
    let batch = id_of(&w.post("/batches", json!({ "sealed": false, "jobs": [{ "payload": 1 }] })).await.is(201));
    let id = if template.starts_with("/batches") { &batch } else { &job };
    let path = template
        .replace("{id}", id)
        .replace("{queue}", "default")
        .replace("{worker}", "ann")
        .replace("{name}", "shop")
        .replace("{wheel}", env!("BUILT_WHEEL"));
    let (path, body) = match (method, template) {
        ("POST", "/jobs") => (path, json!({ "payload": 1, "dedupe": false })),
        ("POST", "/batches") => (path, json!({ "jobs": [{ "payload": 1 }] })),
        ("POST", "/batches/{id}/jobs") => (path, json!({ "jobs": [{ "payload": 1 }] })),
        ("POST", "/tokens") => (path, json!({ "worker": "ann", "queues": ["default"] })),
        ("POST", "/jobs/reserve") => (path, json!({ "queues": ["default"] })),
        ("POST", "/jobs/release" | "/jobs/requeue") => (path, json!({ "id": job })),
        ("POST", "/jobs/reassign") => (path, json!({ "queue": "default", "from": "bob", "to": null })),
        ("POST", "/jobs/reprioritize") => (path, json!({ "queue": "default", "priority": 1 })),
        ("PATCH", "/jobs/{id}") => (path, json!({ "priority": 1 })),
        ("POST", settle) if CONTRACT.settle_calls().any(|call| call == settle) => {
            let held = w.reserve_with(json!({ "id": job })).await;
            (path, CONTRACT.settle_body(method, settle, &held.reservation).expect("a settle call"))
        }
        ("POST", "/webhooks/{name}/redeliver") => (path, json!({ "queue": "default" })),
        ("GET", "/workers/{worker}/reservations" | "/webhooks/{name}/deliveries") => {
            (format!("{path}?queue=default"), Value::Null)
        }
        ("GET", "/queues/{queue}/sheets") if role == "worker" => (format!("{path}?worker=ann"), Value::Null),
        ("GET", "/queues/{queue}/jobs") if role == "worker" => (format!("{path}?mine=true&worker=ann"), Value::Null),
        ("GET", "/queues/{queue}/jobs") => (format!("{path}?state=completed"), Value::Null),
        ("DELETE", "/queues/{queue}") => (format!("{path}?state=dead"), Value::Null),
        ("PATCH", _) | ("POST", _) => (path, json!({})),
        _ => (path, Value::Null),
    };
    let request = client.request(method, &path);
    if body.is_null() { request.send().await } else { request.json(body.to_string()).send().await }
}

#[track_caller]
fn refused(answer: &Answer, status: u16, slug: &str, what: &str) {
    assert_eq!(answer.status, status, "{what}: {}", answer.text());
    answer.refused(slug);
}

#[tokio::test]
async fn every_route_admits_only_its_roles_and_queues() {
    let w = guarded().await;
    let token = signed(SECRET, json!({}));
    let elsewhere = signed(SECRET, json!({ "queues": ["elsewhere"] }));
    let invalid_credentials: [Option<String>; 6] = [
        None,
        Some("nonsense".to_owned()),
        Some(key("unknown")),
        Some(signed("a secret that the service has not got", json!({}))),
        Some(signed(SECRET, json!({ "exp": 1 }))),
        Some("x".repeat(9_000)),
    ];
    let known = [
        ("worker", key("worker"), key("worker-elsewhere")),
        ("asker", key("asker"), key("asker-elsewhere")),
        ("producer", key("producer"), key("producer-elsewhere")),
        ("viewer", key("viewer"), key("viewer-elsewhere")),
        ("operator", key("operator"), key("operator-elsewhere")),
        ("worker", token, elsewhere),
    ];
    let (mut operations, mut walked) = (operations(), 0);
    operations.sort();
    for (method, template) in &operations {
        let security = &CONTRACT.document["paths"][template][method.to_lowercase()]["security"];
        let security = security.as_array().unwrap_or_else(|| panic!("{method} {template} does not say whom it is for"));
        let roles: Vec<_> = security.iter().map(|role| role["bearer"][0].as_str().expect("a role")).collect();
        // A viewer changes nothing.
        assert!(!roles.contains(&"viewer") || method == "GET", "{method} {template}");
        let what = |who: &str| format!("{method} {template} by {who}");
        for credential in &invalid_credentials {
            let client = credential.as_ref().map_or(w.without_credential(), |credential| w.with_credential(credential));
            let answer = call(&w, &client, "", method, template).await;
            match roles.is_empty() {
                false => refused(&answer, 401, "unauthorized", &what("invalid credentials")),
                true => assert_eq!(answer.status, 200, "{}: {}", what("invalid credentials"), answer.text()),
            }
            walked += 1;
        }
        for (own, here, elsewhere) in &known {
            let may = roles.is_empty() || roles.contains(own) || *own == "operator";
            let answer = call(&w, &w.with_credential(here), own, method, template).await;
            match may {
                true => assert!([200, 201].contains(&answer.status), "{}: {}", what(own), answer.text()),
                false => refused(&answer, 403, "forbidden", &what(own)),
            }
            let answer = call(&w, &w.with_credential(elsewhere), own, method, template).await;
            let of_queue = format!("{own} of another queue");
            match (may, template.as_str()) {
                (false, _) => refused(&answer, 403, "forbidden", &what(&of_queue)),
                (true, _) if roles.is_empty() => assert_eq!(answer.status, 200, "{}", answer.text()),
                (true, "/queues") => assert_eq!(answer.is(200), json!({ "queues": [], "next": null })),
                (true, "/me/queues") => assert_eq!(answer.is(200), json!({ "queues": [] })),
                (true, "/webhooks") => assert_eq!(answer.is(200), json!({ "webhooks": [] })),
                (true, path) if path.starts_with("/webhooks/{name}") => {
                    refused(&answer, 404, "unknown-webhook", &what(&of_queue));
                }
                (true, "/workers") => {
                    assert_eq!(answer.is(200)["server_time"], Value::Null, "there is no queue to see")
                }
                (true, "/workers/{worker}") if method == "GET" => {
                    assert_eq!(answer.is(200)["server_time"], Value::Null, "there is no queue to see")
                }
                (true, "/workers/{worker}") => assert_eq!(answer.is(200)["more"], json!(false)),
                (true, "/metrics" | "/redis" | "/me") => assert_eq!(answer.status, 200),
                (true, "/jobs/{id}" | "/jobs/{id}/events" | "/jobs/release" | "/jobs/requeue") => {
                    refused(&answer, 404, "unknown-job", &what(&of_queue));
                }
                (true, path) if path.starts_with("/batches/{id}") => {
                    refused(&answer, 404, "unknown-batch", &what(&of_queue));
                }
                (true, _) => refused(&answer, 403, "forbidden", &what(&of_queue)),
            }
            walked += 2;
        }
    }
    for (path, methods) in &methods_by_path() {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if methods.contains(method) {
                continue;
            }
            // Without a credential the methods of a route stay unknown.
            let answer = w.without_credential().request(method, path).send().await;
            assert_eq!(answer.status, 401, "{method} {path} without a credential");
            let answer = w.request(method, path).send().await;
            assert_eq!(answer.status, 405, "{method} {path} is not in the contract");
            let allowed: BTreeSet<_> = answer.headers["allow"].to_str().expect("text").split(',').collect();
            assert_eq!(allowed, methods.iter().map(String::as_str).collect(), "the methods of {path}");
        }
    }
    assert!(operations.len() > 25 && walked > 450, "{walked} calls");
    refused(&w.without_credential().get("/nowhere").await, 404, "not-found", "no route");
    w.check().await;
}

#[tokio::test]
async fn foreign_ids_get_the_same_answer_as_missing_ones() {
    let w = guarded().await;
    let there = w.enqueue(1).await;
    let batch = id_of(&w.post("/batches", json!({ "jobs": [{ "payload": 1 }] })).await.is(201));
    let absent = |id: &str, tail: &str| format!("{}{tail}", &id[..id.len() - tail.len()]);
    let (no_job, no_batch) = (absent(&there, "7ZZZZZZZZZZZ"), absent(&batch, "ZZZZ0000"));
    let plain = |answer: &Answer| {
        let mut headers: Vec<_> = answer.headers.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
        headers.retain(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()));
        headers.sort_by(|a, b| a.0.cmp(&b.0));
        (answer.status, headers, answer.text())
    };
    for (who, method, path, body) in [
        ("producer-elsewhere", "GET", "/jobs/{job}", Value::Null),
        ("producer-elsewhere", "DELETE", "/jobs/{job}?force=true", Value::Null),
        ("operator-elsewhere", "PATCH", "/jobs/{job}", json!({ "priority": 1 })),
        ("operator-elsewhere", "GET", "/jobs/{job}/events", Value::Null),
        ("operator-elsewhere", "POST", "/jobs/release", json!({ "id": "{job}" })),
        ("operator-elsewhere", "POST", "/jobs/requeue", json!({ "id": "{job}" })),
        ("worker-elsewhere", "POST", "/jobs/reserve", json!({ "id": "{job}" })),
        ("viewer-elsewhere", "GET", "/jobs/{job}", Value::Null),
        ("viewer-elsewhere", "GET", "/batches/{batch}", Value::Null),
        ("producer-elsewhere", "GET", "/batches/{batch}", Value::Null),
        ("producer-elsewhere", "DELETE", "/batches/{batch}", Value::Null),
        ("producer-elsewhere", "GET", "/batches/{batch}/results", Value::Null),
        ("producer-elsewhere", "POST", "/batches/{batch}/jobs", json!({ "jobs": [{ "payload": 1 }] })),
        ("producer-elsewhere", "POST", "/batches/{batch}/seal", json!({})),
    ] {
        let client = w.with_credential(&key(who));
        let all = w.with_credential(&key("operator"));
        let ask = async |client: &Client, job: &str, batch: &str| {
            let fill = |text: &str| text.replace("{job}", job).replace("{batch}", batch);
            let request = client.request(method, &fill(path));
            if body.is_null() { request } else { request.json(fill(&body.to_string())) }.send().await
        };
        let (elses, none) = (ask(&client, &there, &batch).await, ask(&client, &no_job, &no_batch).await);
        assert_eq!(elses.status, 404, "{method} {path}: {}", elses.text());
        assert_eq!(plain(&elses), plain(&none), "{method} {path}");
        assert_eq!(plain(&elses), plain(&ask(&all, &no_job, &no_batch).await), "the same answer as for an operator");
    }
    assert_eq!(w.state(&there).await, "waiting");
    let feed = w.with_credential(&key("producer")).get("/queues/default/jobs").await;
    refused(&feed, 403, "forbidden", "all jobs of a queue by a producer");
    w.check().await;
}

#[tokio::test]
async fn items_and_tokens_for_foreign_queues_are_forbidden() {
    let w = guarded().await;
    let producer = w.with_credential(&key("producer-elsewhere"));
    let answer = producer.post("/jobs", json!([{ "payload": 1 }, { "queue": "else", "payload": 2 }])).await.is(200);
    assert_eq!(answer["jobs"][0]["error"]["type"], "/problems/forbidden");
    assert_eq!(answer["jobs"][1]["queue"], "else");
    w.get("/queues/default").await.refused("unknown-queue");
    let asked = |body: Value| producer.post("/tokens", body);
    for (queues, status) in [
        (json!(["else"]), 200),
        (json!(["else*", "elsewhere*"]), 200),
        (json!(["else", "default"]), 403),
        (json!(["*"]), 403),
        (json!(["els*"]), 403),
        (json!([]), 422),
        (json!(["a b"]), 422),
    ] {
        let answer = asked(json!({ "worker": "ann", "queues": queues })).await;
        assert_eq!(answer.status, status, "{queues}: {}", answer.text());
    }
    asked(json!({})).await.invalid_at(&["/worker", "/queues"]);
    asked(json!({ "worker": "ann", "queues": ["else"], "ttl_ms": 86_400_001 })).await.invalid_at(&["/ttl_ms"]);
    w.check().await;
}

#[tokio::test]
async fn idempotency_keys_are_separate_per_credential() {
    let w = World::plan().with_keys(&[
        ("a", "producer", "*"),
        ("b", "producer", "*"),
        ("c", "worker", "*"),
        ("d", "worker", "*"),
    ]);
    let w = w.start().await;
    let put = async |who: &str, payload: u32| {
        let request = w.with_credential(&key(who)).request("POST", "/jobs").header("idempotency-key", "k");
        request.json(json!({ "payload": payload, "dedupe": false }).to_string()).send().await
    };
    let first = id_of(&put("a", 1).await.is(201));
    assert_eq!(id_of(&put("a", 1).await.is(201)), first);
    put("a", 2).await.refused("idempotency-key-reused");
    assert_ne!(id_of(&put("b", 2).await.is(201)), first);
    // A key alone is enough to find an unnamed caller's reservation again.
    let reserve = async |who: &str| {
        let request = w.with_credential(&key(who)).request("POST", "/jobs/reserve").header("idempotency-key", "r");
        request.json("{}").send().await.is(200)["jobs"][0]["reservation"].clone()
    };
    let (by_c, by_d) = (reserve("c").await, reserve("d").await);
    assert!(by_c.is_string() && by_d.is_string() && by_c != by_d);
    assert_eq!(reserve("c").await, by_c);
    w.check().await;
}
