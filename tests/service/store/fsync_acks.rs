//! Changes acknowledged after fsync: which servers can promise that.

use serde_json::json;

use crate::world::{Engine, Exit, World, assert_contains, latest_server_program, program, run};

async fn serve(engine: &Engine) -> Exit {
    let url = format!("unix://{}", engine.socket().display());
    run(program(["serve", "--listen", "127.0.0.1:0", "--redis-url", &url, "--durability", "synced"])).await
}

/// How often Redis was asked whether it has synced.
async fn asked(w: &World) -> u64 {
    *w.engine.calls().await.get("waitaof").expect("asked at the start")
}

#[tokio::test]
async fn redis_without_waitaof_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), true).await;
    let info: String = engine.run("INFO server").await;
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).expect("a version");
    if !version.starts_with("7.0") {
        // A server that supports WAITAOF is refused without an append-only file.
        let _: String = engine.run("CONFIG SET appendonly no").await;
    }
    let end = serve(&engine).await;
    assert!(!end.status.success() && end.stderr.contains("--durability synced needs WAITAOF"), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "one clear line: {end:?}");
}

#[tokio::test]
async fn redis_with_waitaof_confirms_each_change() {
    let Some(program) = latest_server_program() else {
        println!("skipped: scripts/engine.sh latest installs a server with WAITAOF");
        return;
    };
    let w = World::plan()
        .with_server(program)
        .with_default_redis_timeout()
        .durable()
        .flag("--durability", "synced")
        .start()
        .await;
    let _: String = w.engine.run("CONFIG SET appendfsync always").await;
    let id = w.enqueue(1).await;
    let before = asked(&w).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(asked(&w).await, before + 1);
    w.complete(&held).await.is(200);
    assert_eq!(asked(&w).await, before + 2);
    assert_eq!((w.state(&id).await, w.empty_reason(json!({})).await), ("completed".to_owned(), "empty".to_owned()));
    assert_eq!(asked(&w).await, before + 2, "reads and empty reserves wait for no sync");

    // Redis no longer syncs.
    let _: String = w.engine.run("CONFIG SET appendfsync no").await;
    let refusal = w.send_enqueue(json!({ "payload": 2 })).await;
    assert_eq!(refusal.status, 503, "{}", refusal.text());
    assert_contains(&refusal.refused("unavailable"), json!({ "applied": "unknown" }));
    let _: String = w.engine.run("CONFIG SET appendfsync always").await;
    w.enqueue(3).await;
    assert_eq!(w.state(&id).await, "completed");

    let _: String = w.engine.run("CONFIG SET appendonly no").await;
    let end = serve(&w.engine).await;
    assert!(!end.status.success() && end.stderr.contains("`appendonly yes`"), "{end:?}");
    w.check().await;
}
