//! The private server's disk runs full: what was acknowledged is there, and what is there can be worked off.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
};

use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    program::crash::server_of,
    world::{Client, Service, eventually, id_of, is_alive, program, shim},
};

const MIB: i64 = 1 << 20;
const AS_IT_IS: i64 = -1;

/// A data folder on a disk whose room a story decides about.
struct Disk {
    folder: tempfile::TempDir,
    numbers: File,
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = OpenOptions::new();
        let numbers = options.read(true).write(true).create_new(true).open(folder.path().join("numbers"));
        let disk = Self { folder, numbers: numbers.expect("a file") };
        disk.has(AS_IT_IS, AS_IT_IS);
        disk
    }

    /// So many bytes can be appended, and so many are said to be free.
    fn has(&self, bytes: i64, said: i64) {
        let numbers = [bytes.to_ne_bytes(), said.to_ne_bytes()].concat();
        self.numbers.write_all_at(&numbers, 0).expect("written");
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What the append-only files take.
    fn appended(&self) -> u64 {
        let files = fs::read_dir(self.data().join("appendonlydir")).expect("a folder");
        files.map(|file| file.expect("a file").metadata().map_or(0, |meta| meta.len())).sum()
    }

    async fn serve(&self) -> (Service, Client) {
        let data = self.data();
        let mut command = program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("UTF-8")]);
        command.env("LD_PRELOAD", &*shim::FULL_DISK).env("FULL_DISK", self.folder.path().join("numbers"));
        let service = Service::start(command).await;
        let client = Client::new(service.url());
        (service, client)
    }
}

/// Several enqueue until they are refused; the ids of what was acknowledged.
async fn enqueue_until_refused(client: &Client) -> Vec<String> {
    let mut crowd = JoinSet::new();
    for n in 0..4 {
        let client = client.clone();
        crowd.spawn(async move {
            let mut ids = Vec::new();
            loop {
                let answer = client.send_enqueue(json!({ "payload": [n, ids.len(), "x".repeat(200)] })).await;
                if answer.status != 201 {
                    let problem = answer.refused("unavailable");
                    assert!(
                        problem["detail"].as_str().expect("words").contains("cannot write to its disk"),
                        "{problem}"
                    );
                    return ids;
                }
                ids.push(id_of(&answer.json()));
            }
        });
    }
    crowd.join_all().await.concat()
}

/// The disk does not even say that it is nearly full, as with a quota: each answer waits until its append is known whole.
#[tokio::test]
async fn nothing_that_was_acknowledged_is_lost_at_the_very_end_of_the_disk() {
    for round in 0..6 {
        let disk = Disk::new();
        let (mut service, client) = disk.serve().await;
        client.enqueue("first").await;
        disk.has(60_000 + round * 17, AS_IT_IS);
        let ids = enqueue_until_refused(&client).await;
        assert!(ids.len() > 20, "{}", ids.len());
        eventually("readiness goes", async || {
            let answer = client.get("/readyz").await;
            (answer.status == 503 && answer.text().contains("disk")).then_some(())
        })
        .await;
        let server = server_of(&disk.data()).await;
        if round % 2 == 0 {
            service.kill();
        } else {
            service.signal(libc::SIGTERM);
            assert!(service.wait_for_exit().await.success());
        }
        eventually("the server is gone", async || (!is_alive(server)).then_some(())).await;
        let (_service, client) = disk.serve().await;
        for (n, id) in ids.iter().enumerate() {
            let status = client.get(&format!("/jobs/{id}")).await.status;
            assert_eq!(status, 200, "round {round}: job {n} of {} was acknowledged and is lost", ids.len());
        }
    }
}

#[tokio::test]
async fn when_there_is_room_again_it_goes_on_without_a_restart() {
    let disk = Disk::new();
    let (_service, client) = disk.serve().await;
    disk.has(20_000, AS_IT_IS);
    enqueue_until_refused(&client).await;
    disk.has(AS_IT_IS, AS_IT_IS);
    eventually("there is room", async || {
        (client.send_enqueue(json!({ "payload": "more" })).await.status < 300).then_some(())
    })
    .await;
    eventually("readiness is back", async || (client.get("/readyz").await.status == 200).then_some(())).await;
}

#[tokio::test]
async fn below_the_mark_nothing_new_is_stored_and_what_is_there_is_worked_off() {
    let disk = Disk::new();
    let (_service, client) = disk.serve().await;
    for n in 0..6 {
        client.enqueue(n).await;
    }
    let held = client.reserve_as("ann").await;
    disk.has(AS_IT_IS, 20 * MIB);
    let refusal = eventually("there is too little room", async || {
        let answer = client.send_enqueue(json!({ "payload": "new" })).await;
        (answer.status != 201 && answer.status != 200).then_some(answer)
    })
    .await;
    assert_eq!(refusal.status, 507);
    refusal.refused("storage-full");
    let batch = json!({ "jobs": [{ "payload": 1 }] });
    assert_eq!(client.post("/batches", batch).await.status, 507);
    assert_eq!(client.complete_with(&held, "x".repeat(5_000)).await.status, 507);

    client.extend(&held).await.is(200);
    client.complete_with(&held, "small").await.is(200);
    for n in 1..4 {
        let held = client.reserve_as("ann").await;
        assert_eq!(held.body["payload"], n);
        if n == 2 {
            client.abandon(&held).await.is(200)
        } else {
            client.complete(&held).await.is(200)
        };
        if n == 2 {
            let again = client.reserve_as("ann").await;
            client.fail(&again).await.is(200);
            let again = client.reserve_as("ann").await;
            client.complete(&again).await.is(200);
        }
    }
    assert_eq!(client.get("/readyz").await.text().trim(), "ok");
    let verbose = client.get("/readyz?verbose").await;
    assert_eq!(verbose.status, 200);
    assert!(verbose.text().contains("room: 20 MiB"), "{}", verbose.text());

    disk.has(AS_IT_IS, 1_000 * MIB);
    eventually("there is room", async || {
        (client.send_enqueue(json!({ "payload": "new" })).await.status < 300).then_some(())
    })
    .await;
}

/// A rewrite on a disk that is nearly full would fill it; without one, a file full of what is gone would never shrink.
#[tokio::test]
async fn the_file_is_rewritten_when_there_is_room_for_it_and_only_then() {
    let disk = Disk::new();
    let (_service, client) = disk.serve().await;
    fill(&client, 12).await;
    disk.has(AS_IT_IS, 5 * MIB);
    assert_eq!(client.delete("/queues/default?state=all&force=true").await.is(200)["more"], false);
    eventually("the room is known", async || {
        client.get("/readyz?verbose").await.text().contains("room: 5 MiB").then_some(())
    })
    .await;
    assert!(disk.appended() > 12_000_000, "{}", disk.appended());
    disk.has(AS_IT_IS, 60 * MIB);
    eventually("the file is rewritten", async || (disk.appended() < 1_000_000).then_some(())).await;
}

#[tokio::test]
async fn a_file_that_has_doubled_is_rewritten() {
    let disk = Disk::new();
    let (_service, client) = disk.serve().await;
    fill(&client, 70).await;
    let next = disk.data().join("appendonlydir/appendonly.aof.2.base.rdb");
    eventually("the file is rewritten", async || next.exists().then_some(())).await;
}

/// Jobs of so many megabytes.
async fn fill(client: &Client, megabytes: usize) {
    for n in 0..megabytes * 5 {
        client.send_enqueue(json!({ "payload": [n, "x".repeat(200_000)] })).await.is(201);
    }
}
