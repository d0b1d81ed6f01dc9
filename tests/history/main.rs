//! The history checker: several instances on a real Redis under constant faults, with hundreds of callers that use the whole
//! contract. Afterwards all answers, the events of the streams and the final state are compared with each other. Nothing may be
//! lost, doubled or invented.
//!
//! ```sh
//! make history SECONDS=120 SEED=7
//! make history SECONDS=120 FROM=COMMIT # every second start of an instance is of that commit, and at last each
//! make history CHECK=target/tmp/history/one-7.ndjson # checks the file of an earlier run
//! ```
//!
//! | where | what |
//! |---|---|
//! | `record/` | a history: calls with begin and end, their answers, events, and the final state; also as a file |
//! | `load/` | the callers, and the reader of the final state |
//! | `nemeses/`, `wire`, `services` | faults of instances, of their connections to Redis, and of clocks |
//! | `topology/` | the store of the jobs and its faults: one Redis, a cluster, a primary behind sentinels |
//! | `check/` | the rules, and for each a history that violates it |
//!
//! A call ends with an answer, with a refusal that says that nothing was applied, or unknown: then both are allowed.

mod check;
mod load;
mod nemeses;
mod record;
mod services;
mod topology;
mod wire;

#[path = "../model/patch_scripts.rs"]
#[expect(dead_code, reason = "the model asks whether each edit was met")]
mod patch_scripts;

/// Redis with a movable clock, and the service as a process, are shared with tests/service.
#[path = "../service/world"]
mod world {
    #![expect(dead_code, reason = "the stories use more of it")]

    pub mod authority;
    pub mod children;
    mod clock;
    mod engine;
    pub mod proxy;
    pub mod receiver;
    pub mod replica;
    pub mod sentinels;
    mod service;
    mod shim;

    pub use engine::{Engine, NodeSettings, latest_server_program, moves::SlotMove, nodes::SHARDS};
    pub use service::{Service, program, program_at, with_default_redis_timeout};

    /// Waits for a condition, with a deadline that only a broken program exceeds.
    pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        for _ in 0..60_000 {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("it never happened: {what}")
    }
}

use std::{fs, path::PathBuf, time::Instant};

use load::Options;
use patch_scripts::Edit;
use record::History;
use topology::{Cluster, One, Sentinel};

/// The settings of a run from the environment, short by default; a seed may be `random`.
fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) if text == "random" => fastrand::u64(..1_000_000),
        Ok(text) => text.parse().unwrap_or_else(|e| panic!("{name}={text}: {e}")),
        Err(_) => default,
    }
}

/// Among what was built, unless that is another user's.
fn file(name: &str) -> PathBuf {
    let folders = [PathBuf::from(env!("CARGO_TARGET_TMPDIR")), std::env::temp_dir()].into_iter();
    let is_writable = |file: &PathBuf| {
        file.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok()) && fs::File::create(file).is_ok()
    };
    let mut files = folders.map(|folder| folder.join("history").join(format!("{name}.ndjson")));
    files.find(is_writable).expect("a folder for histories")
}

/// Checks a history, and prints its size and the time needed.
fn assert_holds(history: &History) {
    let begin = Instant::now();
    let breaches = check::check(history);
    let (size, seconds) = (history.size(), begin.elapsed().as_secs_f64());
    println!("{} calls, {} events: {size} checked in {seconds:.1} s", history.calls.len(), history.events.len());
    assert!(breaches.is_empty(), "the history breaks\n{}", check::report(&breaches));
}

/// A short run, unless `HISTORY_SECONDS` is set, as `make history` does.
#[tokio::test(flavor = "multi_thread")]
async fn no_job_is_lost_doubled_or_invented_under_faults() {
    let seed = number("HISTORY_SEED", 1);
    let seconds = number("HISTORY_SECONDS", 8);
    let topology = std::env::var("HISTORY_TOPOLOGY").unwrap_or_else(|_| "one".to_owned());
    let file = file(&format!("{topology}-{seed}"));
    println!(
        "HISTORY_SEED={seed} HISTORY_SECONDS={seconds} HISTORY_TOPOLOGY={topology}, written to {}",
        file.display()
    );
    let options = Options { seconds, seed, workers: 120, producers: 24, breaks: true };
    let history = match topology.as_str() {
        "one" => load::run(&options, One::start(&[]).await, &file).await,
        "cluster" => load::run(&options, Cluster::start().await, &file).await,
        "sentinel" => load::run(&options, Sentinel::start().await, &file).await,
        other => panic!("HISTORY_TOPOLOGY={other}: there is no such"),
    };
    tokio::task::spawn_blocking(move || assert_holds(&history)).await.expect("it holds");
}

/// Faults planted in the product, and the rule that each violates.
const FAULTS: [(&str, Edit); 4] = [
    (
        "no lock is held twice",
        Edit { from: "if gate.is_lock(name) then return false end", to: "if gate.is_lock(name) then return true end" },
    ),
    (
        "a job counts what happened to it",
        Edit { from: "r.attempts = r.expired + 1, r.attempts + 1", to: "r.attempts = r.expired + 1, r.attempts" },
    ),
    ("drafts come back", Edit { from: "return (is_shared or whose == owner or whose == giver) and", to: "return" }),
    (
        "what was taken back is not the result",
        Edit { from: "if resumes >= 0 and resumes < record.undone_at(job.lease) then", to: "if false then" },
    ),
];

/// The load reaches them and the rules find them, without any other fault. On a busy machine the load takes longer to get there.
#[tokio::test(flavor = "multi_thread")]
async fn planted_faults_are_found() {
    let edits = FAULTS.map(|(_, edit)| edit);
    let (mut missing, mut report) = (FAULTS.to_vec(), String::new());
    for (seed, seconds) in [(1, 5), (2, 10), (3, 20)] {
        let options = Options { seconds, seed, workers: 60, producers: 12, breaks: false };
        let history = load::run(&options, One::start(&edits).await, &file("planted")).await;
        let breaches = check::check(&history);
        missing.retain(|(rule, _)| !breaches.iter().any(|breach| breach.rule == *rule));
        report += &check::report(&breaches);
        if missing.is_empty() {
            return;
        }
    }
    let missing: Vec<_> = missing.iter().map(|(rule, Edit { from, .. })| format!("{rule}: {from}")).collect();
    panic!("not found: {missing:#?}\n{report}");
}

/// `HISTORY_CHECK` names a file of an earlier run.
#[test]
fn recorded_history_file_passes() {
    if let Some(path) = std::env::var("HISTORY_CHECK").ok().filter(|path| !path.is_empty()) {
        assert_holds(&record::read(&PathBuf::from(path)).expect("a history"));
    }
}
