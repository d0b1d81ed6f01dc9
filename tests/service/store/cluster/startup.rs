//! What the start and `intray check` report about a cluster.

use serde_json::json;

use crate::world::{Client, Service, World, program, run};

#[tokio::test]
async fn check_names_the_faulty_node() {
    let w = World::start_cluster().await;
    let check = || run(program(["check", "--redis-url", &w.engine.url()]));
    let place = |nth| format!("127.0.0.1:{}", w.engine.port_of(nth));
    let well = check().await;
    assert!(well.status.success(), "{well:?}");
    let _: String = w.engine.run_on(1, "CONFIG SET maxmemory-policy allkeys-lru").await;
    let _: String = w.engine.run_on(2, "CONFIG SET cluster-require-full-coverage yes").await;
    let evicts = check().await;
    assert!(!evicts.status.success(), "{evicts:?}");
    let line = |word: &str| evicts.stdout.lines().find(|line| line.contains(word)).unwrap_or_default().to_owned();
    let report = line("eviction:");
    assert!(report.starts_with("wrong") && report.contains(&place(1)) && !report.contains(&place(2)), "{report}");
    let report = line("coverage:");
    assert!(report.starts_with("warning") && report.contains(&place(2)) && !report.contains(&place(1)), "{report}");
    w.check().await;
}

/// The flags of the servers on the page, `--name value`, with the values that Redis has without them.
#[tokio::test]
async fn cluster_of_the_page_on_moving_gets_no_warning() {
    const USUAL: [(&str, &str); 2] = [("cluster-require-full-coverage", "yes"), ("maxmemory-policy", "noeviction")];
    let page = include_str!("../../../../docs/move.md");
    let start = page.find("valkey-server --port").expect("the command that starts a server");
    let words: Vec<_> = page[start..].split("done").next().unwrap_or_default().split_whitespace().collect();
    let w = World::start_cluster().await;
    for (name, usual) in USUAL {
        let flag = format!("--{name}");
        let value = words.iter().position(|word| *word == flag).map_or(usual, |at| words[at + 1]);
        for nth in 0..w.engine.node_count() {
            let _: String = w.engine.run_on(nth, &format!("CONFIG SET {name} {value}")).await;
        }
    }
    let checked = run(program(["check", "--redis-url", &w.engine.url()])).await;
    assert!(checked.stdout.contains("ok       coverage") && checked.status.success(), "{checked:?}");
}

#[tokio::test]
async fn any_node_leads_to_all_others() {
    let w = World::start_cluster().await;
    for nth in 0..3 {
        let seed = format!("redis+cluster://127.0.0.1:1,127.0.0.1:{}", w.engine.port_of(nth));
        let checked = run(program(["check", "--redis-url", &seed])).await;
        assert!(checked.status.success(), "{checked:?}");
    }
    let gone = run(program(["check", "--redis-url", "redis+cluster://127.0.0.1:1"])).await;
    assert!(!gone.status.success() && gone.stdout.contains("not available"), "{gone:?}");
}

#[tokio::test]
async fn missing_right_for_the_slot_map_is_named() {
    let w = World::start_cluster().await;
    let rights = "on >PASSWORD ~intray:* &intray:* +@all -asking";
    let _: String = w.engine.run(&format!("ACL SETUSER app reset {rights}")).await;
    let url = w.engine.url().replace("://", "://app:PASSWORD@");
    let refused = run(program(["serve", "--listen", "127.0.0.1:0", "--redis-url", &url])).await;
    assert!(!refused.status.success() && refused.stderr.contains("+asking +cluster|slots"), "{refused:?}");
    assert!(refused.stderr.contains("not ASKING") && !refused.stderr.contains("PASSWORD@"), "{refused:?}");
}

#[tokio::test]
async fn documented_rights_are_enough_on_a_cluster() {
    let w = World::start_cluster().await;
    let printed = run(program(["check", "--acl", "--redis-url", &w.engine.url()])).await;
    let rights = printed.stdout.trim().trim_start_matches("ACL SETUSER intray ");
    let _: String = w.engine.run(&format!("ACL SETUSER app reset {rights}")).await;
    let url = w.engine.url().replace("://", "://app:PASSWORD@");
    let checked = run(program(["check", "--redis-url", &url])).await;
    assert!(checked.status.success() && checked.stdout.contains("ok       rights"), "{checked:?}");
    let service = Service::start(program(["serve", "--listen", "127.0.0.1:0", "--redis-url", &url])).await;
    let client = Client::new(service.url());
    for queue in w.queue_of_each_node().await {
        let waiter = client.start_wait(json!({ "queues": [queue], "worker": "ann" })).await;
        client.enqueue_with(json!({ "queue": queue, "payload": 1, "locks": ["a"] })).await;
        client.complete(&waiter.job().await).await.is(200);
        client.post(&format!("/queues/{queue}/sweep"), json!({})).await.is(200);
    }
    for nth in 0..3 {
        let log: Vec<Vec<redis::Value>> = w.engine.run_on(nth, "ACL LOG").await;
        // Without this right, the check reports less.
        let is_missed = |entry: &String| !["setinfo", "config|get"].iter().any(|word| entry.contains(word));
        let denied = log.iter().map(|entry| format!("{entry:?}")).filter(is_missed);
        assert_eq!(denied.collect::<Vec<_>>(), [""; 0], "of node {nth}");
    }
    w.check().await;
}
