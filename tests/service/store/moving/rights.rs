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
    let line =
        run(program(check)).await.stdout.trim().replace("PASSWORD", "pw").replace(" intray on", " mover reset on");
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

/// Each right of each side is tried before anything is closed, by the dry run and by the move.
#[tokio::test]
async fn move_without_a_right_is_refused_before_it_closes_anything() {
    let (w, there) = (World::start().await, World::start_cluster().await);
    let [of_source, of_target] = named()[..] else { panic!("{:?}", named()) };
    w.enqueue(1).await;
    let held = w.reserve().await;
    for (side, needed) in [("source", of_source), ("target", of_target)] {
        for lacking in needed.split(' ').chain(["+hset", "+xrange"]) {
            let but_one = needed.replace(lacking, "");
            let revoked = lacking.replace('+', "-");
            let (source, target) = match side {
                "source" => (format!("{but_one} {revoked}"), of_target.to_owned()),
                _ => (of_source.to_owned(), format!("{but_one} {revoked}")),
            };
            let (from, to) = (allow(&w, source.trim()).await, allow(&there, target.trim()).await);
            let flags: [&[&str]; 2] = [&["--dry-run"], &[]];
            for flags in flags {
                let end = move_with_flags(&from, &to, flags).await;
                let name = lacking[1..].to_uppercase();
                assert!(!end.status.success(), "{side} {lacking}: {end:?}");
                assert!(end.stderr.contains(&name) && end.stderr.contains(" +zrem"), "{side} {lacking}: {end:?}");
                assert!(!end.stderr.contains("closing") && end.stderr.trim().lines().count() == 1, "{end:?}");
                assert!(end.stderr.contains("nothing was moved"), "{side} {lacking}: {end:?}");
                w.extend(&held).await.is(200);
            }
        }
    }
    let (from, to) = (allow(&w, "").await, allow(&there, "").await);
    let end = move_with_flags(&from, &to, &["--dry-run"]).await;
    for words in [of_source, of_target] {
        assert!(end.stderr.contains(words), "both lines: {end:?}");
    }
    assert!(!end.stderr.contains("pw"), "{end:?}");
    w.check().await;
}
