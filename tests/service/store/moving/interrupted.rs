//! A move that is killed at any step, cancelled or run twice: each job exists once.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::world::{
    Client, ReservedJob, World, assert_contains, id_of,
    move_process::{MoveProcess, move_queues, move_with_flags},
    program, run,
};

/// A source with two queues of its own, and its known jobs.
struct Left {
    w: World,
    queues: [String; 2],
    ids: BTreeSet<String>,
    held: Vec<ReservedJob>,
}

impl Left {
    async fn of(name: &str, jobs: usize) -> Self {
        let w = World::start().await;
        let queues = ["a", "b"].map(|half| format!("{name}-{half}"));
        let (mut ids, mut held) = (BTreeSet::new(), Vec::new());
        for queue in &queues {
            for from in (0..jobs).step_by(500) {
                let some = (from..jobs.min(from + 500)).map(|n| json!({ "queue": queue, "payload": n }));
                ids.extend(w.enqueue_many(some).await);
            }
            held.push(w.reserve_with(json!({ "queues": [queue], "worker": "ann" })).await);
        }
        Self { w, queues, ids, held }
    }

    /// Asserts that this service has every job once, and that reservations continue.
    async fn are_at(&self, there: &Client) {
        let mut found = Vec::new();
        for queue in &self.queues {
            found.extend(there.pages(&format!("/queues/{queue}/jobs?state=waiting"), "jobs", 100).await);
        }
        let found: Vec<_> = found.iter().map(id_of).chain(self.held.iter().map(|held| held.id.clone())).collect();
        assert_eq!(found.len(), self.ids.len());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), self.ids);
        for held in &self.held {
            there.extend(held).await.is(200);
            assert_contains(&there.job(&held.id).await, json!({ "state": "reserved", "counts": { "handed_out": 1 } }));
        }
    }

    async fn are_gone(&self) {
        self.w.send_enqueue(json!({ "queue": self.queues[0], "payload": "too late" })).await.refused("unavailable");
        self.w.complete(&self.held[0]).await.refused("unavailable");
    }
}

/// No queue is ever served at two places.
async fn serve_at_one_place(left: &Left, there: &Client) {
    for queue in &left.queues {
        let known = |answer: &Value| answer["counts"]["reserved"] == 1;
        let path = format!("/queues/{queue}");
        let (here, elsewhere) = (left.w.get(&path).await, there.get(&path).await);
        let places = [here, elsewhere].iter().filter(|answer| answer.status == 200 && known(&answer.json())).count();
        assert!(places <= 1, "{queue} is served twice");
    }
}

#[tokio::test]
async fn move_killed_at_any_step_keeps_each_job_once() {
    let there = World::start_cluster().await;
    for pause in [0, 2] {
        for lines in 1.. {
            let left = Left::of(&format!("k{pause}-{lines}"), 60).await;
            let (from, to) = (left.w.engine.url(), there.engine.url());
            let mut mover = MoveProcess::start(&from, &to);
            let was_cut = mover.read_lines(lines);
            spin(Duration::from_millis(pause));
            mover.kill();
            serve_at_one_place(&left, &there).await;
            let end = move_queues(&left.w, &there).await;
            assert!(end.status.success(), "after {lines} lines: {end:?}");
            left.are_at(&there).await;
            left.are_gone().await;
            if !was_cut {
                assert!(lines > 7, "{lines} lines to stop at");
                break;
            }
        }
    }
    there.check().await;
}

/// Does not sleep: the other process must make progress.
fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[tokio::test]
async fn move_killed_at_random_times_keeps_each_job_once() {
    let there = World::start_cluster().await;
    let whole = Left::of("whole", 200).await;
    let begin = Instant::now();
    assert!(move_queues(&whole.w, &there).await.status.success());
    let length = begin.elapsed();
    const PARTS: u32 = 12;
    for part in 1..PARTS {
        let left = Left::of(&format!("p{part}"), 200).await;
        let (from, to) = (left.w.engine.url(), there.engine.url());
        for times in 1..=2 {
            let mover = MoveProcess::start(&from, &to);
            spin(length * part * times / PARTS / 2);
            mover.kill();
        }
        serve_at_one_place(&left, &there).await;
        let end = move_queues(&left.w, &there).await;
        assert!(end.status.success(), "in part {part}: {end:?}");
        left.are_at(&there).await;
        left.are_gone().await;
    }
    there.check().await;
}

#[tokio::test]
async fn cancelled_move_leaves_the_source_unchanged() {
    let there = World::start_cluster().await;
    let left = Left::of("off", 4_000).await;
    let (from, to) = (left.w.engine.url(), there.engine.url());
    let mut mover = MoveProcess::start(&from, &to);
    assert!(mover.read_until("all queues are closed"));
    mover.signal(libc::SIGSTOP);
    let answer = left.w.complete(&left.held[0]).await;
    let problem = answer.refused("unavailable");
    assert!(problem["detail"].as_str().expect("text").contains("being moved to another Redis;"), "{problem}");
    let ended = run(program(["move", "--cancel", "--redis-url", &from, "--to", &to])).await;
    assert!(ended.status.success() && ended.stdout.contains("2 queues are served where they were"), "{ended:?}");
    mover.signal(libc::SIGCONT);
    let output = mover.read_to_end();
    // It notices a later run first, or that the compared keys are gone.
    assert!(output.last().is_some_and(|line| line.starts_with("intray: ")), "{output:?}");
    assert!(!output.iter().any(|line| line.ends_with(": moved")), "{output:?}");
    left.are_at(&left.w).await;
    left.w.check().await;
    there.check().await;
    assert!(there.get("/queues").await.is(200)["queues"].as_array().expect("a list").is_empty());

    let end = move_queues(&left.w, &there).await;
    assert!(end.status.success(), "{end:?}");
    left.are_at(&there).await;
    there.check().await;
    let late = run(program(["move", "--cancel", "--redis-url", &from])).await;
    assert!(!late.status.success() && late.stderr.contains("too late"), "{late:?}");
}

#[tokio::test]
async fn later_of_two_moves_wins() {
    let there = World::start_cluster().await;
    for line in ["round 1", "closing", "all queues are closed", "compared", "all is there", ": moved"] {
        let left = Left::of(&line.replace([' ', ':'], "-"), 60).await;
        let (from, to) = (left.w.engine.url(), there.engine.url());
        let mut mover = MoveProcess::start(&from, &to);
        assert!(mover.read_until(line), "{line}");
        mover.signal(libc::SIGSTOP);
        let end = move_with_flags(&from, &to, &[]).await;
        assert!(end.status.success(), "{line}: {end:?}");
        mover.signal(libc::SIGCONT);
        let output = mover.read_to_end();
        left.are_at(&there).await;
        left.are_gone().await;
        assert!(output.iter().all(|line| !line.contains("served where they were")), "{output:?}");
    }
    there.check().await;
}
