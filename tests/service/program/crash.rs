//! The private server: acknowledged changes survive the death of any process.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{
    Client, ReservedJob, Service, World, eventually, id_of, is_alive, program, run, shim, signal_process,
};

pub async fn embedded(data: &Path) -> (Service, Client) {
    let data = data.to_str().expect("UTF-8");
    let service = Service::start(program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data])).await;
    let client = Client::new(service.url());
    (service, client)
}

/// The process id of the private server.
pub async fn server_of(data: &Path) -> u32 {
    let client = redis::Client::open(format!("unix://{}", data.join("redis.sock").display())).expect("a URL");
    let mut connection = client.get_multiplexed_async_connection().await.expect("the private server listens");
    let info: String = redis::cmd("INFO").arg("server").query_async(&mut connection).await.expect("INFO");
    let line = info.lines().find_map(|line| line.strip_prefix("process_id:")).expect("a process id");
    line.trim().parse().expect("a number")
}

/// What was acknowledged to producers and workers under faults.
#[derive(Default)]
struct Ledger {
    /// id → payload
    enqueued: Mutex<BTreeMap<String, u64>>,
    completed: Mutex<BTreeSet<String>>,
    serial: AtomicU64,
    over: AtomicBool,
}

/// Producers and workers that repeat each call until it is answered.
fn work(client: &Client, ledger: &Arc<Ledger>) -> JoinSet<()> {
    let mut crowd = JoinSet::new();
    for n in 0..8 {
        let (client, ledger) = (client.clone(), ledger.clone());
        crowd.spawn(async move {
            while !ledger.over.load(Ordering::Relaxed) {
                if n % 2 == 0 { produce(&client, &ledger).await } else { consume(&client, &ledger, n).await }
            }
        });
    }
    crowd
}

async fn produce(client: &Client, ledger: &Ledger) {
    let payload = ledger.serial.fetch_add(1, Ordering::Relaxed);
    let job = json!({ "payload": payload, "dedupe_key": payload.to_string() }).to_string();
    match client.request("POST", "/jobs").json(job).send_if_possible().await {
        Some(answer) if matches!(answer.status, 200 | 201) => {
            ledger.enqueued.lock().expect("no panic").insert(id_of(&answer.json()), payload);
        }
        _ => tokio::time::sleep(Duration::from_millis(10)).await,
    }
}

async fn consume(client: &Client, ledger: &Ledger, n: usize) {
    let body = json!({ "worker": format!("w{n}") }).to_string();
    let answer = client.request("POST", "/jobs/reserve").json(body).send_if_possible().await;
    let job = answer.filter(|answer| answer.status == 200).and_then(|answer| answer.json()["jobs"].get(0).cloned());
    let Some(job) = job else { return tokio::time::sleep(Duration::from_millis(10)).await };
    let held = ReservedJob::new(&job);
    let body = json!({ "reservation": held.reservation, "result": job["payload"] }).to_string();
    if let Some(answer) = client.request("POST", "/jobs/complete").json(body).send_if_possible().await
        && answer.status == 200
    {
        ledger.completed.lock().expect("no panic").insert(held.id);
    }
}

/// Asserts that every acknowledged job and completion is there, and that the rest can be completed.
async fn all_is_accounted_for(client: &Client, ledger: &Ledger) {
    let enqueued = ledger.enqueued.lock().expect("no panic").clone();
    let completed = ledger.completed.lock().expect("no panic").clone();
    assert!(
        enqueued.len() > 50 && completed.len() > 20,
        "the callers were busy:  {} {}",
        enqueued.len(),
        completed.len()
    );
    for (id, payload) in &enqueued {
        let job = client.job(id).await;
        assert_eq!(job["payload"], *payload);
        if completed.contains(id) {
            assert_eq!((&job["state"], &job["result"]), (&json!("completed"), &json!(payload)), "{id}");
        }
    }
    let mut open: BTreeSet<_> = BTreeSet::new();
    for n in [1, 3, 5, 7] {
        // Jobs that a worker still holds come first.
        while let Some(job) = client.send_reserve(json!({ "worker": format!("w{n}") })).await.is(200)["jobs"].get(0) {
            let held = ReservedJob::new(job);
            client.complete_with(&held, job["payload"].clone()).await.is(200);
            assert!(open.insert(held.id), "reserved again after its completion");
        }
    }
    let queue = client.queue().await;
    assert_eq!((&queue["counts"]["waiting"], &queue["counts"]["reserved"]), (&json!(0), &json!(0)), "{queue}");
    for id in enqueued.keys() {
        assert_eq!(client.state(id).await, "completed");
        assert!(open.contains(id) != completed.contains(id) || !open.contains(id), "{id} was completed twice");
    }
}

#[tokio::test]
async fn private_server_needs_only_a_folder_and_keeps_its_jobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (mut service, client) = embedded(&data).await;
    let id = client.enqueue(json!({ "kept": true })).await;
    let held = client.reserve_as("ann").await;
    client.update_settings(json!({ "lease_ms": 600_000 })).await;
    let second = run(program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("UTF-8")])).await;
    assert!(!second.status.success(), "two services cannot share a folder");
    assert_eq!(second.stderr.trim().lines().count(), 1, "one clear line: {}", second.stderr);

    let server = server_of(&data).await;
    service.signal(libc::SIGTERM);
    assert!(service.wait_for_exit().await.success());
    assert!(!is_alive(server), "the server ends with its service");

    let (mut service, client) = embedded(&data).await;
    assert_eq!(client.job(&id).await["state"], "reserved");
    assert_eq!(client.queue().await["settings"]["lease_ms"], 600_000);
    client.extend(&held).await.is(200);
    service.kill();
    let (_service, client) = embedded(&data).await;
    assert_eq!(client.complete(&held).await.is(200)["state"], "completed");
}

#[tokio::test]
async fn private_server_folder_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (_service, client) = embedded(&data).await;
    client.enqueue(1).await;
    let mode = std::fs::metadata(&data).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn killed_service_loses_no_acknowledged_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let ledger = Arc::new(Ledger::default());
    for _ in 0..3 {
        let (mut service, client) = embedded(&data).await;
        let before = ledger.enqueued.lock().expect("no panic").len();
        ledger.over.store(false, Ordering::Relaxed);
        let crowd = work(&client, &ledger);
        eventually("the callers are busy", async || {
            (ledger.enqueued.lock().expect("no panic").len() > before + 60).then_some(())
        })
        .await;
        service.kill();
        ledger.over.store(true, Ordering::Relaxed);
        crowd.join_all().await;
    }
    let (_service, client) = embedded(&data).await;
    all_is_accounted_for(&client, &ledger).await;
}

#[tokio::test]
async fn killed_private_server_is_restarted_without_loss() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (_service, client) = embedded(&data).await;
    let ledger = Arc::new(Ledger::default());
    let crowd = work(&client, &ledger);
    for _ in 0..2 {
        let before = ledger.enqueued.lock().expect("no panic").len();
        eventually("the callers are busy", async || {
            (ledger.enqueued.lock().expect("no panic").len() > before + 60).then_some(())
        })
        .await;
        let server = server_of(&data).await;
        signal_process(server, libc::SIGKILL);
        eventually("the server is gone", async || (!is_alive(server)).then_some(())).await;
        let mut in_a_row = 0;
        eventually("another server runs", async || {
            let answer = client.request("GET", "/queues").send_if_possible().await?;
            in_a_row = if answer.status == 200 { in_a_row + 1 } else { 0 };
            (in_a_row > 8).then_some(())
        })
        .await;
    }
    eventually("the callers are busy", async || (ledger.completed.lock().expect("no panic").len() > 40).then_some(()))
        .await;
    ledger.over.store(true, Ordering::Relaxed);
    crowd.join_all().await;
    all_is_accounted_for(&client, &ledger).await;
}

/// Redis delays writes while an fsync runs, and answers all the same, unless it is configured otherwise.
#[tokio::test]
async fn slow_disk_loses_no_acknowledged_change() {
    for victim in ["service", "server"] {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let start = async || {
            let mut command =
                program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("UTF-8")]);
            command.env("LD_PRELOAD", &*shim::SLOW_DISK);
            let service = Service::start(command).await;
            let client = Client::new(service.url());
            (service, client)
        };
        let (mut service, client) = start().await;
        let mut ids = Vec::new();
        let begin = Instant::now();
        // Long enough for an fsync to start, too short for the next.
        while begin.elapsed() < Duration::from_millis(1_400) {
            ids.push(client.enqueue(ids.len()).await);
        }
        let server = server_of(&data).await;
        if victim == "service" {
            service.kill();
        } else {
            signal_process(server, libc::SIGKILL);
        }
        eventually("the server is gone", async || (!is_alive(server)).then_some(())).await;
        service.kill();
        let (_service, client) = start().await;
        for (n, id) in ids.iter().enumerate() {
            let job = client.get(&format!("/jobs/{id}")).await;
            assert_eq!(job.status, 200, "{victim} killed: job {n} of {} was acknowledged and is lost", ids.len());
        }
    }
}

#[tokio::test]
async fn killed_service_leaves_a_consistent_store() {
    let mut w = World::start_process().await;
    let ledger = Arc::new(Ledger::default());
    for round in 0..3 {
        ledger.over.store(false, Ordering::Relaxed);
        let crowd = work(&w, &ledger);
        eventually("the callers are busy", async || {
            (ledger.enqueued.lock().expect("no panic").len() > 60 * (round + 1)).then_some(())
        })
        .await;
        w.service.kill();
        ledger.over.store(true, Ordering::Relaxed);
        crowd.join_all().await;
        w.restart().await;
        w.check().await;
    }
    all_is_accounted_for(&w, &ledger).await;
    w.check().await;
}
