//! A move that cannot be: one line says why, and the queues are served where they were.

use serde_json::json;

use crate::world::{
    ReservedJob, World,
    move_process::{MoveProcess, move_queues, move_with_flags},
    program, run,
};

async fn with_jobs(jobs: usize) -> (World, ReservedJob) {
    let w = World::start().await;
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
async fn a_queue_of_that_name_stands_in_the_way() {
    let ((w, held), there) = (with_jobs(3).await, World::start_cluster().await);
    w.enqueue_with(json!({ "queue": "new", "payload": 1 })).await;
    there.enqueue("somebody else's").await;
    let flags: [&[&str]; 2] = [&[], &["--dry-run"]];
    for flags in flags {
        let end = move_with_flags(&w.engine.url(), &there.engine.url(), flags).await;
        let said = end.stderr.trim();
        assert!(!end.status.success() && said.lines().count() == 1, "{end:?}");
        assert!(
            said.contains("there is a queue default where it is to go") && said.contains("nothing was moved"),
            "{said}"
        );
    }
    is_served(&w, &held).await;
    assert_eq!(there.queue().await["counts"]["waiting"], 1);
    let names = there.get("/queues").await.is(200);
    assert_eq!(names["queues"].as_array().map(Vec::len), Some(1), "{names}");
}

#[tokio::test]
async fn nobody_moves_to_where_they_are_nor_from_nowhere() {
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
async fn a_look_before_leaves_no_trace() {
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
async fn where_there_is_no_room_nothing_is_moved_and_nothing_is_lost() {
    let ((w, held), there) = (with_jobs(300).await, World::start_cluster().await);
    let _: String = there.engine.run("CONFIG SET maxmemory 1").await;
    let end = move_queues(&w, &there).await;
    let said = end.stderr.lines().last().expect("a line");
    assert!(!end.status.success() && said.contains("there is no room for them"), "{end:?}");
    assert!(said.ends_with("nothing was moved, and the queues are served where they were"), "{said}");
    is_served(&w, &held).await;
    let _: String = there.engine.run("CONFIG SET maxmemory 0").await;
    let end = move_queues(&w, &there).await;
    assert!(end.status.success(), "{end:?}");
    there.complete(&held).await.is(200);
    there.check().await;
}

/// It fills up, or goes away, while the queues are closed.
#[tokio::test]
async fn what_is_full_or_away_in_the_last_step_opens_the_queues_again() {
    let ((w, held), there) = (with_jobs(4_000).await, World::start_cluster().await);
    let (from, to) = (w.engine.url(), there.engine.url());
    for what in ["full", "away"] {
        let mut mover = MoveProcess::start(&from, &to);
        assert!(mover.read_until("closing the queues"));
        mover.signal(libc::SIGSTOP);
        match what {
            "full" => drop(there.engine.run::<String>("CONFIG SET maxmemory 1").await),
            _ => there.engine.freeze(),
        }
        mover.signal(libc::SIGCONT);
        let said = mover.read_to_end();
        there.engine.thaw();
        let _: String = there.engine.run("CONFIG SET maxmemory 0").await;
        let last = said.last().expect("a line");
        assert!(last.contains("where they are to go"), "{what}: {said:?}");
        assert!(last.ends_with("nothing was moved, and the queues are served where they were"), "{what}: {last}");
        is_served(&w, &held).await;
    }
    let end = move_queues(&w, &there).await;
    assert!(end.status.success(), "{end:?}");
    there.complete(&held).await.is(200);
    there.check().await;
}

#[tokio::test]
async fn two_that_bring_a_queue_of_one_name_do_not_mix() {
    let ((one, held), (other, _), there) = (with_jobs(50).await, with_jobs(7).await, World::start_cluster().await);
    let mut mover = MoveProcess::start(&one.engine.url(), &there.engine.url());
    assert!(mover.read_until("all queues are closed"));
    mover.signal(libc::SIGSTOP);
    let end = move_queues(&other, &there).await;
    assert!(!end.status.success() && end.stderr.contains("being moved there from another Redis"), "{end:?}");
    mover.signal(libc::SIGCONT);
    assert!(mover.read_to_end().iter().any(|line| line == "default: moved"));
    assert_eq!(there.queue().await["counts"]["waiting"], 49);
    there.complete(&held).await.is(200);
    there.check().await;
    assert_eq!(other.queue().await["counts"]["waiting"], 6);
}
