//! What Lua does at the jobs that it passes over. Commands do not show it, so the scripts of these tests report it by commands of their own.

use futures_util::future::join_all;
use redis::Value;

use super::{Redis, job, queue, server::ask_for};
use crate::{
    Actor, Enqueued, JobSelection, NewJob, Reserve, ReserveOutcome, Routing,
    job::{LockName, Name, Priority, Skill, State},
    transitions::reprioritize::ReprioritizeAll,
};

/// A function of the scripts, and the command by which it is counted.
const DECODES: (&str, &str) = ("function record.header(raw)\n", "ECHO");
const RULES: (&str, &str) = ("function routing.rule(q, id, header, worker, skills)\n", "TYPE");
const COMPARISONS: (&str, &str) = ("local function sorts_before(a, b, name)\n", "ECHO");

#[derive(Debug, Clone, Copy)]
struct Work {
    scripts: u64,
    decoded: u64,
    asked: u64,
}

impl Redis {
    /// The library with a command in each of these functions.
    async fn count_in(&self, functions: &[(&str, &str)]) {
        let runner = &self.queues.parts.runner;
        let mut text = runner.scripts.library.text.code.clone();
        for (function, command) in functions {
            assert_eq!(text.matches(function).count(), 1, "{function}");
            text = text.replace(function, &format!("{function}redis.call('{command}', 'x')\n"));
        }
        runner.link.plain(redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(text)).await.expect("loaded");
    }

    async fn calls_of(&self, command: &str) -> u64 {
        let info = self.queues.parts.runner.link.plain(redis::cmd("INFO").arg("commandstats")).await.expect("figures");
        let Value::BulkString(text) = info else { panic!("{info:?}") };
        let text = String::from_utf8(text).expect("text");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse().expect("a number"))
    }

    async fn work_of(&self, calls: Vec<Reserve>) -> Work {
        self.queues.parts.runner.link.plain(redis::cmd("CONFIG").arg("RESETSTAT")).await.expect("reset");
        for outcome in join_all(calls.into_iter().map(|call| self.queues.reserve(call))).await {
            assert!(matches!(outcome, Ok(ReserveOutcome::Nothing { .. })), "{outcome:?}");
        }
        let (scripts, decoded) = (self.calls_of("fcall").await, self.calls_of("echo").await);
        Work { scripts, decoded, asked: self.calls_of("type").await }
    }

    async fn enqueue_all(&self, jobs: impl Iterator<Item = NewJob>) {
        for outcome in join_all(jobs.map(|job| self.queues.enqueue(job))).await {
            assert!(matches!(outcome, Ok(Enqueued::Stored { .. })), "{outcome:?}");
        }
    }
}

fn skills() -> Vec<Skill> {
    vec![Skill::parse("de").expect("a skill")]
}

fn name(n: usize) -> Name {
    Name::parse(&format!("w{n}")).expect("a name")
}

/// Jobs for those with a skill that need one lock.
fn locked(count: usize) -> impl Iterator<Item = NewJob> {
    (0..count).map(|n| {
        let mut new = job(&n.to_string());
        new.task.locks = vec![LockName::parse("acme").expect("a lock")];
        new.task.routing = Some(Box::new(Routing { skill: skills().pop(), ..Routing::default() }));
        new
    })
}

fn ask(worker: Option<Name>) -> Reserve {
    Reserve { skills: skills(), ..ask_for(worker, 1) }
}

#[tokio::test]
async fn forty_callers_at_one_lock_cost_little_more_than_one() {
    let redis = Redis::start().await;
    redis.enqueue_all(locked(300)).await;
    let held = redis.queues.reserve(ask(None)).await;
    let Ok(ReserveOutcome::Jobs { undo, .. }) = held else { panic!("{held:?}") };
    undo.disarm();
    redis.count_in(&[DECODES, RULES]).await;
    let one = redis.work_of(vec![ask(Some(name(0)))]).await;
    assert!(one.decoded <= one.scripts * 110, "a script looks at a hundred: {one:?}");
    for workers in [true, false] {
        let forty = (0..40).map(|n| ask(workers.then(|| name(n)))).collect();
        let forty = redis.work_of(forty).await;
        assert!(forty.decoded <= one.decoded * 4 && forty.asked <= one.asked * 4, "{one:?}, forty {forty:?}");
    }
}

#[tokio::test]
async fn jobs_that_a_name_keeps_from_callers_are_decoded_once_a_script() {
    let redis = Redis::start().await;
    let excluded: Vec<_> = (0..16).map(name).collect();
    let jobs = (0..300).map(|n| {
        let mut new = job(&n.to_string());
        new.task.routing = Some(Box::new(Routing { excluded: excluded.clone(), ..Routing::default() }));
        new
    });
    redis.enqueue_all(jobs).await;
    redis.count_in(&[DECODES, RULES]).await;
    let one = redis.work_of(vec![ask_for(Some(name(0)), 1)]).await;
    let some = redis.work_of((0..16).map(|n| ask_for(Some(name(n)), 1)).collect()).await;
    assert!(some.decoded <= some.scripts * 110, "one {one:?}, sixteen {some:?}");
    assert!(some.asked <= some.scripts * 1_200, "the budget of a script bounds what it asks: {some:?}");
    let unnamed = redis.work_of((0..64).map(|_| ask_for(None, 1)).collect()).await;
    assert!(unnamed.asked <= one.asked * 4, "callers without a name are alike: one {one:?}, sixty-four {unnamed:?}");
}

#[tokio::test]
async fn reprioritizing_parked_jobs_compares_each_with_a_few() {
    const JOBS: u64 = 400;
    let redis = Redis::start().await;
    let parked = (0..=JOBS).map(|n| {
        let mut new = job(&n.to_string());
        new.task.locks = vec![LockName::parse("acme").expect("a lock")];
        new
    });
    redis.enqueue_all(parked).await;
    while let Ok(ReserveOutcome::Jobs { undo, .. }) = redis.queues.reserve(ask_for(None, 100)).await {
        undo.disarm();
    }
    redis.count_in(&[COMPARISONS]).await;
    let (state, priority, after) = (State::Blocked, Priority::new(3).expect("a priority"), None);
    let selection = JobSelection::default();
    let all = ReprioritizeAll { queue: queue(), state, priority, selection, after };
    let done = redis.queues.reprioritize_all(all, &Actor::default()).await.expect("changed");
    assert_eq!(done.changed, JOBS);
    let comparisons = redis.calls_of("echo").await;
    assert!(comparisons > 0 && comparisons < JOBS * 25, "{comparisons} comparisons of {JOBS} jobs");
}
