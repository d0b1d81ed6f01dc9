//! The documented backup of a private server under load restores every acknowledged job once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::documented_calls::shell;
use crate::world::{Client, ReservedJob, Service, contract::NDJSON, eventually, id_of, program, run};

pub const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/backup.md"));

/// The lines of the first block below a heading that start with `first`, in order.
pub fn printed(heading: &str, first: &str) -> String {
    let part = PAGE.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no heading {heading}"));
    let part = part.split("\n## ").next().unwrap_or_default();
    let blocks = part.split("\n```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let found = blocks.into_iter().find(|block| block.starts_with(first));
    found.unwrap_or_else(|| panic!("{heading} prints no {first}")).to_owned()
}

pub async fn serving(arguments: &[&str], folder: &Path) -> (Service, Client) {
    let mut command = program([&["serve", "--listen", "127.0.0.1:0"], arguments].concat());
    command.current_dir(folder);
    let service = Service::start(command).await;
    let client = Client::new(service.url());
    (service, client)
}

/// Producers and workers until the end, with the answers that they got.
#[derive(Default)]
pub struct Answered {
    /// id → payload
    put: BTreeMap<String, u64>,
    done: BTreeSet<String>,
}

pub struct Load {
    answered: Arc<Mutex<Answered>>,
    is_over: Arc<AtomicBool>,
    people: JoinSet<()>,
}

impl Load {
    pub fn on(client: &Client) -> Self {
        let (answered, is_over, mut people) = (Arc::default(), Arc::new(AtomicBool::new(false)), JoinSet::new());
        for me in 0..4 {
            let (client, answered, is_over) = (client.clone(), Arc::clone(&answered), Arc::clone(&is_over));
            people.spawn(work(client, me, answered, is_over));
        }
        Self { answered, is_over, people }
    }

    /// What was acknowledged so far.
    pub fn so_far(&self) -> Answered {
        let answered = self.answered.lock().expect("no panic");
        Answered { put: answered.put.clone(), done: answered.done.clone() }
    }

    pub async fn grows(&self) {
        let before = self.so_far().done.len();
        eventually("the callers are busy", async || (self.so_far().done.len() > before + 20).then_some(())).await;
    }

    pub async fn ends(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.people.join_all().await;
    }
}

async fn work(client: Client, me: u64, answered: Arc<Mutex<Answered>>, is_over: Arc<AtomicBool>) {
    let mut n = me << 32;
    while !is_over.load(Ordering::Relaxed) {
        n += 1;
        let id = client.enqueue(n).await;
        answered.lock().expect("no panic").put.insert(id, n);
        let held = client.send_reserve(json!({ "worker": format!("w{me}") })).await.is(200);
        let held = ReservedJob::new(&held["jobs"][0]);
        if !n.is_multiple_of(3) {
            client.complete(&held).await.is(200);
            answered.lock().expect("no panic").done.insert(held.id);
        }
    }
}

/// Every job from before the copy is there with its payload; a completed one stays completed, and a reserved one can be
/// completed.
pub async fn all_is_there(client: &Client, before: &Answered, held: &ReservedJob) {
    assert!(before.put.len() > 20 && before.done.len() > 10, "the callers were busy");
    for (id, payload) in &before.put {
        let job = client.job(id).await;
        assert_eq!(job["payload"], *payload, "{id}");
        assert!(!before.done.contains(id) || job["state"] == "completed", "{job}");
    }
    assert_eq!(client.complete(held).await.is(200)["state"], "completed", "its reservation is still valid");
    let counts = &client.queue().await["counts"];
    let known: u64 =
        ["waiting", "reserved", "completed"].iter().map(|state| counts[state].as_u64().expect("a count")).sum();
    let mut listed = Vec::new();
    for state in ["waiting", "reserved", "completed"] {
        let lines =
            client.request("GET", &format!("/queues/default/jobs?state={state}")).header("accept", NDJSON).send().await;
        listed.extend(lines.text().lines().map(|line| id_of(&serde_json::from_str(line).expect("a job"))));
    }
    let ids: BTreeSet<_> = listed.iter().collect();
    assert_eq!((ids.len(), ids.len() as u64), (listed.len(), known), "each job once:  {counts}");
}

/// Rewrites of the append-only file, one after the other: files appear and go.
async fn rewrite(socket: std::path::PathBuf) {
    let server = redis::Client::open(format!("unix://{}", socket.display())).expect("a URL");
    let mut server = server.get_multiplexed_async_connection().await.expect("the private server listens");
    loop {
        // A rewrite is refused while another runs.
        let _: Result<String, _> = redis::cmd("BGREWRITEAOF").query_async(&mut server).await;
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[tokio::test]
async fn backup_under_load_and_rewrites_restores_every_job_once() {
    let folder = folder();
    let (_service, client) = serving(&["--data-dir", "intray-data"], folder.path()).await;
    client.update_settings(json!({ "lease_ms": 3_600_000 })).await;
    client.enqueue("held").await;
    let held = client.reserve_as("ann").await;
    let load = Load::on(&client);
    let rewrites = tokio::spawn(rewrite(folder.path().join("intray-data/redis.sock")));
    let (backup, restore) = (printed("A private server", "intray backup"), printed("A private server", "(cd backup-1"));
    for turn in 0..8 {
        load.grows().await;
        let before = load.so_far();
        let again = |block: &str| {
            block.replace("backup-1", &format!("backup-{turn}")).replace("restored", &format!("restored-{turn}"))
        };
        shell(&again(&backup), folder.path()).await;
        shell(&again(&restore), folder.path()).await;
        if turn % 3 == 0 {
            let (_restored, client) = serving(&["--data-dir", &format!("restored-{turn}")], folder.path()).await;
            all_is_there(&client, &before, &held).await;
        }
    }
    rewrites.abort();
    load.ends().await;
    assert_eq!(client.complete(&held).await.is(200)["state"], "completed", "the source continues");
}

#[tokio::test]
async fn backup_of_a_stopped_or_torn_server_is_whole() {
    let folder = folder();
    let data = folder.path().join("intray-data");
    let (mut service, client) = serving(&["--data-dir", "intray-data"], folder.path()).await;
    let ids = client.enqueue_many((0..20).map(|n| json!({ "payload": n }))).await;
    service.signal(libc::SIGTERM);
    assert!(service.wait_for_exit().await.success());
    let newest = data.join("appendonlydir/appendonly.aof.1.incr.aof");
    let whole = fs::read(&newest).expect("a file");
    for (name, end) in [("whole", &b""[..]), ("short", b"*3\r\n$3\r\nSET\r\n$1\r"), ("zeros", &[0; 5_000])] {
        fs::write(&newest, [&whole[..], end].concat()).expect("written");
        let output =
            shell(&format!("intray backup {name} && intray restore {name} --data-dir {name}-data"), folder.path())
                .await;
        assert_eq!(output.lines().count(), 2, "{output}");
        assert_eq!(
            fs::read(folder.path().join(name).join("appendonlydir/appendonly.aof.1.incr.aof")).expect("a copy"),
            whole
        );
        let (_service, client) = serving(&["--data-dir", &format!("{name}-data")], folder.path()).await;
        assert_eq!(client.list_ids("waiting").await, ids, "{name}");
    }
    let mut broken = whole.clone();
    broken[40] = 0;
    fs::write(&newest, broken).expect("written");
    refused(&["backup", "broken"], folder.path(), "is damaged at byte").await;
    assert!(!folder.path().join("broken/backup.sha256").exists());
}

/// Asserts one clear line with these words, and a failure.
async fn refused(arguments: &[&str], folder: &Path, words: &str) {
    let mut command = program(arguments);
    command.current_dir(folder);
    let end = run(command).await;
    assert!(!end.status.success() && end.stdout.is_empty(), "{arguments:?}: {end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "{end:?}");
    assert!(end.stderr.contains(words), "{arguments:?} says {words:?}: {end:?}");
    end.assert_no_repetition();
}

#[tokio::test]
async fn restore_refuses_what_is_not_whole_and_a_folder_in_use() {
    let folder = folder();
    let at = folder.path();
    refused(&["backup", "nothing"], at, "holds no data").await;
    let (_service, client) = serving(&["--data-dir", "intray-data"], at).await;
    client.enqueue(1).await;
    shell("intray backup good && cp -r good bad", at).await;
    refused(&["backup", "good"], at, "is not empty").await;
    refused(&["restore", "good"], at, "intray-data is not empty").await;
    refused(&["restore", "elsewhere", "--data-dir", "new"], at, "is no whole backup").await;
    refused(&["backup", "x", "--redis-url", "redis://127.0.0.1:1"], at, "docs/backup.md").await;
    refused(&["restore", "good", "--redis-url", "redis://127.0.0.1:1"], at, "docs/backup.md").await;
    // Every file changed, shortened, extended and removed; and an invalid list of sums.
    let files = ["appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof", "appendonly.aof.manifest"];
    let files = files.map(|name| format!("appendonlydir/{name}"));
    let damages = ["printf x >> F", "truncate -s -2 F", "rm F", "printf '\\001' | dd of=F conv=notrunc bs=1 seek=20"];
    for file in files.iter().map(String::as_str).chain(["backup.sha256"]) {
        for damage in damages {
            shell(&format!("rm -rf bad && cp -r good bad && cd bad && {}", damage.replace('F', file)), at).await;
            refused(&["restore", "bad", "--data-dir", "new"], at, "").await;
            assert!(!at.join("new/appendonlydir").exists(), "{damage} of {file}");
        }
    }
    for line in ["../../evil", "appendonlydir/../evil", "appendonlydir/a/b", "appendonlydir/.."] {
        shell(&format!("rm -rf bad && cp -r good bad && echo '{}  {line}' >> bad/backup.sha256", "0".repeat(64)), at)
            .await;
        refused(&["restore", "bad", "--data-dir", "new"], at, "is no whole backup").await;
    }
    shell("mkdir new/restoring new/lost+found && touch new/restoring/killed && intray restore good --data-dir new", at)
        .await;
    let (_restored, restored) = serving(&["--data-dir", "new"], at).await;
    assert_eq!(restored.list_ids("waiting").await.len(), 1);
    refused(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "new"], at, "in use").await;
}
