//! The documented Redis users may do what a move needs, and no more.

use serde_json::json;

use crate::world::{World, move_process::move_with_flags, program, run};

/// The documented rights, for the source and for the target.
fn named() -> Vec<&'static str> {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/move.md"));
    page.split('`').skip(1).step_by(2).filter(|words| words.starts_with('+')).collect()
}

async fn allow(w: &World, more: &str) -> String {
    let mut check = vec!["check".to_owned(), "--acl".to_owned(), "--redis-url".to_owned(), w.engine.url()];
    check.retain(|word| !word.is_empty());
    let line = run(program(check)).await.stdout.trim().replace("PASSWORD", "pw").replace(" intray on", " mover on");
    for nth in 0..w.engine.node_count() {
        let _: String = w.engine.run_on(nth, &format!("{line} {more}")).await;
    }
    match w.engine.url() {
        url if w.engine.is_cluster() => url.replace("://", "://mover:pw@"),
        url => format!("{url}?user=mover&pass=pw"),
    }
}

#[tokio::test]
async fn documented_users_can_move_everything() {
    let (w, there) = (World::start().await, World::start_cluster().await);
    let [of_source, of_target] = named()[..] else { panic!("{:?}", named()) };
    w.enqueue_many((0..700).map(|n| json!({ "payload": n }))).await;
    let held = w.reserve().await;
    let (from, to) = (allow(&w, of_source).await, allow(&there, of_target).await);
    let end = move_with_flags(&from, &to, &[]).await;
    assert!(end.status.success(), "{end:?}");
    assert!(!format!("{end:?}").contains("pw@") && !format!("{end:?}").contains("pass="), "{end:?}");
    there.complete(&held).await.is(200);
    there.check().await;
}
