//! A restricted Redis user: the documented rights are required, sufficient, and checked before the first write.

use serde_json::json;

use crate::{
    webhooks::line,
    world::{
        Client, Engine, RETENTION_MS, Service, World, assert_contains, eventually, program,
        receiver::{Reaction, Receiver},
        run,
    },
};

/// The documented ACL rule.
fn needed() -> Vec<String> {
    let page = include_str!("../../../docs/scale.md");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER intray ")).expect("the line");
    line.split(' ').map(str::to_owned).collect()
}

async fn make_user(engine: &Engine, words: &[String]) {
    let _: u64 = engine.run("ACL DELUSER intray").await;
    let _: String = engine.run(&words.join(" ")).await;
}

fn url(engine: &Engine) -> String {
    format!("unix://{}?user=intray&pass=PASSWORD", engine.socket().display())
}

fn serve(engine: &Engine) -> std::process::Command {
    program(["serve", "--listen", "127.0.0.1:0", "--sweep-interval-ms", "50", "--redis-url", &url(engine)])
}

#[tokio::test]
async fn documented_rights_are_enough_for_every_call() {
    let w = World::start_process().await;
    make_user(&w.engine, &needed()).await;
    // This user prepares an empty Redis.
    let _: String = w.engine.run("FLUSHALL").await;
    let receiver = Receiver::start().await;
    let webhooks = w.folder().join("webhooks");
    std::fs::write(&webhooks, line("shop", &receiver, "*", "all")).expect("written");
    let mut command = serve(&w.engine);
    command.arg("--webhooks-file").arg(&webhooks);
    let service = Service::start(command).await;
    let client = Client::new(service.url());

    let waiter = client.start_wait(json!({ "queues": ["default"], "worker": "ann" })).await;
    let id = client.enqueue_with(json!({ "payload": "x".repeat(2_000), "locks": ["customer 7"], "client": "c" })).await;
    let held = waiter.job().await;
    assert_eq!(held.id, id);
    client.post("/jobs/extend", json!({ "reservation": held.reservation, "draft": "typed" })).await.is(200);
    client.complete(&held).await.is(200);
    client
        .post("/jobs", json!([{ "payload": 1 }, { "payload": 2, "delay_ms": 1_000 }, { "payload": 3 }]))
        .await
        .is(200);
    for call in ["/jobs/abandon", "/jobs/fail"] {
        let held = client.reserve().await;
        client.post(call, json!({ "reservation": held.reservation })).await.is(200);
    }
    let batch =
        json!({ "queue": "pages", "concurrency": 1, "jobs": [{ "payload": 1 }, { "payload": 2 }], "sealed": false });
    let batch = client.post("/batches", batch).await.is(201)["id"].as_str().expect("an id").to_owned();
    client.post(&format!("/batches/{batch}/jobs"), json!({ "jobs": [{ "payload": 3 }] })).await.is(200);
    client.post(&format!("/batches/{batch}/seal"), json!({})).await.is(200);
    client.get(&format!("/batches/{batch}/results")).await.is(200);
    client.reserve_with(json!({ "queues": ["pages"] })).await;
    client.delete(&format!("/batches/{batch}")).await.is(200);
    client.get("/queues").await.is(200);
    for list in ["jobs", "jobs?state=completed", "workers", "locks"] {
        client.get(&format!("/queues/default/{list}")).await.is(200);
    }
    client.get("/workers/ann/reservations").await.is(200);
    client.configure("default", json!({ "paused": true })).await;
    let other = client.get("/queues/default/jobs").await.is(200)["jobs"][0]["id"].as_str().expect("a job").to_owned();
    client.patch(&format!("/jobs/{other}"), json!({ "priority": 3 })).await.is(200);
    client.delete(&format!("/jobs/{other}")).await.is(200);
    client.post("/jobs/release", json!({ "queue": "pages", "worker": "none" })).await.is(200);
    client.post("/jobs/requeue", json!({ "queue": "default" })).await.is(200);
    client.post("/queues/default/sweep", json!({})).await.is(200);
    w.advance_clock(RETENTION_MS + 3_600_000);
    eventually("the sweeper removes ended jobs", async || {
        (client.get(&format!("/jobs/{id}")).await.status == 404).then_some(())
    })
    .await;
    client.delete("/queues/default?state=all").await.is(200);
    receiver.wait_for(10).await;
    receiver.react(|_| Reaction::Status(500));
    client.enqueue("y").await;
    for path in ["", "/shop/deliveries?queue=default"] {
        client.get(&format!("/webhooks{path}")).await.is(200);
    }
    client.post("/webhooks/shop/redeliver", json!({ "queue": "default" })).await.is(200);
    client.configure("sheets", json!({ "sheets": true })).await;
    client.send_enqueue(json!({ "queue": "sheets", "payload": 1 })).await.is(201);
    let held = client.reserve_with(json!({ "queues": ["sheets"], "worker": "zoe" })).await;
    client.complete(&held).await.is(200);
    assert_eq!(client.get("/queues/sheets/sheets").await.is(200)["lines"][0]["completed"], 1);
    assert_eq!(client.delete("/workers/zoe").await.is(200)["removed"], 1);
    client.configure("sheets", json!({ "sheets": false })).await;

    for command in ["check", "migrate"] {
        let end = run(program([command, "--redis-url", &url(&w.engine)])).await;
        assert!(end.status.success(), "{end:?}");
    }
    let figures = client.get("/metrics").await.text();
    assert!(!figures.contains("intray_script_faults_total"), "{figures}");
    let log: Vec<Vec<redis::Value>> = w.engine.run("ACL LOG").await;
    let denied: Vec<_> = log.iter().map(|entry| format!("{entry:?}")).collect();
    let denied: Vec<_> = denied.iter().filter(|entry| !entry.contains("setinfo")).collect();
    assert!(denied.is_empty(), "Redis refused commands outside the documented rights: {denied:#?}");
    w.check().await;
}

#[tokio::test]
async fn missing_right_is_named_before_anything_is_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let rights: Vec<_> = needed().into_iter().filter(|word| word.starts_with('+')).collect();
    assert!(rights.len() > 30, "{rights:?}");
    for lacking in ["+xadd", "+zrangebylex", "+evalsha", "+eval", "+unlink", "+hset", "+info", "+get"] {
        make_user(&engine, &needed().into_iter().filter(|word| word != lacking).collect::<Vec<_>>()).await;
        let name = lacking[1..].to_uppercase();
        let checked = run(program(["check", "--redis-url", &url(&engine)])).await;
        assert!(!checked.status.success(), "{lacking}: {checked:?}");
        let output = checked.stdout.lines().find(|line| line.starts_with("wrong    rights")).unwrap_or_default();
        assert!(
            output.contains(&format!("not {name}: ")) && output.contains(&needed().join(" ")),
            "{lacking}: {checked:?}"
        );
        let served = run(serve(&engine)).await;
        assert!(!served.status.success() && served.stderr.contains(&name), "{lacking}: {served:?}");
        assert!(!served.stderr.contains("PASSWORD@") && served.stderr.trim().lines().count() == 1, "{served:?}");
    }
    for lacking in ["+publish", "+subscribe"] {
        make_user(&engine, &needed().into_iter().filter(|word| word != lacking).collect::<Vec<_>>()).await;
        let checked = run(program(["check", "--redis-url", &url(&engine)])).await;
        let warned = format!("not {}, so that some things come late: ", lacking[1..].to_uppercase());
        assert!(checked.status.success() && checked.stdout.contains(&warned), "{lacking}: {checked:?}");
    }
    for lacking in ["+fcall", "+function|load", "+function|delete"] {
        make_user(&engine, &needed().into_iter().filter(|word| word != lacking).collect::<Vec<_>>()).await;
        let checked = run(program(["check", "--redis-url", &url(&engine)])).await;
        let warned = format!("not {}, so that Redis has more work: ", lacking[1..].to_uppercase());
        assert!(checked.status.success() && checked.stdout.contains(&warned), "{lacking}: {checked:?}");
    }
    let keys: Vec<String> = engine.run("KEYS *").await;
    assert!(keys.iter().all(|key| key == "intray:trial"), "nothing is stored:  {keys:?}");
    let mut elsewhere = needed();
    elsewhere.iter_mut().filter(|word| *word == "~intray:*").for_each(|word| *word = "~other:*".to_owned());
    make_user(&engine, &elsewhere).await;
    let served = run(serve(&engine)).await;
    assert!(!served.status.success() && served.stderr.contains("~intray:*"), "{served:?}");
    make_user(&engine, &needed()).await;
    let service = Service::start(serve(&engine)).await;
    assert_contains(
        &Client::new(service.url()).send_enqueue(json!({ "payload": 1 })).await.is(201),
        json!({ "state": "waiting" }),
    );
    let trial: u64 = engine.run("EXISTS intray:trial").await;
    assert_eq!(trial, 0, "the trial leaves no key");
}

#[tokio::test]
async fn redis_without_functions_is_served_by_scripts() {
    for lacking in [["+fcall", "+function|load", "+function|delete"].as_slice(), &["+fcall"], &["+function|load"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = Engine::start(folder.path(), false).await;
        let rights = needed().into_iter().filter(|word| !lacking.contains(&word.as_str()));
        make_user(&engine, &rights.collect::<Vec<_>>()).await;
        let service = Service::start(serve(&engine)).await;
        let client = Client::new(service.url());
        for n in 0..5 {
            client.send_enqueue(json!({ "payload": n })).await.is(201);
            client.complete(&client.reserve().await).await.is(200);
        }
        let output = service.output();
        let lines = output.lines().filter(|line| line.contains("does not take the library of functions"));
        assert_eq!(lines.count(), 1, "logged once:  {output}");
        assert!(!output.contains("a script failed"), "{output}");
    }
}

#[tokio::test]
async fn acl_rule_for_the_prefix_is_printed_without_redis() {
    let readme = needed().join(" ");
    let end = run(program(["check", "--acl", "--redis-url", "redis://127.0.0.1:1"])).await;
    assert!(end.status.success() && end.stdout.trim_end() == readme, "{end:?}");
    let end = run(program(["check", "--acl", "--prefix", "desk"])).await;
    assert_eq!(end.stdout.trim_end(), readme.replace("intray:*", "desk:*"));
}

#[tokio::test]
async fn revoked_redis_login_returns_503_and_applies_nothing() {
    let w = World::start_process().await;
    let id = w.enqueue(1).await;
    let take: [&str; 2] = ["ACL SETUSER default -fcall -evalsha -eval", "CONFIG SET requirepass secret"];
    let give: [&str; 2] = ["ACL SETUSER default +fcall +evalsha +eval", "ACL SETUSER default nopass"];
    for (take, give) in take.iter().zip(give) {
        let _: String = w.engine.run(take).await;
        if take.contains("requirepass") {
            let _: u64 = w.engine.run("CLIENT KILL TYPE normal SKIPME yes").await;
        }
        let put = async || {
            let answer = w.send_enqueue(json!({ "payload": 2 })).await;
            assert_eq!(answer.status, 503, "{}: {}", answer.text(), w.service.output());
            answer.refused("unavailable")["applied"].clone()
        };
        // A call on a connection that was cut may have been applied.
        eventually("calls report that nothing was applied", async || (put().await == false).then_some(())).await;
        for _ in 0..4 {
            assert_eq!(put().await, false);
        }
        let _: String = w.engine.run(give).await;
        eventually("the service recovers", async || (w.get(&format!("/jobs/{id}")).await.status == 200).then_some(()))
            .await;
    }
    assert_eq!(w.queue().await["counts"]["waiting"], 1);
    w.check().await;
}

/// A password rotated in Redis and in its file: the running service reconnects with the new one.
#[tokio::test]
async fn rotated_password_is_reloaded_from_its_file() {
    let w = World::start_process().await;
    let file = w.folder().join("url");
    let write = |password: &str| {
        let url = format!("unix://{}?user=rotated&pass={password}", w.engine.socket().display());
        std::fs::write(&file, url).expect("written");
    };
    let _: String = w.engine.run("ACL SETUSER rotated on >one ~* &* +@all").await;
    write("one");
    let path = file.to_str().expect("UTF-8").to_owned();
    let service = Service::start(program(["serve", "--listen", "127.0.0.1:0", "--redis-url-file", &path])).await;
    let client = Client::new(service.url());
    client.enqueue(1).await;
    for password in ["two", "three"] {
        let _: String = w.engine.run(&format!("ACL SETUSER rotated resetpass >{password}")).await;
        let _: i64 = w.engine.run("CLIENT KILL USER rotated").await;
        eventually("the old password is refused", async || (client.get("/readyz").await.status == 503).then_some(()))
            .await;
        write(password);
        let put = async || client.send_enqueue(json!({ "payload": password })).await;
        eventually("the new password is used", async || (put().await.status < 300).then_some(())).await;
        eventually("the service is ready", async || (client.get("/readyz").await.status == 200).then_some(())).await;
    }
    let output = service.output();
    assert!(output.contains("url changed: unix://") && !output.contains("three"), "{output}");
    w.check().await;
}
