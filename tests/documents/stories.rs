//! `scripts/stories.sh` runs those stories once more that failed while the machine stood still, and no others.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

const STALLED: &str = "---- a::slow stdout ----\nthread 'a::slow' panicked\nthe machine stood still for 300 ms\n";
const PLAIN: &str = "---- a::wrong stdout ----\nthread 'a::wrong' panicked\n";
const SLOW: &str = "test a::slow ... FAILED\n";
const WRONG: &str = "test a::wrong ... FAILED\n";
const SERVICE: &str = "error: 1 target failed:\n    `-p intray --test service`\n";

/// The exit code and the calls of `cargo`, of which the first prints this and fails, and the second ends so.
fn stories(first: &str, second: i32) -> (i32, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("first"), first).expect("written");
    let cargo = format!("#!/bin/sh\ncd {}\n", folder.path().display())
        + "echo \"$*\" >>calls\n[ $(wc -l <calls) = 1 ] || exit $(cat second)\n[ -s first ] || exit 0\ncat first; exit 101\n";
    fs::write(at("cargo"), cargo).expect("written");
    fs::write(at("second"), second.to_string()).expect("written");
    fs::set_permissions(at("cargo"), fs::Permissions::from_mode(0o755)).expect("a program");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a PATH"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/stories.sh");
    let ended = Command::new(script).args(["--locked", "--workspace"]).env("PATH", path).output().expect("runs");
    let calls = fs::read_to_string(at("calls")).expect("called");
    (ended.status.code().expect("a code"), calls.lines().map(str::to_owned).collect())
}

const FIRST: &str = "test --no-fail-fast --locked --workspace";

#[test]
fn story_that_the_machine_held_up_is_run_once_more() {
    let again = "test --locked -p intray --test service -- --exact --test-threads 1 a::slow";
    let printed = [SLOW, STALLED, SERVICE].concat();
    assert_eq!(stories("", 0), (0, vec![FIRST.to_owned()]));
    assert_eq!(stories(&printed, 0), (0, vec![FIRST.to_owned(), again.to_owned()]));
    assert_eq!(stories(&printed, 101), (101, vec![FIRST.to_owned(), again.to_owned()]), "once only");
}

#[test]
fn other_failures_stand() {
    let model = "error: 2 targets failed:\n    `-p intray --test model`\n    `-p intray --test service`\n";
    for printed in [
        [WRONG, PLAIN, SERVICE].concat(),
        [SLOW, WRONG, STALLED, PLAIN, SERVICE].concat(),
        [SLOW, WRONG, PLAIN, STALLED, SERVICE].concat(),
        [SLOW, STALLED, model].concat(),
        // The process ended before it had said what failed.
        SERVICE.to_owned(),
        "error: could not compile `intray`\n".to_owned(),
    ] {
        assert_eq!(stories(&printed, 0), (101, vec![FIRST.to_owned()]), "{printed}");
    }
}
