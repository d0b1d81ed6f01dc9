//! A primary that moves, planned or not: the service follows it.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpListener;

use super::failovers::Load;
use crate::world::{Exit, Took, assert_contains, eventually, program, run, sentinels::SentinelSetup};

/// Waits until both replicas have every acknowledged change.
pub(super) async fn replicated(w: &SentinelSetup, node: usize) {
    eventually("both replicas are up to date", async || {
        (w.nodes[node].run::<u64>("WAIT 2 1000").await == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn service_follows_the_next_primary_without_a_restart() {
    let mut w = SentinelSetup::start().await;
    let (service, client) = w.serve(&[]).await;
    let id = client.enqueue("before").await;
    let held = client.reserve_as("ann").await;
    replicated(&w, 0).await;
    let waiter = client.start_wait(json!({ "worker": "bob" })).await;
    w.nodes[0].kill();
    let begin = Instant::now();
    let answer = client.send_enqueue(json!({ "payload": "during" })).await;
    Took::since(begin).assert_within(Duration::from_millis(2_500), "the answer");
    assert_eq!(answer.status, 503, "{}", answer.text());
    eventually("changes succeed again", async || {
        (client.send_enqueue(json!({ "payload": "after" })).await.status == 201).then_some(())
    })
    .await;
    assert_eq!(waiter.job().await.body["payload"], "after", "the earlier waiter is served");
    assert_eq!(client.complete(&held).await.is(200)["state"], "completed");
    assert_eq!(client.state(&id).await, "completed");
    eventually("the service is ready", async || (client.get("/readyz").await.status == 200).then_some(())).await;
    assert_eq!(client.metric("intray_redis_failovers_total").await, 1.0);
    assert!(service.output().contains("the primary has moved"), "{}", service.output());
    // Any of the sentinels may have led the failover.
    let next = eventually("all sentinels agree", async || w.agreed_primary().await.filter(|n| *n != 0)).await;
    w.check(next, &client).await;
}

#[tokio::test]
async fn planned_failover_under_load_loses_nothing() {
    let mut w = SentinelSetup::start().await;
    let (_service, client) = w.serve(&[]).await;
    let load = Load::default();
    let crowd = load.start(&client);
    load.more().await;

    let _: String = w.nodes[0].run("CLIENT PAUSE 60000 WRITE").await;
    replicated(&w, 0).await;
    eventually("a failover can begin", async || w.command_succeeds(0, "FAILOVER").await).await;
    let next = eventually("another primary is elected", async || Some(w.primary().await).filter(|n| *n != 0)).await;
    // The old primary claims its role until a sentinel corrects it, which takes ten seconds.
    eventually("the service follows", async || {
        (client.metric("intray_redis_failovers_total").await > 0.0).then_some(())
    })
    .await;
    let refusal = client.send_enqueue(json!({ "payload": "too early" })).await;
    if w.nodes[0].run::<String>("INFO replication").await.contains("role:master") {
        assert_contains(&refusal.refused("unavailable"), json!({ "applied": false }));
    }
    let _: String = w.nodes[0].run(&format!("REPLICAOF 127.0.0.1 {}", w.port(next))).await;
    load.more().await;
    load.end();
    crowd.join_all().await;
    assert_eq!(load.lost(&client).await, 0, "of {}", load.len());
    assert!(client.get("/readyz?verbose").await.text().contains("behind"));
    w.check(next, &client).await;
}

/// A sentinel announces a failover, and changes wait from then on.
#[tokio::test]
async fn changes_wait_during_an_unplanned_failover() {
    let mut w = SentinelSetup::start().await;
    let (service, client) = w.serve(&[]).await;
    let load = Load::default();
    let crowd = load.start(&client);
    load.more().await;
    eventually("a failover can begin", async || w.command_succeeds(0, "FAILOVER").await).await;
    let next = eventually("another primary is elected", async || Some(w.primary().await).filter(|n| *n != 0)).await;
    let _: String = w.nodes[0].run(&format!("REPLICAOF 127.0.0.1 {}", w.port(next))).await;
    load.more().await;
    load.end();
    crowd.join_all().await;
    println!("unplanned:  {} of {} acknowledged jobs are lost", load.lost(&client).await, load.len());
    assert!(service.output().contains("a failover has begun: changes wait"), "{}", service.output());
    w.check(next, &client).await;
}

/// Waits until the service has read the replication offset of a node, after the sentinels did.
async fn looked_at(w: &SentinelSetup, node: usize) {
    let asked = async || w.nodes[node].calls().await["info"];
    let (before, mut own) = (asked().await, 0);
    eventually("the service has looked", async || {
        own += 1;
        (asked().await - before - own > 6).then_some(())
    })
    .await;
}

/// The replicas lose the primary before its last changes, and cannot follow it again.
#[tokio::test]
async fn primary_with_missing_changes_serves_and_reports_them() {
    let mut w = SentinelSetup::start().await;
    let (service, client) = w.serve(&[]).await;
    client.enqueue("before").await;
    replicated(&w, 0).await;
    for replica in &w.nodes[1..] {
        let _: String = replica.run("CONFIG SET masterauth no-password-is-set").await;
    }
    let _: u64 = w.nodes[0].run("CLIENT KILL TYPE replica").await;
    let payload = "x".repeat(1_000);
    for n in 0..100 {
        client.enqueue_with(json!({ "payload": [n, payload] })).await;
    }
    looked_at(&w, 0).await;
    w.nodes[0].kill();
    eventually("changes succeed again", async || {
        (client.send_enqueue(json!({ "payload": "after" })).await.status == 201).then_some(())
    })
    .await;
    let report = eventually("readiness reports it", async || {
        let report = client.get("/readyz?verbose").await.text();
        report.contains("lacks at least").then_some(report)
    })
    .await;
    assert_eq!(client.get("/readyz").await.status, 200, "the service is ready: {report}");
    assert!(client.metric("intray_redis_missing_bytes").await > 100e3, "{report}");
    assert_eq!(service.output().matches("lacks at least").count(), 1, "{}", service.output());
}

fn refused(end: &Exit, words: &[&str]) {
    assert!(!end.status.success(), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "one clear line: {end:?}");
    for word in words {
        assert!(end.stderr.contains(word), "{word}: {end:?}");
    }
}

#[tokio::test]
async fn sentinel_credential_errors_are_one_clear_line() {
    let w = SentinelSetup::with_passwords("of-redis", "of-sentinels").await;
    let (right, wrong) = (w.path().join("right"), w.path().join("wrong"));
    std::fs::write(&right, "of-sentinels\n").expect("written");
    std::fs::write(&wrong, "hunter2\n").expect("written");
    let (right, wrong) = (right.to_str().expect("UTF-8"), wrong.to_str().expect("UTF-8"));
    let (_service, client) = w.serve(&["--sentinel-password-file", right]).await;
    client.enqueue(1).await;
    let (_second, client) = w.serve(&["--sentinel-password-file", right, "--sentinel-user", "default"]).await;
    assert_eq!(client.queue().await["counts"]["waiting"], 1);

    let serve = async |url: &str, flags: &[&str]| {
        let mut command = program(["serve", "--listen", "127.0.0.1:0", "--redis-url", url]);
        command.args(flags);
        run(command).await
    };
    refused(&serve(&w.url(), &[]).await, &["no sentinel answers"]);
    let end = serve(&w.url(), &["--sentinel-password-file", wrong]).await;
    refused(&end, &["no sentinel answers"]);
    assert!(!end.stderr.contains("hunter2"), "{end:?}");
    let another = w.url().replace("/jobs", "/another");
    refused(&serve(&another, &["--sentinel-password-file", right]).await, &["know no primary", "another"]);
    let other = w.url().replace("of-redis", "hunter2");
    let end = serve(&other, &["--sentinel-password-file", right]).await;
    refused(&end, &["the user or the password in its URL is wrong"]);
    assert!(!end.stderr.contains("hunter2"), "{end:?}");
    let end = run(program(["check", "--redis-url", "redis+sentinel://127.0.0.1:1/jobs"])).await;
    assert!(!end.status.success() && end.stdout.contains("no sentinel answers: 127.0.0.1:1"), "{end:?}");
}

/// Users of sentinels are separate from those of Redis, and need fewer rights.
#[tokio::test]
async fn sentinel_user_needs_only_query_and_subscribe() {
    let rights = "resetchannels &* -@all +sentinel|get-master-addr-by-name +sentinel|master +subscribe";
    let user = format!("watcher on >of-watcher {rights}");
    let mut w = SentinelSetup::with_user(&user).await;
    let secret = w.path().join("secret");
    std::fs::write(&secret, "of-watcher\n").expect("written");
    let shown = ["--sentinel-user", "watcher", "--sentinel-password-file", secret.to_str().expect("UTF-8")];
    let printed = run(program(["check", "--acl", "--redis-url", &w.url()])).await;
    for node in &w.nodes {
        let rights = printed.stdout.trim().replace("SETUSER intray", "SETUSER app reset");
        let _: String = node.run(&rights).await;
    }
    let (_service, client) = w.serve_with_credentials("app:PASSWORD", &shown).await;
    let waiter = client.start_wait(json!({ "worker": "ann" })).await;
    let id = client.enqueue(1).await;
    let held = waiter.job().await;
    client.complete(&held).await.is(200);
    replicated(&w, 0).await;
    w.nodes[0].kill();
    eventually("the service follows the sentinels", async || {
        (client.send_enqueue(json!({ "payload": "after" })).await.status == 201).then_some(())
    })
    .await;
    assert_eq!(client.state(&id).await, "completed");
    let next = eventually("all sentinels agree", async || Some(w.primary().await).filter(|n| *n != 0)).await;
    w.check(next, &client).await;
    let log: Vec<Vec<redis::Value>> = w.nodes[next].run("ACL LOG").await;
    let denied: Vec<_> =
        log.iter().map(|entry| format!("{entry:?}")).filter(|entry| !entry.contains("setinfo")).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}

#[tokio::test]
async fn unreachable_address_is_mapped_by_the_address_map() {
    let mut w = SentinelSetup::start().await;
    let door = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let (real, port) = (door.local_addr().expect("an address").port(), w.port(0));
    tokio::spawn(async move {
        while let Ok((mut caller, _)) = door.accept().await {
            tokio::spawn(async move {
                let mut server = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("Redis");
                let _ = tokio::io::copy_bidirectional(&mut caller, &mut server).await;
            });
        }
    });
    let map = format!("127.0.0.1:{port}=127.0.0.1:{real}");
    let (_service, client) = w.serve(&["--sentinel-map", &map]).await;
    client.enqueue(1).await;
    let list: String = w.nodes[0].run("CLIENT LIST TYPE normal").await;
    assert!(list.lines().filter(|line| line.contains("addr=127.0.0.1")).count() >= 1, "{list}");
    w.nodes[0].run::<String>("PING").await;
    let map = format!("127.0.0.1:{port}=127.0.0.1:1");
    let end = run(program(["check", "--redis-url", &w.url(), "--sentinel-map", &map])).await;
    assert!(!end.status.success() && end.stdout.contains("Redis is not available"), "{end:?}");
    w.check(0, &client).await;
}
