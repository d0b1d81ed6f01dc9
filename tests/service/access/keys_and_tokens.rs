//! Reload of keys; creation, limits and rotation of tokens.

use std::fs;

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::world::{
    Client, Took, World,
    access::{SECRET, issued, key, keys_file_line, signed},
    eventually, program, run,
};

async fn reserves(client: &Client, status: u16) -> bool {
    client.post("/jobs/reserve", json!({ "queues": ["default"] })).await.status == status
}

#[tokio::test]
async fn keys_file_is_reloaded_while_the_service_runs() {
    let w = World::plan().own_process().with_keys(&[("old", "worker", "*")]).start().await;
    let (old, new) = (w.with_credential(&key("old")), w.with_credential(&key("new")));
    assert!(reserves(&old, 200).await && reserves(&new, 401).await);
    let (file, root) = (w.folder().join("keys"), keys_file_line("root", "operator", "*"));
    fs::write(
        &file,
        [&root, &*keys_file_line("old", "worker", "*"), &*keys_file_line("new", "worker", "*")].join("\n"),
    )
    .expect("written");
    eventually("the new key counts", async || reserves(&new, 200).await.then_some(())).await;
    assert!(reserves(&old, 200).await, "both do for a while");
    fs::write(&file, [&root, &*keys_file_line("new", "worker", "*")].join("\n")).expect("written");
    let begin = std::time::Instant::now();
    eventually("the old key does not", async || reserves(&old, 401).await.then_some(())).await;
    Took::since(begin).assert_within(std::time::Duration::from_secs(10), "the end of the old key");
    // A broken file changes nothing; the log names the line and not its text.
    fs::write(&file, format!("{root}\nsomebody hunter2 * nothing\n")).expect("written");
    eventually("the log says so", async || w.service.output().contains("line 2").then_some(())).await;
    assert!(reserves(&new, 200).await && !w.service.output().contains("hunter2"));
    fs::remove_file(&file).expect("removed");
    eventually("the log says so too", async || w.service.output().contains("No such file").then_some(())).await;
    assert!(reserves(&new, 200).await);
    fs::write(&file, root).expect("written");
    eventually("the new key is removed", async || reserves(&new, 401).await.then_some(())).await;
    w.check().await;
}

#[tokio::test]
async fn removed_key_ends_its_event_stream() {
    let w = World::plan().with_keys(&[("old", "operator", "*")]).start().await;
    let (mut staying, mut leaving) = (w.listen("").await, w.with_credential(&key("old")).listen("").await);
    fs::write(w.folder().join("keys"), keys_file_line("root", "operator", "*")).expect("written");
    assert_eq!(leaving.read_to_end().await.iter().filter(|message| message.kind != "heartbeat").count(), 0);
    w.with_credential(&key("old")).listen_answer("").await.refused("unauthorized");
    w.enqueue(1).await;
    assert_eq!(staying.read_events(1).await[0]["type"], "enqueued");
    w.check().await;
}

#[tokio::test]
async fn key_and_token_commands_print_working_credentials() {
    let w = World::plan().with_keys(&[]).flag("--token-secret", SECRET).start().await;
    let made = run(program(["key", "bot", "worker", "default"])).await;
    assert!(made.status.success(), "{made:?}");
    let (bot, its_line) = made.stdout.trim().split_once('\n').expect("two lines");
    assert!(its_line.starts_with("bot worker default ") && !its_line.contains(bot) && !made.stderr.contains(bot));
    fs::write(w.folder().join("keys"), format!("{}\n{its_line}\n", keys_file_line("root", "operator", "*")))
        .expect("written");
    let bot = w.with_credential(bot);
    eventually("the key counts", async || reserves(&bot, 200).await.then_some(())).await;
    // A worker key may use any worker name, or none.
    bot.post("/jobs/reserve", json!({ "worker": "bob" })).await.is(200);

    let token = |args: &[&str]| run(program(["token", "--worker", "ann", "--queue", "default"].iter().chain(args)));
    let made = token(&["--token-secret", SECRET]).await;
    assert!(made.status.success() && made.stdout.lines().count() == 1, "{made:?}");
    assert!(reserves(&w.with_credential(made.stdout.trim()), 200).await);
    assert!(!token(&[]).await.status.success(), "there is nothing to sign with");
    let secrets = w.folder().join("secrets");
    fs::write(&secrets, format!("{SECRET}\n")).expect("written");
    let secrets = secrets.display().to_string();
    let by_file = token(&["--token-secret-file", &secrets, "--ttl-ms", "60000"]).await;
    assert!(reserves(&w.with_credential(by_file.stdout.trim()), 200).await, "{by_file:?}");
    let foreign = token(&["--token-secret-file", &secrets, "--jwt-issuer", "another"]).await;
    assert!(reserves(&w.with_credential(foreign.stdout.trim()), 401).await);
    w.check().await;
}

#[tokio::test]
async fn token_sees_only_its_own_workers_reservations() {
    let w = World::plan().own_process().with_keys(&[("web", "producer", "*"), ("bot", "worker", "*")]);
    let w = w.flag("--token-secret", SECRET).start().await;
    w.send_enqueue(json!({ "queue": "reviews", "payload": 1 })).await.is(201);
    let mint = async |worker: &str| {
        let asked = json!({ "worker": worker, "queues": ["reviews", "default"], "ttl_ms": 60_000 });
        let answer = w.with_credential(&key("web")).post("/tokens", asked).await.is(200);
        w.with_credential(answer["token"].as_str().expect("a token"))
    };
    let (ann, bob) = (mint("ann").await, mint("bob").await);
    ann.post("/jobs/reserve", json!({ "worker": "bob" })).await.refused("forbidden");
    // Her queues and her name go without saying.
    let held = ann.post("/jobs/reserve", json!({})).await.is(200)["jobs"][0].clone();
    assert_eq!((&held["worker"], &held["queue"]), (&json!("ann"), &json!("reviews")));
    ann.post("/jobs/reserve", json!({ "queues": ["others"] })).await.refused("forbidden");
    let shown = ann.get("/workers/ann/reservations").await.is(200);
    assert_eq!(shown["reservations"][0]["reservation"], held["reservation"]);
    bob.get("/workers/ann/reservations").await.refused("forbidden");
    bob.post("/jobs/reserve", json!({ "id": held["id"] })).await.refused("wrong-state");
    let secret = held["reservation"].as_str().expect("a reservation").rsplit('.').next().expect("a secret").to_owned();
    let path = format!("/jobs/{}", held["id"].as_str().expect("an id"));
    for (who, path) in [
        ("bot", "/workers/ann/reservations?queue=reviews"),
        ("root", "/workers/ann/reservations?queue=reviews"),
        ("web", &*path),
        ("root", &*path),
        ("root", "/queues/reviews/jobs?state=reserved"),
        ("root", "/queues/reviews/workers"),
        ("root", "/metrics"),
    ] {
        let answer = w.with_credential(&key(who)).get(path).await;
        assert!(answer.status == 200 && !answer.text().contains(&secret), "{who} {path}: {}", answer.text());
    }
    // The reservation alone authorizes a settle call.
    let done =
        w.with_credential("nonsense").post("/jobs/complete", json!({ "reservation": held["reservation"] })).await;
    assert_eq!(done.is(200)["state"], "completed");
    w.check().await;
}

#[tokio::test]
async fn token_secret_is_rotated_in_two_steps() {
    let new = "the secret that comes after the first";
    let mut w = World::plan().own_process().with_keys(&[]).flag("--token-secret", SECRET).start().await;
    let (old, by_new) = (signed(SECRET, json!({})), signed(new, json!({})));
    assert!(reserves(&w.with_credential(&old), 200).await && reserves(&w.with_credential(&by_new), 401).await);
    for (secrets, old_counts) in [(format!("{new},{SECRET}"), true), (new.to_owned(), false)] {
        w.service.signal(libc::SIGTERM);
        assert!(w.service.wait_for_exit().await.success());
        w.set_flag("--token-secret", &secrets);
        w.restart().await;
        assert!(reserves(&w.with_credential(&by_new), 200).await);
        assert!(reserves(&w.with_credential(&old), if old_counts { 200 } else { 401 }).await);
        let minted =
            w.post("/tokens", json!({ "worker": "ann", "queues": ["default"] })).await.is(200)["token"].clone();
        let fresh = w.with_credential(minted.as_str().expect("a token"));
        assert!(reserves(&fresh, 200).await, "the first signs");
    }
    w.check().await;
}

#[tokio::test]
async fn jwks_tokens_need_a_listed_key_and_valid_claims() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("jwks.json");
    let jwks = include_str!("../../keys/jwks.json");
    fs::write(&file, jwks).expect("written");
    let w = World::plan().with_keys(&[]).flag("--jwks-file", &file.display().to_string());
    let w = w.flag("--jwt-issuer", "https://login.example").start().await;
    let iss = "https://login.example";
    let taken = async |token: &str| !reserves(&w.with_credential(token), 401).await;
    for (algorithm, kid) in [(Algorithm::RS256, "r"), (Algorithm::ES256, "e"), (Algorithm::EdDSA, "d")] {
        let token = |but: Value| {
            let mut all = json!({ "iss": iss });
            all.as_object_mut().expect("claims").extend(but.as_object().expect("claims").clone());
            issued(algorithm, kid, all)
        };
        assert!(taken(&token(json!({}))).await, "{kid}");
        for wrong in [
            json!({ "exp": null }),
            json!({ "exp": 1_000_000_000 }),
            json!({ "aud": "another" }),
            json!({ "aud": null }),
            json!({ "iss": "intray" }),
            json!({ "sub": null }),
            json!({ "sub": "ann " }),
            json!({ "queues": null }),
        ] {
            let answer = w.with_credential(&token(wrong.clone())).post("/jobs/reserve", json!({})).await;
            assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{kid} {wrong}");
        }
    }
    let n = serde_json::from_str::<Value>(jwks).expect("JSON")["keys"][0]["n"].as_str().expect("a modulus").to_owned();
    for forged in [
        issued(Algorithm::RS256, "unknown", json!({ "iss": iss })),
        issued(Algorithm::EdDSA, "e", json!({ "iss": iss })),
        signed(&n, json!({ "iss": iss })),
        signed(jwks, json!({ "iss": iss })),
        // {"alg":"none"} and no signature
        format!(
            "eyJhbGciOiJub25lIn0.{}.",
            issued(Algorithm::ES256, "e", json!({ "iss": iss })).split('.').nth(1).expect("claims")
        ),
        issued(Algorithm::ES256, "e", json!({ "iss": iss, "more": "x".repeat(8_192) })),
    ] {
        assert!(!taken(&forged).await, "{forged}");
    }
    w.post("/tokens", json!({ "worker": "ann", "queues": ["default"] })).await.refused("not-found");
    let rest = serde_json::from_str::<Value>(jwks).expect("JSON")["keys"][1].clone();
    fs::write(&file, json!({ "keys": [rest] }).to_string()).expect("written");
    let gone = issued(Algorithm::RS256, "r", json!({ "iss": iss }));
    eventually("a key that is not in the file is none", async || (!taken(&gone).await).then_some(())).await;
    assert!(taken(&issued(Algorithm::ES256, "e", json!({ "iss": iss }))).await);
    w.check().await;
}

#[tokio::test]
async fn logs_and_metrics_contain_no_secrets() {
    let mut plan = World::plan().own_process().with_keys(&[("web", "producer", "*")]).flag("--token-secret", SECRET);
    plan = plan.flag("--log-format", "json").trace_logs();
    let w = plan.start().await;
    let token = signed(SECRET, json!({}));
    w.with_credential(&key("web")).post("/jobs", json!({ "payload": "a-payload" })).await.is(201);
    let ann = w.with_credential(&token);
    let held = ann.post("/jobs/reserve", json!({})).await.is(200)["jobs"][0]["reservation"].clone();
    let reservation = held.as_str().expect("a reservation").to_owned();
    w.with_credential("a-wrong-key").get("/queues").await.refused("unauthorized");
    w.with_credential(&format!("{token}x")).get("/queues").await.refused("unauthorized");
    w.without_credential().get("/queues?token=in-an-address").await.refused("unauthorized");
    ann.get("/workers/ann/reservations").await.is(200);
    ann.post("/jobs/complete", json!({ "reservation": reservation, "result": "a-result" })).await.is(200);
    let metrics = w.get("/metrics").await.text();
    let output = w.service.output();
    assert!(output.contains("/jobs/reserve"), "the log has trace level");
    let signature = token.rsplit('.').next().expect("a signature");
    let secret = reservation.rsplit('.').next().expect("a secret");
    for word in [SECRET, "key-of-", &token, signature, secret, "a-payload", "a-result", "a-wrong-key", "in-an-address"]
    {
        for (where_to, text) in [("the log", &output), ("the figures", &metrics)] {
            assert!(!text.contains(word), "{word} is in {where_to}: {text}");
        }
    }
    w.check().await;
}

#[tokio::test]
async fn start_is_refused_with_unreadable_credential_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys");
    for (flag, text, word) in [
        ("--keys-file", None, "No such file"),
        ("--keys-file", Some("# ours\nweb producer * hunter2\n"), "line 2"),
        ("--jwks-file", Some("{}"), "not a JSON Web Key Set"),
        ("--jwks-file", Some(r#"{"keys":[{"kty":"oct","kid":"a","k":"hunter2"}]}"#), "key 1"),
        ("--token-secret-file", Some("hunter2"), "32 bytes"),
    ] {
        match text {
            Some(text) => fs::write(&file, text).expect("written"),
            None => drop(fs::remove_file(&file)),
        }
        let path = file.display().to_string();
        let end =
            run(program(["serve", "--listen", "127.0.0.1:0", "--redis-url", "redis://127.0.0.1:1", flag, &path])).await;
        assert!(!end.status.success() && end.stderr.contains(word), "{flag}: {end:?}");
        assert!(!end.stderr.contains("hunter2"), "{end:?}");
    }
}

#[tokio::test]
async fn auth_failures_show_their_reason_only_in_metrics() {
    let w = World::plan()
        .own_process()
        .with_keys(&[("web", "producer", "a-*")])
        .flag("--token-secret", SECRET)
        .start()
        .await;
    let now = jsonwebtoken::get_current_timestamp();
    let other = "another secret that is as long as ours is";
    let refused = [
        ("unknown_key", key("unlisted")),
        ("malformed", format!("{}.e30.e30", "eyJhbGciOiJIUzI1NiIsImNyaXQiOlsieCJdfQ")),
        ("bad_signature", signed(other, json!({}))),
        ("unknown_signer", issued(Algorithm::RS256, "unlisted", json!({}))),
        ("expired", signed(SECRET, json!({ "exp": now - 60 }))),
        ("not_yet_valid", signed(SECRET, json!({ "nbf": now + 600 }))),
        ("wrong_issuer", signed(SECRET, json!({ "iss": "another" }))),
        ("wrong_audience", signed(SECRET, json!({ "aud": "something" }))),
    ];
    let mut output = Vec::new();
    for (_, credential) in &refused {
        output.push(w.with_credential(credential).post("/jobs/reserve", json!({})).await.refused("unauthorized"));
    }
    assert!(
        output.iter().all(|problem| problem["detail"] == output[0]["detail"]),
        "the answers must not differ: {output:?}"
    );
    w.without_credential().get("/queues").await.refused("unauthorized");
    w.without_credential()
        .request("GET", "/queues")
        .header("authorization", "Basic x")
        .send()
        .await
        .refused("unauthorized");
    w.with_credential(&key("web")).get("/queues").await.refused("forbidden");
    let expected = refused.iter().map(|(reason, _)| *reason).chain(["missing", "forbidden"]);
    let times = |reason: &str| if reason == "malformed" { 2.0 } else { 1.0 };
    for reason in expected {
        let counted = w.metric(&format!(r#"intray_auth_failures_total{{reason="{reason}"}}"#)).await;
        assert!((counted - times(reason)).abs() < 0.5, "{reason}: {counted}");
    }
    w.check().await;
}
