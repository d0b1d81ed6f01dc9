//! Changes of the keys file at once: each that reports success is in the file.

use std::{fs, path::Path};

use futures_util::future::join_all;

use crate::world::{Exit, access::keys_file_line, program, run};

const ROUNDS: usize = 8;

async fn key(keys: &Path, args: [&str; 2]) -> Exit {
    let file = keys.to_str().expect("UTF-8");
    run(program(["key"].into_iter().chain(args).chain(["--keys-file", file]))).await
}

fn names_in(keys: &Path) -> Vec<String> {
    let text = fs::read_to_string(keys).expect("a file of keys");
    text.lines().map(|line| line.split(' ').next().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn keys_revoked_at_once_are_all_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys");
    let names: Vec<_> = (0..16).map(|n| format!("k{n}")).collect();
    for round in 0..ROUNDS {
        let lines = names.iter().map(|name| keys_file_line(name, "worker", "*"));
        let lines: Vec<_> = lines.chain([keys_file_line("root", "operator", "*")]).collect();
        fs::write(&keys, lines.join("\n")).expect("written");
        for exit in join_all(names.iter().map(|name| key(&keys, ["--revoke", name]))).await {
            assert!(exit.status.success(), "{exit:?}");
        }
        assert_eq!(names_in(&keys), ["root"], "round {round}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left next to it");
}

#[tokio::test]
async fn rotation_during_a_revoke_brings_no_key_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys");
    for round in 0..ROUNDS {
        let lines = ["a", "b", "c", "d"].map(|name| keys_file_line(name, "worker", "*"));
        fs::write(&keys, lines.join("\n")).expect("written");
        let changes = [["--rotate", "a"], ["--revoke", "b"], ["--rotate", "c"], ["--revoke", "d"]];
        let exits = join_all(changes.map(|args| key(&keys, args))).await;
        for exit in &exits {
            assert!(exit.status.success(), "{exit:?}");
        }
        assert_eq!(names_in(&keys), ["a", "a", "c", "c"], "round {round}");
        for exit in [&exits[0], &exits[2]] {
            let line = exit.stdout.lines().last().expect("the line of the new key");
            assert!(fs::read_to_string(&keys).expect("a file of keys").contains(line), "round {round}");
        }
    }
}
