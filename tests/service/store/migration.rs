//! The layout moves on while a program of the older one runs. The next layout is made up.

use intray::store::{LayoutStep, Queues, STEPS};
use serde_json::json;

use crate::world::{World, program, run};

fn steps() -> [LayoutStep; 2] {
    let [first] = STEPS;
    [first, LayoutStep { makes: 3, name: "0003_made_up", rewrite: None }]
}

/// A program of layout 2 gives the reason and does nothing.
async fn assert_refused(w: &World, why: &str) {
    let url = w.engine.url();
    for command in ["serve", "migrate", "check"] {
        let mut command = program([command, "--redis-url", &url]);
        command.env("INTRAY_LISTEN", "127.0.0.1:0");
        let end = run(command).await;
        assert!(!end.status.success() && [&end.stderr, &end.stdout].iter().any(|text| text.contains(why)), "{end:?}");
    }
    assert_eq!(w.get("/readyz").await.status, 503);
}

async fn assert_closed(w: &World, queue: &str, id: &str) {
    let calls = [
        ("POST", "/jobs".to_owned(), json!({ "queue": queue, "payload": 2 })),
        ("POST", "/jobs".to_owned(), json!({ "queue": "another", "payload": 2 })),
        ("POST", "/jobs/reserve".to_owned(), json!({ "queues": [queue] })),
        ("DELETE", format!("/jobs/{id}"), json!({})),
    ];
    for (method, path, body) in calls {
        let problem = w.request(method, &path).json(body.to_string()).send().await.refused("unavailable");
        assert_eq!(problem["applied"], false, "{method} {path}: {problem}");
    }
}

async fn migrate_under_a_service(w: &World, queues: &[String]) {
    let mut ids = Vec::new();
    for queue in queues {
        ids.push(w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await);
    }
    let _: u64 = w.engine.run("HSET intray:2:webhooks shop now").await;
    let (handle, steps) = (Queues::new(&w.engine.url(), "intray").expect("a handle"), steps());
    let mut interrupted = handle.migration(&steps[1]);
    assert!(interrupted.advance().await.expect("the registry"));
    assert_refused(w, "another layout").await;
    for _ in 0..=2 * queues.len() {
        assert!(interrupted.advance().await.expect("a queue, or that there is no other"));
    }
    for (queue, id) in queues.iter().zip(&ids) {
        assert_closed(w, queue, id).await;
    }
    assert_refused(w, "another layout").await;

    assert_eq!(handle.migrate(&steps, false).await.expect("the rest"), ["0003_made_up"]);
    assert_refused(w, "run a newer intray").await;
    for (queue, id) in queues.iter().zip(&ids) {
        assert_closed(w, queue, id).await;
        assert_eq!(w.engine.run::<u64>(&format!("HLEN intray:{{{queue}}}:3:jobs")).await, 1);
    }
    assert_eq!(w.engine.run::<u64>("ZCARD intray:3:queues").await, queues.len() as u64);
    assert_eq!(w.engine.run::<String>("HGET intray:3:webhooks shop").await, "now");
    assert_eq!(w.engine.run::<Vec<String>>("KEYS intray:{intray*").await, [""; 0], "no copy is left");
}

#[tokio::test]
async fn program_with_an_outdated_layout_is_not_ready() {
    migrate_under_a_service(&World::start().await, &["default".to_owned()]).await;
}

#[tokio::test]
async fn layout_of_a_cluster_is_migrated_on_every_node() {
    let w = World::start_cluster().await;
    migrate_under_a_service(&w, &w.queue_of_each_node().await).await;
}

#[tokio::test]
async fn migrate_says_when_there_is_nothing_to_do() {
    let w = World::start().await;
    for more in [&["--dry-run"][..], &[]] {
        let end = run(program(["migrate", "--redis-url", &w.engine.url()].iter().chain(more))).await;
        assert!(end.status.success() && end.stdout == "the layout is current\n", "{end:?}");
    }
    w.check().await;
}
