//! What a look counts: the jobs for all workers and those in lines.

use intray_redis::Args;

use super::{Redis, queue, server::ask_for};
use crate::{
    Reason, Reserve, ReserveOutcome,
    job::{Line, Name, QueueName, Skill},
};

impl Redis {
    async fn add(&self, key: &str, member: &str) {
        let name = self.queues.parts.runner.keys.of(&queue(), key);
        let mut command = redis::cmd("ZADD");
        self.queues.parts.runner.link.plain(command.arg(name).arg(0).arg(member)).await.expect("added");
    }

    /// A waiting job in these lines, as far as a look reads it.
    async fn put_in_lines(&self, job: &str, lines: &[&str]) {
        self.add("restricted", job).await;
        for line in lines {
            self.add("lines", &format!("{line}\0{:016x}\0{job}", 7)).await;
        }
    }

    async fn counts(&self, lines: &[&str]) -> (u64, u64, Vec<u64>) {
        let lines: Vec<_> = lines.iter().map(|line| Line::parse(line).expect("a line")).collect();
        let (snapshot, counts) = self.queues.snapshot(&queue(), &lines).await.expect("a snapshot");
        (snapshot.waiting, snapshot.restricted, counts)
    }

    /// The answer of a reserve over two queues, which looks at both: nothing, why, and how many remain.
    async fn nothing_for(&self, worker: &str, skills: &[&str]) -> (Reason, u64) {
        let call = Reserve {
            queues: vec![queue(), QueueName::parse("elsewhere").expect("a name")],
            skills: skills.iter().map(|skill| Skill::parse(skill).expect("a skill")).collect(),
            ..ask_for(Name::parse(worker).ok(), 1)
        };
        match self.queues.reserve(call).await {
            Ok(ReserveOutcome::Nothing { reason, remaining, .. }) => (reason, remaining),
            other => panic!("{other:?}"),
        }
    }

    async fn fill(&self) {
        self.put_in_lines("1", &["@bob", "@bobby"]).await;
        self.put_in_lines("2", &["@bob"]).await;
        self.put_in_lines("3", &["+de"]).await;
        self.put_in_lines("4", &["+de fr"]).await;
    }
}

#[tokio::test]
async fn look_counts_each_line_that_is_asked_for() {
    let w = Redis::start().await;
    assert_eq!(w.counts(&[]).await, (0, 0, vec![]));
    assert_eq!(w.counts(&["@bob", "+de"]).await, (0, 0, vec![0, 0]), "nothing waits");
    w.enqueue("1").await;
    assert_eq!(w.counts(&["@bob", "+de"]).await, (1, 0, vec![0, 0]), "nothing in lines");
    w.fill().await;
    let lines = ["@bobby", "@bob", "+de", "@bo", "@de", "+de fr", "+d"];
    assert_eq!(w.counts(&lines).await, (1, 4, vec![1, 2, 1, 0, 0, 1, 0]));
    assert_eq!(w.counts(&[]).await, (1, 4, vec![]));
}

#[tokio::test]
async fn look_has_the_same_answer_when_it_runs_twice() {
    let w = Redis::start().await;
    w.fill().await;
    let mut args = Args::default();
    args.push("bob").push("nonce").push("\x02\x02de\x02fr").push("@bob").push("+de");
    w.twice("look", &args).await;
}

#[tokio::test]
async fn remaining_counts_the_lines_of_the_caller() {
    let w = Redis::start().await;
    w.enqueue("1").await;
    w.fill().await;
    let mut pause = redis::cmd("HSET");
    pause.arg(w.queues.parts.runner.keys.of(&queue(), "settings")).arg("paused").arg("1");
    w.queues.parts.runner.link.plain(&pause).await.expect("paused");
    for (worker, skills, remaining) in
        [("", &[][..], 1), ("ann", &[], 1), ("bob", &[], 3), ("bobby", &["de", "de fr"], 4), ("", &["en", "de"], 2)]
    {
        assert_eq!(w.nothing_for(worker, skills).await, (Reason::Paused, remaining), "{worker} {skills:?}");
    }
}

#[tokio::test]
async fn caller_without_a_line_is_ineligible_for_jobs_in_lines() {
    let w = Redis::start().await;
    assert_eq!(w.nothing_for("ann", &["en"]).await, (Reason::Empty, 0));
    w.fill().await;
    assert_eq!(w.nothing_for("ann", &["en"]).await, (Reason::Ineligible, 0));
    assert_eq!(w.nothing_for("", &[]).await, (Reason::Ineligible, 0));
}
