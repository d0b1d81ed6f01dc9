//! All results in a file: `figures.json`, from which the page and its curves are made.

use std::{collections::BTreeMap, path::PathBuf, process::Command};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{rig::engine::Engine, table::Table};

#[derive(Serialize, Deserialize)]
pub struct Record {
    pub machine: Machine,
    pub parts: BTreeMap<String, Taken>,
}

#[derive(PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub model: String,
    pub cores: usize,
    pub memory_gib: u64,
    pub kernel: String,
    pub versions: Vec<String>,
}

/// One part.
#[derive(Serialize, Deserialize)]
pub struct Taken {
    pub at: String,
    /// The size of the run.
    pub size: String,
    pub seconds: f64,
    /// Processors that were busy with other programs just before.
    pub others: f64,
    /// Calls answered with 503, because Redis was too slow.
    #[serde(default)]
    pub asked_again: u64,
    pub table: Table,
    pub missing: Vec<String>,
}

impl Taken {
    /// The table, and notes about it.
    pub fn page(&self) -> String {
        let mut page =
            format!("{}\nTaken {}; other load before it: {:.1} processors.", self.table.page(), self.at, self.others);
        if self.size != USUAL {
            page += &format!(" With `SIZE={}`.", self.size);
        }
        if self.asked_again > 0 {
            page += &format!(" Calls that were answered 503 and sent again: {}.", self.asked_again);
        }
        if !self.missing.is_empty() {
            page += &format!(" Not here: {}.", self.missing.join(", "));
        }
        page + "\n"
    }
}

/// The size of a part without one in the file.
const USUAL: &str = "usual";

/// Beside cargo's output.
fn path() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    target.parent().map(|target| target.join("bench/figures.json")).expect("a folder of what is built")
}

impl Record {
    pub fn new() -> Self {
        Self { machine: Machine::this(), parts: BTreeMap::new() }
    }

    /// With earlier results, if of the same machine and commit.
    pub fn kept() -> Self {
        let (text, new) = (std::fs::read_to_string(path()).unwrap_or_default(), Self::new());
        let kept = serde_json::from_str(&text).ok().filter(|kept: &Self| kept.machine == new.machine);
        kept.unwrap_or(new)
    }

    /// # Panics
    /// When it cannot be written.
    pub fn keep(&self) {
        let path = path();
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, serde_json::to_vec_pretty(self).expect("JSON")).expect("written");
    }
}

impl Machine {
    fn this() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let after = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix(':'));
            line.map_or("", str::trim).to_owned()
        };
        let memory = after(&read("/proc/meminfo"), "MemTotal");
        let memory: u64 = memory.split(' ').next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
        Self {
            model: after(&read("/proc/cpuinfo"), "model name"),
            cores: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
            memory_gib: memory.div_ceil(1 << 20),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            versions: versions(),
        }
    }
}

/// Versions of the compared programs, as far as they are installed.
fn versions() -> Vec<String> {
    let engine = Engine::start();
    let valkey = engine.info("server", "valkey_version");
    let redis = match valkey.as_str() {
        "" => format!("Redis {}", engine.info("server", "redis_version")),
        version => format!("Valkey {version}"),
    };
    let bullmq = || {
        let text = include_str!("yardsticks/bullmq/package.json");
        let wanted: serde_json::Value = serde_json::from_str(text).ok()?;
        Some(format!("BullMQ {}", wanted["dependencies"]["bullmq"].as_str()?))
    };
    let package = |name: &str| Some(format!("{name} {}", version_of("dpkg-query", &["-W", "-f=${Version}", name])?));
    let commit = version_of("git", &["-C", env!("CARGO_MANIFEST_DIR"), "rev-parse", "--short", "HEAD"]);
    let intray = format!("intray {} {}", env!("CARGO_PKG_VERSION"), commit.unwrap_or_default());
    let others = [
        version_of("rustc", &["--version"]),
        package("webdis"),
        package("beanstalkd"),
        version_of("node", &["--version"]).map(|version| format!("Node {version}")),
        bullmq(),
    ];
    [intray.trim().to_owned(), redis].into_iter().chain(others.into_iter().flatten()).collect()
}

/// The first line of a program's output, if it is installed and succeeds.
fn version_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned())
}

/// To the minute.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string()
}
