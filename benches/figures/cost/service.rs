//! The service alone, under callgrind and then under strace, with a Redis and the bench's own clients on the other side.

use std::{
    cell::Cell,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::Ordering,
    time::Duration,
};

use futures_util::future::join_all;

use super::{
    super::rig::{
        Rig, SERVICE, Setup,
        client::ASKED_AGAIN,
        stock::Numbers,
        ways::{Way, workers},
    },
    callgrind::{Callgrind, Profile},
    counter::Counter,
    kept::Parts,
    redis::ATTEMPTS,
};

const CYCLES: u64 = 3_000;
const WARM_UP: u64 = 1_000;

pub struct Measured {
    pub profile: Profile,
    pub instructions: f64,
    pub allocations: f64,
    pub jobs_per_script: f64,
    /// Per cycle.
    pub calls_of_redis: f64,
}

impl Measured {
    /// Instructions per cycle by function, without small ones and without unnamed ones: some linkers strip symbols
    /// together with debug information.
    pub fn functions(&self, share: f64) -> Parts {
        let functions = self.profile.functions().into_iter();
        let functions = functions.map(|(name, own)| (name.to_owned(), own as f64 / CYCLES as f64));
        let functions = functions.take_while(|(_, own)| *own >= share * self.instructions);
        functions.filter(|(name, _)| !name.starts_with("0x")).collect()
    }
}

/// Repeats the measurement until all calls succeeded: a slowed service may be late.
pub async fn until_well<T>(mut measure: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..ATTEMPTS {
        if let Some(measured) = measure().await {
            return measured;
        }
        eprintln!("once more: a call was not answered well");
    }
    panic!("the service did not answer in time, {ATTEMPTS} times: the machine is too busy")
}

pub struct Calls {
    pub per_cycle: f64,
    /// The most frequent ones, with their counts.
    pub which: Vec<(String, f64)>,
}

/// The callers and their queues.
#[derive(Clone, Copy)]
pub struct Case {
    pub setup: Setup,
    pub way: Way,
    pub connections: u64,
}

impl Case {
    pub fn plain(connections: u64) -> Self {
        Self { setup: Setup::Plain, way: Way::Plain, connections }
    }
}

pub async fn instructions(case: Case, folder: &Path) -> Measured {
    until_well(async || {
        let callgrind = Callgrind::new(folder);
        let rig = Rig::of(case.setup, callgrind.command(&*SERVICE));
        let numbers = Numbers::new();
        ready(&rig, case).await;
        let _reader = case.way.reader(&rig);
        work(&rig, case, WARM_UP, &numbers).await;
        let counter = Counter::of(callgrind, rig.service()).await;
        let (before, sent) = (rig.engine.calls(), rig.commands());
        let (counted, is_well) = counter.count(async || work(&rig, case, CYCLES, &numbers).await).await;
        let (sent, scripts) = (rig.commands() - sent, rig.engine.calls().scripts - before.scripts);
        is_well.then(|| Measured {
            instructions: counted.instructions / CYCLES as f64,
            allocations: counted.allocations / CYCLES as f64,
            jobs_per_script: (3 * CYCLES) as f64 / scripts as f64,
            calls_of_redis: sent as f64 / CYCLES as f64,
            profile: counted.profile,
        })
    })
    .await
}

pub async fn system_calls(case: Case, folder: &Path) -> Calls {
    until_well(async || {
        let rig = Rig::of(case.setup, Command::new(&*SERVICE));
        let numbers = Numbers::new();
        case.way.ready(&rig).await;
        let _reader = case.way.reader(&rig);
        work(&rig, case, WARM_UP, &numbers).await;
        let file = folder.join("strace");
        let strace = watch(rig.service(), &file);
        let is_well = work(&rig, case, CYCLES, &numbers).await;
        stopped(strace).wait().expect("strace");
        is_well.then(|| counted(&file))
    })
    .await
}

fn counted(file: &Path) -> Calls {
    let text = std::fs::read_to_string(file).expect("counts");
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

/// At its end it writes its counts.
fn stopped(strace: Child) -> Child {
    let done = Command::new("kill").args(["-INT", &strace.id().to_string()]).status();
    assert!(done.expect("kill").success());
    strace
}

/// Under callgrind new code is so slow that a call may time out: warm up in another queue, until every caller has
/// succeeded a few times.
pub async fn ready(rig: &Rig, case: Case) {
    let client = |n: u64| async move {
        let (mut client, mut answered) = (rig.client().await, 0);
        for n in (n..).step_by(case.connections as usize) {
            answered = if client.try_cycle(n).await { answered + 1 } else { 0 };
            if answered == 5 {
                return;
            }
        }
    };
    join_all((0..case.connections).map(client)).await;
    case.way.ready(rig).await;
}

/// Runs so many cycles at full speed; returns whether no call was repeated.
pub async fn work(rig: &Rig, case: Case, cycles: u64, numbers: &Numbers) -> bool {
    let asked_again = ASKED_AGAIN.load(Ordering::Relaxed);
    let left = &Cell::new(cycles);
    let workers = workers(rig, case.way, case.connections as usize).await;
    join_all(workers.into_iter().map(|mut worker| async move {
        while let Some(rest) = left.get().checked_sub(1) {
            left.set(rest);
            worker.cycle(numbers.next()).await;
        }
    }))
    .await;
    ASKED_AGAIN.load(Ordering::Relaxed) == asked_again
}
