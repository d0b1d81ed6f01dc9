//! The private server's disk is full: acknowledged changes survive, and its jobs can be completed.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::Command,
};

use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    program::crash::server_of,
    world::{Client, Service, eventually, id_of, is_alive, program, run, shim},
};

const MIB: i64 = 1 << 20;
const AS_IT_IS: i64 = -1;

/// A data folder on a disk whose free space the test controls.
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

    /// Sets the bytes that can be appended, and the reported free space.
    fn has(&self, bytes: i64, reported: i64) {
        let numbers = [bytes.to_ne_bytes(), reported.to_ne_bytes()].concat();
        self.numbers.write_all_at(&numbers, 0).expect("written");
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The size of the append-only files.
    fn appended(&self) -> u64 {
        let files = fs::read_dir(self.data().join("appendonlydir")).expect("a folder");
        files.map(|file| file.expect("a file").metadata().map_or(0, |meta| meta.len())).sum()
    }

    /// A command on this disk.
    fn command(&self, args: &[&str]) -> Command {
        let data = self.data();
        let mut command = program(args.iter().chain(&["--data-dir", data.to_str().expect("UTF-8")]));
        command.env("LD_PRELOAD", &*shim::FULL_DISK).env("FULL_DISK", self.folder.path().join("numbers"));
        command
    }

    async fn serve(&self) -> (Service, Client) {
        let service = Service::start(self.command(&["serve", "--listen", "127.0.0.1:0"])).await;
        let client = Client::new(service.url());
        (service, client)
    }
}

/// Several producers enqueue until they are refused; returns the acknowledged ids.
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

/// The disk reports free space and is full, as with a quota: each answer waits until its append is complete.
#[tokio::test]
async fn full_disk_loses_no_acknowledged_change() {
    for round in 0..6 {
        let disk = Disk::new();
        let (mut service, client) = disk.serve().await;
        client.enqueue("first").await;
        disk.has(60_000 + round * 17, AS_IT_IS);
        let ids = enqueue_until_refused(&client).await;
        assert!(ids.len() > 20, "{}", ids.len());
        eventually("readiness fails", async || {
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
async fn writes_resume_when_the_disk_has_room() {
    let disk = Disk::new();
    let (_service, client) = disk.serve().await;
    disk.has(20_000, AS_IT_IS);
    enqueue_until_refused(&client).await;
    disk.has(AS_IT_IS, AS_IT_IS);
    eventually("the disk has room", async || {
        (client.send_enqueue(json!({ "payload": "more" })).await.status < 300).then_some(())
    })
    .await;
    eventually("the service is ready", async || (client.get("/readyz").await.status == 200).then_some(())).await;
}

#[tokio::test]
async fn nearly_full_disk_refuses_only_new_jobs() {
    let disk = Disk::new();
    let (_service, client) = disk.serve().await;
    for n in 0..6 {
        client.enqueue(n).await;
    }
    let held = client.reserve_as("ann").await;
    disk.has(AS_IT_IS, 20 * MIB);
    let refusal = eventually("the disk is nearly full", async || {
        let answer = client.send_enqueue(json!({ "payload": "new" })).await;
        (answer.status != 201 && answer.status != 200).then_some(answer)
    })
    .await;
    assert_eq!(refusal.status, 507);
    let detail = "too little is free on the disk of Redis's data; nothing was stored";
    assert_eq!(refusal.refused("storage-full")["detail"], detail);
    let metrics = client.get("/metrics").await.text();
    let room = metrics.lines().find_map(|line| line.strip_prefix("intray_data_room_bytes ")?.parse::<f64>().ok());
    assert!(room.is_some_and(|room| (-100e6..=-44e6).contains(&room)), "20 of 64 MiB and a rewrite: {room:?}");
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

    let check = async || run(disk.command(&["check"])).await.stdout;
    let warned = check().await;
    let line = warned.lines().find(|line| line.starts_with("warning  folder: ")).expect("a warning");
    assert!(line.contains(disk.data().to_str().expect("UTF-8")) && line.contains(": 20 MiB are free"), "{line}");
    disk.has(AS_IT_IS, 1_000 * MIB);
    let fine = check().await;
    assert!(fine.contains("1000 MiB free on its disk") && !fine.contains("warning  folder"), "{fine}");
    eventually("the disk has room", async || {
        (client.send_enqueue(json!({ "payload": "new" })).await.status < 300).then_some(())
    })
    .await;
}

/// A rewrite would fill a nearly full disk; without one, the file never shrinks.
#[tokio::test]
async fn aof_is_rewritten_only_when_the_disk_has_room() {
    let disk = Disk::new();
    let (_service, client) = disk.serve().await;
    fill(&client, 12).await;
    disk.has(AS_IT_IS, 5 * MIB);
    assert_eq!(client.delete("/queues/default?state=all&force=true").await.is(200)["more"], false);
    eventually("the free space is known", async || {
        client.get("/readyz?verbose").await.text().contains("room: 5 MiB").then_some(())
    })
    .await;
    assert!(disk.appended() > 12_000_000, "{}", disk.appended());
    disk.has(AS_IT_IS, 60 * MIB);
    eventually("the file is rewritten", async || (disk.appended() < 1_000_000).then_some(())).await;
}

#[tokio::test]
async fn doubled_aof_is_rewritten() {
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
