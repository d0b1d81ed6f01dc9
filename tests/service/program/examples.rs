//! Each example runs as printed, twice, and shows what it promises.

use std::{fs, path::Path};

use crate::world::{World, output, tool};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
const NAMES: [&str; 5] =
    ["people-and-cron", "stalled-consumer", "locking-jobs", "requests-from-a-file", "poison-and-clients"];

/// Programs that take deliveries of webhooks; tests/packages/python/test_receivers.py runs them.
const RECEIVERS: [&str; 3] = ["webhook_receiver.mjs", "webhook_receiver.py", "webhook_to_slack.py"];

/// Runs it twice, because an earlier run must not affect a later one.
async fn run_twice(name: &str) {
    let w = World::plan().own_process().sweep_every(1_000).start().await;
    for run in 1..=2 {
        let mut shell = tool("sh");
        shell.arg(Path::new(FOLDER).join(format!("{name}.sh")));
        shell.env("INTRAY", w.base()).env("TMPDIR", w.folder()).current_dir(w.folder());
        let ran = tokio::task::spawn_blocking(move || output(shell)).await.expect("a thread");
        let (printed, complaints) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{name}, run {run}:\n{printed}\n{complaints}");
        assert_eq!(complaints, "", "{name}, run {run}:\n{printed}");
    }
    w.check().await;
}

#[tokio::test]
async fn example_people_and_a_cron_job_runs_twice() {
    run_twice("people-and-cron").await;
}

#[tokio::test]
async fn example_stalled_consumer_runs_twice() {
    run_twice("stalled-consumer").await;
}

#[tokio::test]
async fn example_jobs_with_locks_runs_twice() {
    run_twice("locking-jobs").await;
}

#[tokio::test]
async fn example_requests_from_a_file_runs_twice() {
    run_twice("requests-from-a-file").await;
}

#[tokio::test]
async fn example_poison_and_clients_runs_twice() {
    run_twice("poison-and-clients").await;
}

#[test]
fn every_example_has_a_test() {
    let files = fs::read_dir(FOLDER).expect("the examples").flatten();
    // The desks are folders, and have stories in `tests/web`.
    let scripts = files.filter(|file| file.path().is_file());
    let mut scripts: Vec<_> = scripts.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    scripts.sort();
    let mut expected: Vec<_> = NAMES.iter().chain(&["intray"]).map(|name| format!("{name}.sh")).collect();
    expected.extend(RECEIVERS.map(str::to_owned));
    expected.sort();
    assert_eq!(scripts, expected);
    for script in scripts {
        let text = fs::read_to_string(Path::new(FOLDER).join(&script)).expect("a script");
        assert!(text.lines().count() <= 80, "{script} can be read at a glance");
    }
}
