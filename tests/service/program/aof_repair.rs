//! The private server starts on the valid part of its file after a power cut, or says what to do.

use std::{
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::world::{Client, Exit, Service, program, run};

const JOBS: usize = 20;

fn serve(data: &Path) -> std::process::Command {
    program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("UTF-8")])
}

/// A folder with so many jobs, and their ids.
async fn filled(data: &Path) -> Vec<String> {
    let mut service = Service::start(serve(data)).await;
    let client = Client::new(service.url());
    let mut ids = Vec::new();
    for n in 0..JOBS {
        ids.push(client.enqueue(n).await);
    }
    service.signal(libc::SIGTERM);
    assert!(service.wait_for_exit().await.success());
    ids
}

fn newest(data: &Path) -> PathBuf {
    data.join("appendonlydir/appendonly.aof.1.incr.aof")
}

fn append(data: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(newest(data)).expect("a file").write_all(bytes).expect("written");
}

fn overwrite(data: &Path, at: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(newest(data)).expect("a file");
    file.seek(SeekFrom::Start(at)).expect("a place");
    file.write_all(bytes).expect("written");
}

/// Asserts that the service starts, logs the cut, keeps a copy of the file, and has all jobs but the last ones.
async fn starts_without_the_last(data: &Path, ids: &[String], lost: usize) {
    let damaged = fs::read(newest(data)).expect("a file");
    let service = Service::start(serve(data)).await;
    let client = Client::new(service.url());
    let there = ids.len() - lost;
    for (n, id) in ids.iter().enumerate() {
        let status = client.get(&format!("/jobs/{id}")).await.status;
        assert_eq!(status, if n < there { 200 } else { 404 }, "job {n} of {}", ids.len());
    }
    let logged = service.output();
    assert!(logged.contains("is cut off") && logged.contains("bytes="), "{logged}");
    let aside: Vec<PathBuf> =
        fs::read_dir(data).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    let aside: Vec<_> = aside.iter().filter(|path| path.to_string_lossy().contains(".torn-")).collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!(fs::read(aside[0]).expect("a copy"), damaged, "the copy is the damaged file");
    assert_eq!(client.queue().await["counts"]["waiting"], there);
    client.enqueue("more").await;
    assert_eq!(client.reserve().await.body["payload"], json!(0));
}

async fn refused(data: &Path, words: &[&str]) -> Exit {
    let before = fs::read(newest(data)).ok();
    let end = run(serve(data)).await;
    assert!(!end.status.success(), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "one clear line: {end:?}");
    for word in words {
        assert!(end.stderr.contains(word), "{word}: {end:?}");
    }
    assert_eq!(fs::read(newest(data)).ok(), before, "the file is unchanged");
    end
}

#[tokio::test]
async fn zeros_after_the_last_aof_entry_are_cut() {
    for zeros in [1, 4_096, 200_000] {
        let folder = tempfile::tempdir().expect("a folder");
        let ids = filled(folder.path()).await;
        append(folder.path(), &vec![0; zeros]);
        starts_without_the_last(folder.path(), &ids, 0).await;
    }
}

#[tokio::test]
async fn zeros_over_aof_entries_lose_only_their_transitions() {
    let folder = tempfile::tempdir().expect("a folder");
    let ids = filled(folder.path()).await;
    let (file, last) =
        (fs::read(newest(folder.path())).expect("a file"), ids[JOBS - 1].rsplit('-').next().expect("a code"));
    // What the service enters by itself can come after the last job.
    let at = file.windows(last.len()).position(|bytes| bytes == last.as_bytes()).expect("its enqueue");
    overwrite(folder.path(), at as u64, &vec![0; file.len() - at]);
    starts_without_the_last(folder.path(), &ids, 1).await;
}

#[tokio::test]
async fn garbage_after_the_last_aof_entry_is_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let ids = filled(folder.path()).await;
    append(folder.path(), b"\x07nonsense*3\r\n$3\r\nSET\r\n");
    starts_without_the_last(folder.path(), &ids, 0).await;
}

#[tokio::test]
async fn partial_transition_in_the_aof_is_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let ids = filled(folder.path()).await;
    let half = b"*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nDEL\r\n$23\r\nintray:{default}:2:jobs\r\n";
    append(folder.path(), &[&half[..], &[0; 100]].concat());
    starts_without_the_last(folder.path(), &ids, 0).await;

    // With nothing after it, the server itself cuts it.
    let folder = tempfile::tempdir().expect("a folder");
    let ids = filled(folder.path()).await;
    append(folder.path(), half);
    let service = Service::start(serve(folder.path())).await;
    let client = Client::new(service.url());
    assert_eq!(client.queue().await["counts"]["waiting"], ids.len());
}

#[tokio::test]
async fn aof_damage_before_valid_entries_is_not_repaired() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path()).await;
    let file = fs::read(newest(folder.path())).expect("a file");
    let at = file.windows(8).rposition(|bytes| bytes == b"\nMULTI\r\n").expect("a transition") - 7;
    assert_eq!(&file[at..at + 4], b"*1\r\n");
    fs::write(newest(folder.path()), [&file[..at], b"garbage\r\n", &file[at..]].concat()).expect("written");
    let manifest = folder.path().join("appendonlydir/appendonly.aof.manifest");
    let fix = format!("-check-aof --fix '{}'", manifest.canonicalize().expect("a file").display());
    refused(folder.path(), &["1.incr.aof", &format!("byte {at}"), &fix]).await;
}

#[tokio::test]
async fn missing_aof_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path()).await;
    let manifest = folder.path().join("appendonlydir/appendonly.aof.manifest");
    let list = fs::read(&manifest).expect("a list");
    for nothing in [&b""[..], b"\n", &[0; 80]] {
        fs::write(&manifest, nothing).expect("written");
        refused(folder.path(), &["appendonly.aof.manifest", "missing or empty"]).await;
    }
    fs::remove_file(&manifest).expect("gone");
    refused(folder.path(), &["appendonly.aof.manifest", "missing or empty"]).await;
    fs::write(&manifest, list).expect("written");
    fs::remove_file(newest(folder.path())).expect("gone");
    refused(folder.path(), &["appendonly.aof.1.incr.aof", "missing", "manifest"]).await;
}
