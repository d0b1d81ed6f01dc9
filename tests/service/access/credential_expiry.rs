//! Keys and tokens that are removed or expire during a call, and the longest lifetime of tokens.

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::world::{
    Client, World,
    access::{SECRET, issued, key, keys_file_line, signed},
    eventually, id_of,
    waiters::{MAX_WAIT_MS, Waiter},
};

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs()
}

/// Sends a waiting reserve for these queues, and returns when it is asleep.
async fn sleeps(w: &World, who: &Client, queues: &[&str]) -> Waiter {
    let before = w.script_runs("look").await + w.script_runs("reserve").await;
    let waiter = who.start_reserve(json!({ "queues": queues, "worker": "ann" }));
    eventually("the lookups have run", async || {
        (w.script_runs("look").await + w.script_runs("reserve").await >= before + queues.len() as u64).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!waiter.is_answered());
    waiter
}

async fn is_shut_out(who: &Client) {
    eventually("the credential is no longer valid", async || {
        (who.get("/workers/ann/reservations?queue=default").await.status == 401).then_some(())
    })
    .await;
}

/// The job was never reserved.
async fn is_still_there(w: &World, id: &str) {
    let job = eventually("it waits", async || {
        let job = w.job(id).await;
        (job["state"] == "waiting").then_some(job)
    })
    .await;
    assert_eq!(job["counts"]["handed_out"], 0, "{job}");
}

#[tokio::test]
async fn removed_key_ends_its_long_polls_without_a_job() {
    let w = World::plan().own_process().with_keys(&[("old", "worker", "*"), ("web", "producer", "*")]).start().await;
    let (old, web) = (w.with_credential(&key("old")), w.with_credential(&key("web")));
    let waiters = [sleeps(&w, &old, &["default"]).await, sleeps(&w, &old, &["default", "more"]).await];
    let id = w.enqueue_with(json!({ "queue": "seen", "payload": 1 })).await;
    let batch = id_of(&w.post("/batches", json!({ "queue": "seen", "jobs": [{ "payload": 1 }] })).await.is(201));
    let held = w.reserve_all(json!({ "queues": ["seen"], "limit": 2 })).await;
    let paths = [format!("/jobs/{id}"), format!("/batches/{batch}"), "/queues/seen/jobs?state=completed".to_owned()];
    let looks: Vec<_> = paths.iter().map(|path| web.long_poll(path)).collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    // A key of the same name in its place is another key.
    let new = keys_file_line("old", "worker", "*")
        .replace(&keys_file_line("old", "worker", "*")[13..], &keys_file_line("new", "worker", "*")[13..]);
    fs::write(w.folder().join("keys"), [keys_file_line("root", "operator", "*"), new].join("\n")).expect("written");
    is_shut_out(&old).await;
    for held in &held {
        w.complete(held).await.is(200);
    }
    for (path, look) in paths.iter().zip(looks) {
        let (answer, _) = look.answer().await;
        assert_eq!(answer.status, 401, "{path}: {}", answer.text());
        answer.refused("unauthorized");
    }
    let jobs = [w.enqueue(1).await, w.enqueue(2).await];
    for waiter in waiters {
        let (answer, _) = waiter.answer().await;
        assert_eq!(answer.status, 401, "{}", answer.text());
        answer.refused("unauthorized");
    }
    for id in &jobs {
        is_still_there(&w, id).await;
    }
    w.check().await;
}

#[tokio::test]
async fn expired_key_ends_its_waits_streams_and_tokens() {
    let keys = [("old", "worker", "*"), ("wall", "viewer", "*"), ("web", "producer", "*")];
    let w = World::plan().own_process().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    let [old, wall, web] = ["old", "wall", "web"].map(|name| w.with_credential(&key(name)));
    let waiter = sleeps(&w, &old, &["default"]).await;
    let mut stream = wall.listen("").await;
    // It is read again long before that, and after that nothing of the file changes.
    let end = jiff::Timestamp::now() + Duration::from_secs(8);
    let ending = |name: &str, role: &str| format!("{} until {end}", keys_file_line(name, role, "*"));
    let lines = [
        keys_file_line("root", "operator", "*"),
        ending("old", "worker"),
        ending("wall", "viewer"),
        ending("web", "producer"),
    ];
    fs::write(w.folder().join("keys"), lines.join("\n")).expect("written");
    eventually("the file is read", async || (!wall.get("/me").await.is(200)["until"].is_null()).then_some(())).await;
    assert!(!waiter.is_answered(), "a key with an expiry stays the same key");
    let day = json!({ "worker": "ann", "queues": ["default"], "ttl_ms": 86_400_000 });
    let minted = web.post("/tokens", day).await.is(200);
    let ann = w.with_credential(minted["token"].as_str().expect("a token"));
    let until = &ann.get("/me").await.is(200)["until"];
    assert_eq!((until, until), (&minted["expires_at"], &wall.get("/me").await.is(200)["until"]));
    is_shut_out(&old).await;
    assert_eq!(ann.get("/me").await.status, 401, "a token ends with the key that it is of");
    assert_eq!(old.get("/me").await.refused("unauthorized")["detail"], "the key is past its end");
    assert_eq!(stream.read_to_end().await.iter().filter(|message| message.kind != "heartbeat").count(), 0);
    let id = w.enqueue(1).await;
    let (answer, _) = waiter.answer().await;
    assert_eq!(answer.status, 401, "{}", answer.text());
    is_still_there(&w, &id).await;
    w.check().await;
}

/// Nothing happens in the queues, so only the end itself can tell the callers.
#[tokio::test]
async fn quiet_waits_are_answered_when_the_credential_ends() {
    let keys = [("old", "worker", "*"), ("gone", "worker", "*"), ("web", "producer", "*")];
    let w = World::plan().own_process().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    let [old, gone, web] = ["old", "gone", "web"].map(|name| w.with_credential(&key(name)));
    let ann = w.with_credential(&signed(SECRET, json!({ "exp": seconds() - 2 })));
    let id = w.enqueue_with(json!({ "queue": "quiet", "payload": 1 })).await;
    let batch = id_of(&w.post("/batches", json!({ "queue": "quiet", "jobs": [{ "payload": 1 }] })).await.is(201));
    let reserve = |who: &Client, worker: &str| who.start_reserve(json!({ "queues": ["default"], "worker": worker }));
    let mut waits = vec![reserve(&old, "bob"), reserve(&gone, "cleo"), reserve(&ann, "ann")];
    for path in [format!("/jobs/{id}"), format!("/batches/{batch}"), "/queues/quiet/jobs?state=completed".to_owned()] {
        waits.push(web.long_poll(&path));
    }
    let end = jiff::Timestamp::now() + Duration::from_millis(2_500);
    let ending = |name: &str, role: &str| format!("{} until {end}", keys_file_line(name, role, "*"));
    let lines = [keys_file_line("root", "operator", "*"), ending("old", "worker"), ending("web", "producer")];
    fs::write(w.folder().join("keys"), lines.join("\n")).expect("written");
    for (n, wait) in waits.into_iter().enumerate() {
        let (answer, took) = wait.timed_answer().await;
        assert_eq!(answer.status, 401, "{n}: {}", answer.text());
        took.assert_within(Duration::from_millis(MAX_WAIT_MS / 2), format!("call {n} is answered"));
    }
    w.check().await;
}

#[tokio::test]
async fn expired_token_ends_its_wait_without_a_job() {
    let w = World::plan().own_process().with_keys(&[]).flag("--token-secret", SECRET).start().await;
    // Clocks may differ by five seconds: it is over soon, and not yet.
    let ann = w.with_credential(&signed(SECRET, json!({ "exp": seconds() })));
    let waiter = sleeps(&w, &ann, &["default"]).await;
    is_shut_out(&ann).await;
    let id = w.enqueue(1).await;
    let (answer, _) = waiter.answer().await;
    assert_eq!(answer.status, 401, "{}", answer.text());
    is_still_there(&w, &id).await;
    w.check().await;
}

#[tokio::test]
async fn jwks_token_lifetime_is_limited_by_jwt_max_age() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/jwks.json");
    let plan = || World::plan().with_keys(&[]).flag("--jwks-file", file).flag("--token-secret", SECRET);
    let is_taken = async |w: &World, token: String| {
        w.with_credential(&token).post("/jobs/reserve", json!({ "queues": ["default"] })).await.status == 200
    };
    let (day, hour) = (plan().start().await, plan().flag("--jwt-max-age", "3600000").start().await);
    for (w, ahead, taken) in [
        (&day, 86_300, true),
        (&day, 86_500, false),
        (&day, 10_000_000_000, false),
        (&hour, 3_500, true),
        (&hour, 3_700, false),
    ] {
        for (algorithm, kid) in [(Algorithm::RS256, "r"), (Algorithm::ES256, "e"), (Algorithm::EdDSA, "d")] {
            let token = issued(algorithm, kid, json!({ "exp": seconds() + ahead }));
            assert_eq!(is_taken(w, token).await, taken, "{kid} for {ahead} s");
        }
    }
    // Tokens of the service are limited when they are signed.
    assert!(is_taken(&hour, signed(SECRET, json!({ "exp": seconds() + 7_200 }))).await);
    assert!(is_taken(&day, issued(Algorithm::EdDSA, "d", json!({ "exp": (seconds() + 60) as f64 + 0.5 }))).await);
}

#[tokio::test]
async fn metrics_show_only_queues_that_the_key_covers() {
    let w = World::plan().own_process().with_keys(&[("a", "operator", "a-*"), ("all", "operator", "*")]).start().await;
    for queue in ["a-1", "b-1", "b-a-1"] {
        w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await;
    }
    let queues = async |who: &str| {
        let text = w.with_credential(&key(who)).get("/metrics").await.text();
        for name in
            ["process_", "http_request_duration_seconds_count", "intray_script_duration_seconds", "# TYPE intray_jobs"]
        {
            assert!(text.lines().any(|line| line.starts_with(name)), "{who}: {name} is not in {text}");
        }
        assert!(text.contains(r#"route="/metrics""#) || text.contains("route=\"/jobs\""), "{text}");
        let of = |queue: &str| text.contains(&format!(r#"intray_jobs{{queue="{queue}",state="waiting"}} 1"#));
        let named = |queue: &str| text.contains(&format!("\"{queue}\""));
        ["a-1", "b-1", "b-a-1"].map(|queue| (of(queue), named(queue)))
    };
    assert_eq!(queues("all").await, [(true, true); 3]);
    assert_eq!(queues("a").await, [(true, true), (false, false), (false, false)]);
    w.check().await;
}

#[tokio::test]
async fn dot_segments_are_refused_as_queue_and_worker_names() {
    let w = World::plan().with_keys(&[]).flag("--token-secret", SECRET).start().await;
    for name in [".", ".."] {
        w.send_enqueue(json!({ "queue": name, "payload": 1 })).await.invalid_at(&["/queue"]);
        w.post("/batches", json!({ "queue": name, "jobs": [{ "payload": 1 }] })).await.invalid_at(&["/queue"]);
        w.post("/jobs/reserve", json!({ "queues": [name] })).await.invalid_at(&["/queues/0"]);
        w.post("/jobs/reserve", json!({ "worker": name })).await.invalid_at(&["/worker"]);
        w.post("/jobs/release", json!({ "queue": name, "worker": name })).await.invalid_at(&["/queue", "/worker"]);
        w.post("/tokens", json!({ "worker": name, "queues": ["default"] })).await.invalid_at(&["/worker"]);
        w.get(&format!("/queues/default/jobs?worker={name}")).await.invalid_by("parameter", &["worker"]);
        let by_token =
            w.with_credential(&signed(SECRET, json!({ "sub": name }))).post("/jobs/reserve", json!({})).await;
        by_token.refused("unauthorized");
    }
    w.get("/queues").await.is(200)["queues"].as_array().expect("a list").is_empty().then_some(()).expect("no queue");
    // Clients and locks are in no path, and three dots lead nowhere else.
    w.send_enqueue(json!({ "queue": "...", "payload": 1, "client": "..", "locks": ["."] })).await.is(201);
    let held: Value = w.post("/jobs/reserve", json!({ "queues": ["..."], "worker": "..." })).await.is(200);
    assert_eq!(held["jobs"][0]["worker"], "...");
    assert_eq!(
        w.get("/workers/.../reservations?queue=...").await.is(200)["reservations"][0]["id"],
        held["jobs"][0]["id"]
    );
    w.check().await;
}
