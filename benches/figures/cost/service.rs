//! The service alone, under callgrind and then under strace, with a Redis and the bench's own clients on the other side.

use std::{
    cell::Cell,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use futures_util::future::join_all;

use super::{
    super::rig::{Rig, SERVICE},
    callgrind::{Callgrind, Profile},
};

const CYCLES: u64 = 3_000;
const WARM_UP: u64 = 1_000;
/// What it does without being asked is no part of a cycle, and would be more of it on a slower machine.
const IDLE: Duration = Duration::from_secs(5);

pub struct Measured {
    pub profile: Profile,
    pub instructions: f64,
    pub allocations: f64,
    pub jobs_per_script: f64,
}

pub struct Calls {
    pub per_cycle: f64,
    /// The most frequent, with how often each.
    pub which: Vec<(String, f64)>,
}

pub async fn instructions(connections: u64, folder: &Path) -> Measured {
    let callgrind = Callgrind::new(folder);
    let rig = Rig::start_as(callgrind.command(SERVICE));
    let next = Cell::new(0);
    heat(&rig, connections).await;
    work(&rig, connections, WARM_UP, &next).await;
    callgrind.begin(rig.service());
    tokio::time::sleep(IDLE).await;
    let idle = callgrind.end(rig.service());

    let (before, start) = (rig.groups(), Instant::now());
    callgrind.begin(rig.service());
    work(&rig, connections, CYCLES, &next).await;
    let (profile, took) = (callgrind.end(rig.service()), start.elapsed());
    let after = rig.groups();
    let unasked = took.as_secs_f64() / IDLE.as_secs_f64();
    let per_cycle = |all: u64, idle: u64| (all as f64 - idle as f64 * unasked) / CYCLES as f64;
    Measured {
        instructions: per_cycle(profile.instructions, idle.instructions),
        allocations: per_cycle(profile.allocations, idle.allocations),
        jobs_per_script: (after.0 - before.0) / (after.1 - before.1),
        profile,
    }
}

pub async fn system_calls(connections: u64, folder: &Path) -> Calls {
    let rig = Rig::start();
    let next = Cell::new(0);
    work(&rig, connections, WARM_UP, &next).await;
    let file = folder.join("strace");
    let strace = watch(rig.service(), &file);
    work(&rig, connections, CYCLES, &next).await;
    let mut strace = stopped(strace);
    strace.wait().expect("strace");
    let text = std::fs::read_to_string(&file).expect("counts");
    // Columns: % time, seconds, µs a call, calls, errors if any, name.
    let counted = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let calls: f64 = words.get(3)?.parse().ok()?;
        Some(((*words.last()?).to_owned(), calls / CYCLES as f64))
    };
    let mut which: Vec<_> = text.lines().filter_map(counted).filter(|(name, _)| name != "total").collect();
    which.sort_by(|a, b| b.1.total_cmp(&a.1));
    Calls { per_cycle: which.iter().map(|(_, calls)| calls).sum(), which }
}

/// Follows each thread of the service.
fn watch(process: u32, file: &Path) -> Child {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-p", &process.to_string(), "-o"]).arg(file);
    let strace = strace.stderr(Stdio::null()).spawn().expect("strace");
    let is_followed = |thread: std::fs::DirEntry| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0"))
    };
    let threads = || std::fs::read_dir(format!("/proc/{process}/task")).expect("threads").flatten();
    while !threads().all(is_followed) {
        std::thread::sleep(Duration::from_millis(5));
    }
    strace
}

/// Told to end, it writes down what it has counted.
fn stopped(strace: Child) -> Child {
    let done = Command::new("kill").args(["-INT", &strace.id().to_string()]).status();
    assert!(done.expect("kill").success());
    strace
}

/// Code that runs for the first time takes callgrind so long that a call may go without an answer: in another queue, until
/// everybody has been answered well a few times.
async fn heat(rig: &Rig, connections: u64) {
    let client = |n: u64| async move {
        let (mut client, mut answered) = (rig.client().await, 0);
        for n in (n..).step_by(connections as usize) {
            answered = if client.try_cycle(n).await { answered + 1 } else { 0 };
            if answered == 5 {
                return;
            }
        }
    };
    join_all((0..connections).map(client)).await;
}

/// So many cycles over so many connections, as fast as they are answered.
async fn work(rig: &Rig, connections: u64, cycles: u64, next: &Cell<u64>) {
    let end = next.get() + cycles;
    let client = || async {
        let mut client = rig.client().await;
        while next.get() < end {
            let n = next.replace(next.get() + 1);
            client.cycle(n).await;
        }
    };
    join_all((0..connections).map(|_| client())).await;
}
