//! A move that is impossible: one line gives the reason, and the source keeps serving.

use intray::job::limits::REDIS_TIMEOUT_DEFAULT_MS;
use serde_json::json;

use crate::world::{
    ReservedJob, World,
    move_process::{MoveProcess, move_queues, move_with_flags},
    program, run,
};

async fn with_jobs(jobs: usize) -> (World, ReservedJob) {
    let w = World::start_process().await;
    for from in (0..jobs).step_by(500) {
        w.enqueue_many((from..jobs.min(from + 500)).map(|n| json!({ "payload": n }))).await;
    }
    let held = w.reserve().await;
    (w, held)
}

async fn is_served(w: &World, held: &ReservedJob) {
    w.extend(held).await.is(200);
    w.enqueue_with(json!({ "payload": "as before", "dedupe": false })).await;
    w.check().await;
}

#[tokio::test]
async fn move_to_an_existing_queue_name_is_refused() {
    let ((w, held), there) = (with_jobs(3).await, World::start_cluster().await);
    w.enqueue_with(json!({ "queue": "new", "payload": 1 })).await;
    there.enqueue("another's").await;
    let flags: [&[&str]; 2] = [&[], &["--dry-run"]];
    for flags in flags {
        let end = move_with_flags(&w.engine.url(), &there.engine.url(), flags).await;
        let output = end.stderr.trim();
        assert!(!end.status.success() && output.lines().count() == 1, "{end:?}");
        assert!(
            output.contains("there is a queue default where it is to go") && output.contains("nothing was moved"),
            "{output}"
        );
    }
    is_served(&w, &held).await;
    assert_eq!(there.queue().await["counts"]["waiting"], 1);
    let names = there.get("/queues").await.is(200);
    assert_eq!(names["queues"].as_array().map(Vec::len), Some(1), "{names}");
}

#[tokio::test]
async fn move_to_itself_or_from_an_empty_redis_is_refused() {
    let (w, held) = with_jobs(1).await;
    let end = move_queues(&w, &w).await;
    assert!(!end.status.success() && end.stderr.contains("it is the Redis that the queues are in"), "{end:?}");
    is_served(&w, &held).await;
    let (empty, there) = (World::start().await, World::start().await);
    let end = move_queues(&empty, &there).await;
    assert!(!end.status.success() && end.stderr.contains("there are no queues"), "{end:?}");
    empty.enqueue(1).await;
    let cancelled = run(program(["move", "--cancel", "--redis-url", &empty.engine.url()])).await;
    assert!(cancelled.status.success() && cancelled.stdout.contains("no queue is on its way"), "{cancelled:?}");
}

#[tokio::test]
async fn dry_run_leaves_no_trace() {
    let ((w, held), there) = (with_jobs(3).await, World::start_cluster().await);
    let keys = async |w: &World| {
        let mut keys: Vec<String> = w.engine.run("KEYS *").await;
        keys.sort();
        keys
    };
    let before = (keys(&w).await, keys(&there).await);
    let end = move_with_flags(&w.engine.url(), &there.engine.url(), &["--dry-run"]).await;
    assert!(end.status.success() && end.stdout.contains("default: would be moved to redis+cluster://"), "{end:?}");
    assert_eq!((keys(&w).await, keys(&there).await), before);
    is_served(&w, &held).await;
}

#[tokio::test]
async fn move_without_room_at_the_target_is_refused() {
    let ((w, held), there) = (with_jobs(300).await, World::start_cluster().await);
    let _: String = there.engine.run("CONFIG SET maxmemory 1").await;
    let end = move_queues(&w, &there).await;
    let output = end.stderr.lines().last().expect("a line");
    assert!(!end.status.success() && output.contains("there is no room for them"), "{end:?}");
    assert!(output.ends_with("nothing was moved, and the queues are served where they were"), "{output}");
    is_served(&w, &held).await;
    let _: String = there.engine.run("CONFIG SET maxmemory 0").await;
    let end = move_queues(&w, &there).await;
    assert!(end.status.success(), "{end:?}");
    there.complete(&held).await.is(200);
    there.check().await;
}

/// The target fills up or goes down while the queues are closed.
#[tokio::test]
async fn target_failure_in_the_last_step_reopens_the_queues() {
    let ((w, held), there) = (with_jobs(20_000).await, World::start_cluster().await);
    let (from, to) = (w.engine.url(), there.engine.url());
    for what in ["full", "away"] {
        let timeout = REDIS_TIMEOUT_DEFAULT_MS.to_string();
        let flags = ["--redis-url", &from, "--to", &to, "--redis-timeout-ms", &timeout];
        let mut mover = MoveProcess::start_with_flags(&flags);
        assert!(mover.read_until("closing the queues"));
        mover.signal(libc::SIGSTOP);
        match what {
            "full" => drop(there.engine.run::<String>("CONFIG SET maxmemory 1").await),
            _ => there.engine.freeze(),
        }
        mover.signal(libc::SIGCONT);
        let output = mover.read_to_end();
        there.engine.thaw();
        let _: String = there.engine.run("CONFIG SET maxmemory 0").await;
        let last = output.last().expect("a line");
        assert!(last.contains("where they are to go"), "{what}: {output:?}");
        assert!(last.ends_with("nothing was moved, and the queues are served where they were"), "{what}: {last}");
        is_served(&w, &held).await;
    }
    let end = move_queues(&w, &there).await;
    assert!(end.status.success(), "{end:?}");
    there.complete(&held).await.is(200);
    there.check().await;
}

#[tokio::test]
async fn concurrent_moves_of_one_queue_name_do_not_mix() {
    let ((one, held), (other, _), there) = (with_jobs(20_000).await, with_jobs(7).await, World::start_cluster().await);
    let mut mover = MoveProcess::start(&one.engine.url(), &there.engine.url());
    assert!(mover.read_until("all queues are closed"));
    mover.signal(libc::SIGSTOP);
    let end = move_queues(&other, &there).await;
    assert!(!end.status.success() && end.stderr.contains("being moved there from another Redis"), "{end:?}");
    mover.signal(libc::SIGCONT);
    assert!(mover.read_to_end().iter().any(|line| line == "default: moved"));
    assert_eq!(there.queue().await["counts"]["waiting"], 19_999);
    there.complete(&held).await.is(200);
    there.check().await;
    assert_eq!(other.queue().await["counts"]["waiting"], 6);
}
