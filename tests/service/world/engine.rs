//! A Redis server of one's own, on a socket in a temporary folder.

use std::{
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    time::Duration,
};

use redis::{FromRedisValue, aio::MultiplexedConnection};

use super::{children::Tied, clock::Clock, eventually};

/// `valkey-server` or `redis-server`, whichever is there.
static PROGRAM: LazyLock<&str> = LazyLock::new(|| {
    let is_there = |name: &&str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    ["valkey-server", "redis-server"]
        .into_iter()
        .find(is_there)
        .expect("valkey-server or redis-server on PATH: make engine")
});

/// The server program that `make test-all` brings beside that on PATH, whose Redis may be too old for `WAITAOF`. None without it.
pub fn latest() -> Option<PathBuf> {
    let brought = Path::new(env!("CARGO_MANIFEST_DIR")).join(".engine/latest/valkey-server");
    brought.exists().then_some(brought)
}

pub fn program_of_engines() -> &'static str {
    &PROGRAM
}

pub struct Engine {
    process: Tied,
    program: PathBuf,
    folder: PathBuf,
    pub clock: Clock,
    /// What is kept of what was written, as arguments say it.
    keeping: &'static [&'static str],
    connection: Option<MultiplexedConnection>,
}

impl Engine {
    pub async fn start(folder: &Path, durable: bool) -> Self {
        Self::keeping(folder, appending(durable)).await
    }

    pub async fn keeping(folder: &Path, keeping: &'static [&'static str]) -> Self {
        Self::with(PathBuf::from(*PROGRAM), folder, keeping).await
    }

    pub async fn start_of(program: PathBuf, folder: &Path, durable: bool) -> Self {
        Self::with(program, folder, appending(durable)).await
    }

    async fn with(program: PathBuf, folder: &Path, keeping: &'static [&'static str]) -> Self {
        let clock = Clock::new(folder);
        let process = launch(&program, folder, &clock, keeping);
        let mut engine = Self { process, program, folder: folder.to_owned(), clock, keeping, connection: None };
        engine.connect().await;
        engine
    }

    /// Commands as a file of Redis's holds them.
    pub fn fill(&self, commands: &[u8]) {
        let mut socket = UnixStream::connect(self.socket()).expect("a connection");
        socket.write_all(commands).expect("sent");
        socket.shutdown(Shutdown::Write).expect("ended");
        let mut answers = String::new();
        socket.read_to_string(&mut answers).expect("answers");
        assert!(answers.starts_with("+OK") && !answers.contains("\n-"), "{answers}");
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// A connection of the test's own, past any proxy.
    pub fn connection(&self) -> MultiplexedConnection {
        self.connection.clone().expect("connected at the start")
    }

    pub async fn run<T: FromRedisValue>(&self, words: &str) -> T {
        let mut command = redis::Cmd::new();
        for word in words.split(' ') {
            command.arg(word);
        }
        self.ask(&command).await
    }

    pub async fn ask<T: FromRedisValue>(&self, command: &redis::Cmd) -> T {
        command.query_async(&mut self.connection()).await.unwrap_or_else(|e| panic!("{command:?}: {e}"))
    }

    /// Milliseconds since 1970 by this server's clock.
    pub async fn now(&self) -> u64 {
        let (seconds, micros): (u64, u64) = self.run("TIME").await;
        seconds * 1_000 + micros / 1_000
    }

    /// How many connections hear the hints of a queue.
    pub async fn hearers(&self, queue: &str) -> u64 {
        let (_, n): (String, u64) = self.run(&format!("PUBSUB NUMSUB intray:{{{queue}}}:2:hints")).await;
        n
    }

    /// The server stands still; nobody is told.
    pub fn freeze(&self) {
        self.process.signal(libc::SIGSTOP);
    }

    pub fn thaw(&self) {
        self.process.signal(libc::SIGCONT);
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// After a kill; what was kept depends on how the server keeps it.
    pub async fn revive(&mut self) {
        self.process = launch(&self.program, &self.folder, &self.clock, self.keeping);
        self.connect().await;
    }

    /// Also where the server has cut its clients off, as one does that becomes primary or is none any more.
    pub async fn connect(&mut self) {
        let client = redis::Client::open(format!("unix://{}", self.socket().display())).expect("a URL");
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(30)));
        self.connection = Some(
            eventually("Redis answers", async || {
                let mut connection = client.get_multiplexed_async_connection_with_config(&config).await.ok()?;
                redis::cmd("PING").query_async::<String>(&mut connection).await.ok()?;
                Some(connection)
            })
            .await,
        );
    }
}

fn appending(durable: bool) -> &'static [&'static str] {
    if durable { &["--appendonly", "yes"] } else { &["--appendonly", "no"] }
}

fn launch(program: &Path, folder: &Path, clock: &Clock, keeping: &[&str]) -> Tied {
    let mut command = Command::new(program);
    command.args(["--port", "0", "--save", "", "--maxmemory-policy", "noeviction"]).args(keeping);
    command.args(["--enable-debug-command", "yes"]);
    command.arg("--unixsocket").arg(folder.join("redis.sock")).arg("--dir").arg(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    clock.rule(&mut command);
    Tied::spawn(command)
}
