//! A primary that moves, by an accident and by a plan: the service goes where it goes, and who waits for what.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpListener;

use super::failovers::Load;
use crate::world::{Exit, assert_contains, eventually, program, run, sentinels::SentinelSetup};

/// The replicas have all that was acknowledged by now.
pub(super) async fn replicated(w: &SentinelSetup, node: usize) {
    eventually("both replicas have it", async || (w.nodes[node].run::<u64>("WAIT 2 1000").await == 2).then_some(()))
        .await;
}

#[tokio::test]
async fn when_the_primary_is_killed_the_service_goes_on_with_the_next_without_a_restart() {
    let mut w = SentinelSetup::start().await;
    let (service, client) = w.serve(&[]).await;
    let id = client.enqueue("before").await;
    let held = client.reserve_as("ann").await;
    replicated(&w, 0).await;
    let waiter = client.start_wait(json!({ "worker": "bob" })).await;
    w.nodes[0].kill();
    let begin = Instant::now();
    let answer = client.send_enqueue(json!({ "payload": "during" })).await;
    assert!(answer.status == 503 && begin.elapsed() < Duration::from_millis(2_500), "{}", answer.text());
    eventually("changes are made again", async || {
        (client.send_enqueue(json!({ "payload": "after" })).await.status == 201).then_some(())
    })
    .await;
    assert_eq!(waiter.job().await.body["payload"], "after", "who waited all the time is served");
    assert_eq!(client.complete(&held).await.is(200)["state"], "completed");
    assert_eq!(client.state(&id).await, "completed");
    eventually("readiness is back", async || (client.get("/readyz").await.status == 200).then_some(())).await;
    assert_eq!(client.metric("intray_redis_failovers_total").await, 1.0);
    assert!(service.output().contains("the primary has moved"), "{}", service.output());
    // Of the sentinels, not the first may have been the one to decide.
    let next = eventually("all have heard of it", async || w.agreed_primary().await.filter(|n| *n != 0)).await;
    w.check(next, &client).await;
}

#[tokio::test]
async fn a_switch_that_is_planned_loses_nothing_under_load_and_one_server_takes_changes_at_a_time() {
    let mut w = SentinelSetup::start().await;
    let (_service, client) = w.serve(&[]).await;
    let load = Load::default();
    let crowd = load.start(&client);
    load.more().await;

    let _: String = w.nodes[0].run("CLIENT PAUSE 60000 WRITE").await;
    replicated(&w, 0).await;
    eventually("a failover can begin", async || w.command_succeeds(0, "FAILOVER").await).await;
    let next = eventually("there is another primary", async || Some(w.primary().await).filter(|n| *n != 0)).await;
    // The one before claims to be primary until a sentinel tells it otherwise, which takes ten seconds.
    eventually("the service knows it", async || {
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

/// A sentinel that begins says so, and changes wait from then on.
#[tokio::test]
async fn a_switch_without_a_plan_is_survived_and_changes_wait_while_it_lasts() {
    let mut w = SentinelSetup::start().await;
    let (service, client) = w.serve(&[]).await;
    let load = Load::default();
    let crowd = load.start(&client);
    load.more().await;
    eventually("a failover can begin", async || w.command_succeeds(0, "FAILOVER").await).await;
    let next = eventually("there is another primary", async || Some(w.primary().await).filter(|n| *n != 0)).await;
    let _: String = w.nodes[0].run(&format!("REPLICAOF 127.0.0.1 {}", w.port(next))).await;
    load.more().await;
    load.end();
    crowd.join_all().await;
    println!("without a plan: {} of {} acknowledged jobs are lost", load.lost(&client).await, load.len());
    assert!(service.output().contains("a failover has begun: changes wait"), "{}", service.output());
    w.check(next, &client).await;
}

/// The service has seen by now how far a node has come: more have asked it than the sentinels and this.
async fn looked_at(w: &SentinelSetup, node: usize) {
    let asked = async || {
        let stats: String = w.nodes[node].run("INFO commandstats").await;
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_info:calls=")).expect("it is asked");
        calls.split(',').next().unwrap_or_default().parse::<u64>().expect("a number")
    };
    let (before, mut own) = (asked().await, 0);
    eventually("the service looks", async || {
        own += 1;
        (asked().await - before - own > 6).then_some(())
    })
    .await;
}

/// More than fits into the buffers between them: what the next primary has not got, nobody has any more.
#[tokio::test]
async fn a_primary_that_lacks_what_was_acknowledged_serves_and_says_since_when_and_how_much() {
    let mut w = SentinelSetup::start().await;
    let (service, client) = w.serve(&[]).await;
    client.enqueue("before").await;
    replicated(&w, 0).await;
    w.nodes[1].freeze();
    w.nodes[2].freeze();
    let payload = "x".repeat(250_000);
    for n in 0..160 {
        client.enqueue_with(json!({ "payload": [n, payload] })).await;
    }
    looked_at(&w, 0).await;
    w.nodes[0].kill();
    w.nodes[1].thaw();
    w.nodes[2].thaw();
    eventually("changes are made again", async || {
        (client.send_enqueue(json!({ "payload": "after" })).await.status == 201).then_some(())
    })
    .await;
    let said = eventually("it says so", async || {
        let said = client.get("/readyz?verbose").await.text();
        said.contains("lacks at least").then_some(said)
    })
    .await;
    assert_eq!(client.get("/readyz").await.status, 200, "it is ready all the same: {said}");
    assert!(client.metric("intray_redis_missing_bytes").await > 20e6, "{said}");
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
async fn sentinels_are_shown_what_they_want_to_see_and_what_is_wrong_is_said_in_a_line() {
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
    refused(&serve("redis+sentinel://127.0.0.1:1/jobs", &[]).await, &["no sentinel answers", "127.0.0.1:1"]);
}

/// Their users are theirs: one of ours at Redis is nobody there, and needs less.
#[tokio::test]
async fn a_user_of_the_sentinels_needs_to_ask_and_to_listen_and_nothing_else() {
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
    eventually("it goes where the sentinels say", async || {
        (client.send_enqueue(json!({ "payload": "after" })).await.status == 201).then_some(())
    })
    .await;
    assert_eq!(client.state(&id).await, "completed");
    let next = eventually("all have heard of it", async || Some(w.primary().await).filter(|n| *n != 0)).await;
    w.check(next, &client).await;
    let log: Vec<Vec<redis::Value>> = w.nodes[next].run("ACL LOG").await;
    let denied: Vec<_> =
        log.iter().map(|entry| format!("{entry:?}")).filter(|entry| !entry.contains("setinfo")).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}

#[tokio::test]
async fn an_address_that_leads_nowhere_from_here_is_understood_by_the_map() {
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
    let end = run(program([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--redis-url",
        &w.url(),
        "--sentinel-map",
        &format!("127.0.0.1:{port}=127.0.0.1:1"),
    ]));
    refused(&end.await, &["Redis is not available"]);
    w.check(0, &client).await;
}
