//! A slot without a node, or a full node: an upload continues with the other queues.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, eventually, program, run};

/// Uploads three lines for each queue, in turn, without keys: the answers, and the last line.
async fn uploaded(w: &World, queues: &[String]) -> (Vec<Value>, Value) {
    let line = |queue: &String| json!({ "queue": queue, "payload": 1, "dedupe": false }).to_string() + "\n";
    let body: String = queues.iter().cycle().take(9).map(line).collect();
    let answer = w.request("POST", "/jobs").header("content-type", "application/x-ndjson").body(body).send().await;
    let mut lines: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let last = lines.pop().expect("a last line");
    (lines, last)
}

/// Asserts that the lines of one queue are refused by number, and the others accepted.
async fn only_its_lines_are_refused(w: &World, queues: &[String], nth: usize, status: u16) {
    let (refused, last) = uploaded(w, queues).await;
    let counts =
        json!({ "lines": 9, "created": 6, "known": 0, "duplicates": 0, "errors": 3, "retryable": 3, "complete": true });
    assert_eq!(last, counts, "{refused:?}");
    for (one, line) in refused.iter().zip((nth + 1..).step_by(3)) {
        assert_eq!((&one["line"], &one["queue"]), (&json!(line), &json!(queues[nth])), "{one}");
        assert_eq!(one["error"]["status"], status, "{one}");
    }
}

#[tokio::test]
async fn unserved_slot_refuses_only_its_own_lines() {
    let w = World::start_cluster_with_default_redis_timeout().await;
    let queues = w.queue_of_each_node().await;
    assert_eq!(uploaded(&w, &queues).await.1["created"], 9);
    let ready = async || w.get("/readyz?verbose").await.text();
    assert!(ready().await.contains("slots: ok"), "{}", ready().await);

    let slot = w.engine.slot_of(&queues[1]).await;
    let _: String = w.engine.run_on(1, &format!("CLUSTER DELSLOTS {slot}")).await;
    only_its_lines_are_refused(&w, &queues, 1, 503).await;
    let warning = format!("slots: no node serves 1 of 16384 slots ({slot})\n");
    eventually("readiness names the slot", async || ready().await.contains(&warning).then_some(())).await;
    assert_eq!(w.get("/readyz").await.status, 200);

    let lines = queues.iter().map(|queue| format!("{{\"queue\":\"{queue}\",\"payload\":2}}\n"));
    fs::write(w.folder().join("jobs"), lines.collect::<String>()).expect("written");
    let heal = async {
        let waiting = async |queue: &str| w.get(&format!("/queues/{queue}")).await.is(200)["counts"]["waiting"].clone();
        eventually("the lines after it are stored", async || (waiting(&queues[2]).await == 7).then_some(())).await;
        let _: String = w.engine.run_on(1, &format!("CLUSTER ADDSLOTS {slot}")).await;
    };
    let mut import = program(["import", "jobs", "--url", w.base()]);
    import.current_dir(w.folder());
    let (end, ()) = tokio::join!(run(import), heal);
    assert!(end.status.success(), "{end:?}");

    let _: String = w.engine.run_on(2, "CONFIG SET maxmemory 1").await;
    only_its_lines_are_refused(&w, &queues, 2, 507).await;
    let _: String = w.engine.run_on(2, "CONFIG SET maxmemory 0").await;
    assert_eq!(uploaded(&w, &queues).await.1["created"], 9);
    w.check().await;
}

#[tokio::test]
async fn upload_stops_when_no_node_serves() {
    let mut w = World::start_cluster_with_default_redis_timeout().await;
    let queues = w.queue_of_each_node().await;
    assert_eq!(uploaded(&w, &queues).await.1["created"], 9);
    let (slot, owner) = (w.engine.slot_of(&queues[1]).await, w.engine.id_of(1).await);
    for node in 0..3 {
        let _: String = w.engine.run_on(node, "CONFIG SET cluster-require-full-coverage yes").await;
        // A node may have heard from another that the slot is unassigned, and refuses then.
        let _ = w.engine.try_run_on::<String>(node, &format!("CLUSTER DELSLOTS {slot}")).await;
    }
    // A cluster that requires full coverage serves no slot.
    eventually("the upload stops", async || (uploaded(&w, &queues).await.1["complete"] == false).then_some(())).await;
    let _: String = w.engine.run_on(1, &format!("CLUSTER ADDSLOTS {slot}")).await;
    for node in [0, 2] {
        let _: String = w.engine.run_on(node, &format!("CLUSTER SETSLOT {slot} NODE {owner}")).await;
    }
    w.engine.wait_for_cluster_ok().await;
    assert_eq!(uploaded(&w, &queues).await.1["created"], 9);
    w.check().await;
    (0..3).for_each(|node| w.engine.kill_node(node));
    let (_, last) = uploaded(&w, &queues).await;
    assert_eq!((&last["complete"], &last["error"]["status"]), (&json!(false), &json!(503)), "{last}");
}
