//! Power cuts of the private server's machine: what each level of durability loses. `make test-power` runs it at
//! length. All processes die at once; each file keeps what was synced, then none or some of the rest, then a torn
//! write.

use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    program::crash::server_of,
    world::{Client, ReservedJob, Service, assert_contains, eventually, id_of, is_alive, program, shim},
};

const CUTS: usize = 6;
/// Concurrent callers, half of whom enqueue.
const CALLERS: usize = 12;

/// A change, and when it was acknowledged.
#[derive(Clone)]
struct Fact {
    at: Instant,
    id: String,
    is_completed: bool,
}

struct Machine {
    folder: tempfile::TempDir,
    level: &'static str,
    facts: Arc<Mutex<Vec<Fact>>>,
    chance: u64,
}

impl Machine {
    fn new(level: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("power"), "").expect("written");
        Self { folder, level, facts: Arc::default(), chance: 0x9E37_79B9_7F4A_7C15 }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A deterministic random number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % n.max(1)
    }

    async fn start(&self) -> (Service, Client) {
        let data = self.data();
        let mut command = program(["serve", "--listen", "127.0.0.1:0", "--durability", self.level]);
        command.arg("--data-dir").arg(&data);
        command.env("LD_PRELOAD", &*shim::POWER).env("POWER", self.folder.path().join("power"));
        let service = Service::start(command).await;
        let client = Client::new(service.url());
        (service, client)
    }

    /// Callers work until the power cut; returns its time.
    async fn work_until_the_cut(&mut self, mut service: Service, client: &Client) -> Instant {
        let facts = self.facts.clone();
        let before = facts.lock().expect("no panic").len();
        let mut crowd = JoinSet::new();
        for n in 0..CALLERS {
            let (client, facts) = (client.clone(), facts.clone());
            crowd.spawn(async move { while call(&client, &facts, n).await.is_some() {} });
        }
        let wanted = before + 100 + self.below(200) as usize;
        eventually("there is load", async || (facts.lock().expect("no panic").len() > wanted).then_some(())).await;
        let server = server_of(&self.data()).await;
        service.kill();
        let cut = Instant::now();
        eventually("all processes are gone", async || (!is_alive(server)).then_some(())).await;
        crowd.join_all().await;
        cut
    }

    /// Cuts each file back to its synced part, and adds a torn end.
    fn lose_what_was_not_synced(&mut self) {
        let log = fs::read(self.folder.path().join("power")).expect("a log");
        let number = |bytes: &[u8]| i64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
        let synced: HashMap<_, _> =
            log.chunks_exact(16).map(|entry| (number(&entry[..8]) as u64, number(&entry[8..]) as u64)).collect();
        for entry in fs::read_dir(self.data().join("appendonlydir")).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = fs::metadata(&path).expect("there");
            let kept = synced.get(&meta.ino()).copied().unwrap_or(0).min(meta.len());
            let rest = meta.len() - kept;
            let more = if self.below(2) == 0 { 0 } else { self.below(rest) };
            let mut file = OpenOptions::new().append(true).open(&path).expect("a file");
            file.set_len(kept + more).expect("cut");
            if !path.to_string_lossy().ends_with(".incr.aof") {
                continue;
            }
            match self.below(4) {
                0 => {}
                1 => file.set_len(meta.len()).expect("zeros to where it ended"),
                2 => file.write_all(&[0; 4_096]).expect("zeros"),
                _ => file.write_all(b"\x07\x00nonsense*3\r\n$3\r\nSET\r\n").expect("garbage"),
            }
        }
    }

    /// Acknowledged changes that are missing, oldest first.
    async fn lost(&self, client: &Client) -> Vec<Fact> {
        let facts = self.facts.lock().expect("no panic").clone();
        let mut lost = Vec::new();
        for fact in facts {
            let answer = client.get(&format!("/jobs/{}", fact.id)).await;
            if answer.status != 200 || fact.is_completed && answer.json()["state"] != "completed" {
                lost.push(fact);
            }
        }
        lost.sort_by_key(|fact| fact.at);
        lost
    }

    /// One power cut: the number of lost changes, and how old the oldest was.
    async fn cut(&mut self) -> (usize, Duration) {
        let (service, client) = self.start().await;
        let cut = self.work_until_the_cut(service, &client).await;
        self.lose_what_was_not_synced();
        let (mut service, client) = self.start().await;
        let lost = self.lost(&client).await;
        let window = lost.first().map_or(Duration::ZERO, |fact| cut.saturating_duration_since(fact.at));
        // Surviving changes are checked after the next cut too, lost ones are not.
        self.facts.lock().expect("no panic").clear();
        service.signal(libc::SIGTERM);
        assert!(service.wait_for_exit().await.success());
        (lost.len(), window)
    }
}

/// `None` when the service is gone.
async fn call(client: &Client, facts: &Mutex<Vec<Fact>>, n: usize) -> Option<()> {
    let note = |id: String, is_completed| {
        facts.lock().expect("no panic").push(Fact { at: Instant::now(), id, is_completed });
    };
    if n.is_multiple_of(2) {
        let job = json!({ "payload": n, "dedupe": false }).to_string();
        let answer = client.request("POST", "/jobs").json(job).send_if_possible().await?;
        if answer.status == 201 {
            note(id_of(&answer.json()), false);
        }
        return Some(());
    }
    let body = json!({ "worker": format!("w{n}") }).to_string();
    let answer = client.request("POST", "/jobs/reserve").json(body).send_if_possible().await?;
    let Some(job) = (answer.status == 200).then(|| answer.json()["jobs"].get(0).cloned()).flatten() else {
        tokio::task::yield_now().await;
        return Some(());
    };
    let held = ReservedJob::new(&job);
    let body = json!({ "reservation": held.reservation }).to_string();
    let answer = client.request("POST", "/jobs/complete").json(body).send_if_possible().await?;
    if answer.status == 200 {
        note(held.id, true);
    }
    Some(())
}

fn cuts() -> usize {
    std::env::var("INTRAY_POWER_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(CUTS)
}

#[tokio::test]
async fn power_cut_with_synced_loses_no_acknowledged_change() {
    let mut machine = Machine::new("synced");
    for n in 0..cuts() {
        let (lost, window) = machine.cut().await;
        assert_eq!(lost, 0, "cut {n}: acknowledged up to {window:?} before it");
    }
}

/// Proves that the test above can fail.
#[tokio::test]
async fn power_cut_without_synced_loses_about_a_second() {
    let (mut machine, mut all, mut longest) = (Machine::new("async"), 0, Duration::ZERO);
    for _ in 0..cuts() {
        let (lost, window) = machine.cut().await;
        (all, longest) = (all + lost, longest.max(window));
    }
    println!("{} power cuts: {all} acknowledged changes lost, none older than {longest:?}", cuts());
    assert!(all > 0, "unsynced changes are lost");
}

/// A system that failed to write pages back may report success the next time, and has discarded them.
#[tokio::test]
async fn aof_with_a_failed_sync_is_replaced_before_writes_resume() {
    let machine = Machine::new("synced");
    let (service, client) = machine.start().await;
    client.enqueue("before").await;
    let broken = machine.folder.path().join("power.broken");
    fs::write(&broken, "").expect("written");
    let job = json!({ "payload": "during" });
    let refusal = client.send_enqueue(job.clone()).await;
    assert_eq!(refusal.status, 503, "{}", refusal.text());
    assert_contains(&refusal.refused("unavailable"), json!({ "applied": "unknown" }));
    assert!(refusal.text().contains("not known to be on disk"), "{}", refusal.text());
    fs::remove_file(&broken).expect("gone");
    let first = machine.data().join("appendonlydir/appendonly.aof.1.incr.aof");
    eventually("the new file is trusted", async || {
        let answer = client.send_enqueue(job.clone()).await;
        if answer.status == 503 {
            return None;
        }
        assert!(!first.exists(), "only with a new file: {}", answer.text());
        Some(())
    })
    .await;
    assert_eq!(client.queue().await["counts"]["waiting"], 2, "each job once");
    assert!(service.output().contains("cannot be synced"), "{}", service.output());
}
