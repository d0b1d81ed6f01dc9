//! The lock or socket in the data folder is removed, renamed or linked: no second server starts, and it is logged.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::crash::embedded;
use crate::world::{Exit, Service, eventually, program, run};

async fn second(data: &Path) -> Exit {
    run(program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("UTF-8")])).await
}

async fn logs(service: &Service, words: &str) {
    eventually(words, async || service.output().contains(words).then_some(())).await;
}

/// With `rm`, `mv` and `ln`, on the lock and on the folder.
#[tokio::test]
async fn data_folder_in_use_is_never_shared() {
    let around = tempfile::Builder::new().prefix("intray-").tempdir().expect("a folder");
    let data = around.path().join("data");
    let (service, client) = embedded(&data).await;
    let id = client.enqueue(1).await;
    let (lock, aside, other) = (data.join("intray.lock"), data.join("aside"), around.path().join("other"));
    let is_refused = async |data: &Path, what: &str| {
        let end = second(data).await;
        assert!(!end.status.success() && end.stderr.contains("in use by another intray"), "{what}: {end:?}");
        assert_eq!(client.state(&id).await, "waiting", "{what}");
    };
    fs::remove_file(&lock).expect("removed");
    is_refused(&data, "removed").await;
    fs::write(&lock, "").expect("written");
    is_refused(&data, "made anew").await;
    logs(&service, "was removed, renamed or replaced under the running service: the folder stays claimed").await;
    fs::rename(&lock, &aside).expect("renamed");
    fs::hard_link(&aside, &lock).expect("linked");
    is_refused(&data, "a hard link").await;
    fs::remove_file(&lock).expect("removed");
    symlink(&aside, &lock).expect("linked");
    is_refused(&data, "a symbolic link").await;
    fs::rename(&data, &other).expect("renamed");
    is_refused(&other, "by another name of the folder").await;
    logs(&service, "was removed, renamed or replaced under the running service, which continues").await;
    fs::rename(&other, &data).expect("renamed");
    assert_eq!(client.reserve().await.id, id);
    drop(service);
}

#[tokio::test]
async fn linked_lock_and_lost_socket_are_logged() {
    let folder = tempfile::Builder::new().prefix("intray-").tempdir().expect("a folder");
    let (service, _client) = embedded(folder.path()).await;
    let [lock, aside] = ["intray.lock", "aside"].map(|name| folder.path().join(name));
    fs::hard_link(&lock, &aside).expect("linked");
    logs(&service, "has a second name").await;
    fs::remove_file(&aside).expect("removed");
    logs(&service, "is as it was claimed again").await;
    fs::remove_file(folder.path().join("redis.sock")).expect("removed");
    logs(&service, "socket").await;
    drop(service);
}
