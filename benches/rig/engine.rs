//! A Redis of its own, configured as the private server: append-only file, synced each second.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

/// Redis's own counters, since its start.
#[derive(Clone, Copy, Default)]
pub struct Calls {
    /// Scripts and functions, and their time in microseconds.
    pub scripts: u64,
    pub script_us: f64,
    /// Other commands by clients and scripts.
    pub commands: u64,
}

pub struct Engine {
    /// `None` when the service itself has started it.
    child: Option<Child>,
    process: u32,
    folder: TempDir,
}

/// The first engine that is installed.
pub fn program() -> String {
    let is_here = |engine: &&str| Command::new(engine).arg("--version").output().is_ok();
    ["redis-server", "valkey-server"].into_iter().find(is_here).unwrap_or("redis-server").to_owned()
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Engine {
    pub fn start() -> Self {
        Self::start_as(Command::new(program()))
    }

    /// The same under a tool.
    pub fn start_as(mut engine: Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("redis.sock");
        let child = engine
            .args(["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec"])
            // As `docs/scale.md` advises.
            .args(["--hash-max-listpack-entries", "64", "--zset-max-listpack-entries", "16"])
            .args(["--auto-aof-rewrite-min-size", "512mb", "--rdbcompression", "no", "--unixsocket"])
            .arg(&socket)
            .arg("--dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("an engine");
        while UnixStream::connect(&socket).is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let process = child.id();
        Self { child: Some(child), process, folder }
    }

    /// The private server of a service with this data folder.
    pub fn of_a_service(folder: TempDir) -> Self {
        let mut engine = Self { child: None, process: 0, folder };
        engine.process = engine.info("server", "process_id").parse().expect("a process");
        engine
    }

    /// A replica in sync with it.
    pub fn replica(&self) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        self.ask(&format!("CONFIG SET port {port}"));
        let replica = Self::start();
        replica.ask(&format!("REPLICAOF 127.0.0.1 {port}"));
        while replica.info("replication", "master_link_status") != "up" {
            std::thread::sleep(Duration::from_millis(5));
        }
        replica
    }

    pub fn process(&self) -> u32 {
        self.process
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// One command and its raw answer.
    pub fn ask(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).expect("Redis");
        write!(stream, "{command}\r\nQUIT\r\n").expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        // Arguments of a script may be binary.
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn calls(&self) -> Calls {
        let mut calls = Calls::default();
        for line in self.ask("INFO commandstats").lines() {
            let Some((name, figures)) = line.strip_prefix("cmdstat_").and_then(|line| line.split_once(":calls="))
            else {
                continue;
            };
            let (count, us) = figures.split_once(",usec=").expect("calls and their time");
            let count: u64 = count.parse().expect("a number");
            match name {
                // Views are scripts too, but none is counted here.
                "evalsha" | "eval" | "fcall" => {
                    calls.scripts += count;
                    calls.script_us += us.split(',').next().unwrap_or_default().parse::<f64>().expect("a number");
                }
                // The bench's own connection.
                "info" | "quit" => {}
                _ => calls.commands += count,
            }
        }
        calls
    }

    pub fn used_memory(&self) -> u64 {
        self.info("memory", "used_memory").parse().expect("used_memory")
    }

    /// Waits until no rewrite of its file runs: it makes writes copy memory pages. A due rewrite starts within a tenth
    /// of a second.
    pub async fn rest(&self) {
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            if self.info("persistence", "aof_rewrite_in_progress") == "0" {
                return;
            }
        }
    }

    /// One line of its INFO.
    pub fn info(&self, section: &str, name: &str) -> String {
        let info = self.ask(&format!("INFO {section}"));
        let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.unwrap_or_default().trim().to_owned()
    }
}
