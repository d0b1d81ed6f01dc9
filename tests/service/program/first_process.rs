//! As the first process of a container, the program reaps orphans.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::world::{Client, Service, eventually, program, run, signal_process, tool};

/// A program as the first process of its own namespaces. It ends with its `unshare`.
fn contained(script: &str, data: &Path) -> Command {
    let mut command = tool("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "/bin/sh", "-c", script]);
    command.arg(env!("CARGO_BIN_EXE_intray")).arg(data);
    let like = program([] as [&str; 0]);
    command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// `None` where the system permits no namespaces.
async fn start(first: &str, data: &Path) -> Option<(Service, Client)> {
    let allowed = run(contained("exit 0", data)).await;
    assert_ne!(allowed.status.code(), Some(127), "{}", allowed.stderr);
    if !allowed.status.success() {
        println!("skipped, because namespaces are not permitted here: {}", allowed.stderr.trim());
        return None;
    }
    let script = format!("{first} exec \"$0\" serve --listen 127.0.0.1:0 --data-dir \"$1\"");
    let service = Service::start(contained(&script, data)).await;
    let client = Client::new(service.url());
    Some((service, client))
}

struct Process {
    pid: u32,
    state: char,
    /// The name that the process sets for itself.
    title: String,
}

/// The descendants of a process, with the ids of the host.
fn below(parent: u32) -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let mut all: Vec<(u32, Process)> = stats.filter_map(|stat| parsed(&stat)).collect();
    let (mut parents, mut found) = (vec![parent], Vec::new());
    while let Some(parent) = parents.pop() {
        let (children, others) = all.into_iter().partition(|(above, _)| *above == parent);
        all = others;
        let children: Vec<(u32, Process)> = children;
        parents.extend(children.iter().map(|(_, child)| child.pid));
        found.extend(children.into_iter().map(|(_, child)| child));
    }
    found
}

/// `pid (name) state parent …`, with the parent first.
fn parsed(stat: &str) -> Option<(u32, Process)> {
    let pid = stat.split(' ').next()?.parse().ok()?;
    let mut rest = stat.rsplit_once(") ")?.1.split(' ');
    let (state, parent) = (rest.next()?.chars().next()?, rest.next()?.parse().ok()?);
    let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    Some((parent, Process { pid, state, title: String::from_utf8_lossy(&title).into_owned() }))
}

fn find(service: &Service, title: &str) -> Option<u32> {
    below(service.pid()).into_iter().find(|process| process.title.contains(title)).map(|process| process.pid)
}

/// The first process of the namespace, and the one that serves.
fn wrapper_and_service(service: &Service) -> (u32, u32) {
    let found = below(service.pid());
    let mut intrays = found.iter().filter(|process| process.title.contains("--data-dir\0")).map(|process| process.pid);
    let first = intrays.next().expect("the first process");
    (first, intrays.next().unwrap_or(first))
}

async fn no_zombie_stays(service: &Service) {
    eventually("all zombies are reaped", async || {
        below(service.pid()).iter().all(|process| process.state != 'Z').then_some(())
    })
    .await;
}

#[tokio::test]
async fn first_process_reaps_orphans_of_a_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    // One orphan that the shell leaves when it becomes the service, and one whose parent ends later.
    let first = "(: > \"$1.early\") & (sleep 0.5; (sleep 0.2; : > \"$1.late\") & ) &";
    let Some((mut service, client)) = start(first, &data).await else { return };
    for orphan in ["early", "late"] {
        eventually(orphan, async || data.with_extension(orphan).exists().then_some(())).await;
    }
    no_zombie_stays(&service).await;
    client.enqueue(1).await;
    signal_process(wrapper_and_service(&service).0, libc::SIGTERM);
    assert!(service.wait_for_exit().await.success(), "{}", service.output());
    assert!(service.output().contains("leaving"), "{}", service.output());
}

#[tokio::test]
async fn killed_server_leaves_no_zombie_and_its_status_is_logged() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let Some((mut service, client)) = start("", &data).await else { return };
    let id = client.enqueue(1).await;
    let redis = redis::Client::open(format!("unix://{}", data.join("redis.sock").display())).expect("a URL");
    let mut redis = redis.get_multiplexed_async_connection().await.expect("it listens");
    let mut say = async |words: &[&str]| {
        let _: redis::Value = redis::cmd(words[0]).arg(&words[1..]).query_async(&mut redis).await.expect("done");
    };
    // Ten seconds per key: it is killed during its rewrite.
    say(&["CONFIG", "SET", "rdb-key-save-delay", "10000000"]).await;
    say(&["BGREWRITEAOF"]).await;
    eventually("a rewrite", async || find(&service, "-aof-rewrite").map(drop)).await;
    let server = find(&service, "-server").expect("the private server");
    signal_process(server, libc::SIGKILL);
    eventually("another server", async || find(&service, "-server").filter(|pid| *pid != server)).await;
    eventually("it serves", async || (client.get(&format!("/jobs/{id}")).await.status == 200).then_some(())).await;
    // The rest of the rewrite has no parent and may take a while.
    if let Some(rewrite) = find(&service, "-aof-rewrite") {
        signal_process(rewrite, libc::SIGKILL);
    }
    no_zombie_stays(&service).await;
    assert!(service.output().contains("signal: 9"), "{}", service.output());
    let (first, serving) = wrapper_and_service(&service);
    assert_ne!(first, serving, "the first process only reaps");
    signal_process(serving, libc::SIGKILL);
    let end = service.wait_for_exit().await;
    assert_eq!(end.code().or(end.signal()), Some(128 + libc::SIGKILL), "{end:?}");
}

#[tokio::test]
async fn first_process_forwards_ignored_and_repeated_signals() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((mut service, client)) = start("trap '' HUP;", &folder.path().join("data")).await else { return };
    let first = wrapper_and_service(&service).0;
    signal_process(first, libc::SIGHUP);
    client.enqueue(1).await;
    signal_process(first, libc::SIGINT);
    signal_process(first, libc::SIGQUIT);
    assert!(service.wait_for_exit().await.success(), "{}", service.output());
    assert_eq!(service.output().matches("leaving").count(), 1, "{}", service.output());
}
