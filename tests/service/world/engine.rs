//! A private Redis in a temporary folder: one server on a socket, or a cluster.

pub mod moves;
pub mod nodes;
mod server;

pub use self::nodes::NodeSettings;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use redis::{FromRedisValue, RedisError, aio::MultiplexedConnection};

use self::server::{PROGRAM, Server};
use super::clock::Clock;

/// The server program that `make test-all` installs, because that on PATH may be too old for `WAITAOF`. None without it.
pub fn latest_server_program() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(".engine/latest/valkey-server");
    program.exists().then_some(program)
}

pub fn server_program() -> &'static str {
    &PROGRAM
}

pub struct Engine {
    folder: PathBuf,
    pub clock: Clock,
    /// The only one, or the nodes of a cluster.
    servers: Vec<Server>,
    /// Settings of a cluster's nodes.
    form: Option<NodeSettings>,
    /// More was changed than keys and the clock, so no other story may have it.
    altered: AtomicBool,
}

/// Commands that leave nothing behind that `FLUSHALL` does not remove.
const KEY_COMMANDS: &[&str] = &[
    "DBSIZE",
    "DEL",
    "EVAL",
    "EVAL_RO",
    "EXISTS",
    "FCALL",
    "FLUSHALL",
    "GET",
    "HDEL",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HINCRBY",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HSET",
    "HSTRLEN",
    "HVALS",
    "INFO",
    "KEYS",
    "MEMORY",
    "PING",
    "PTTL",
    "PUBLISH",
    "PUBSUB",
    "RENAME",
    "SCAN",
    "SET",
    "STRLEN",
    "TIME",
    "TYPE",
    "UNLINK",
    "XADD",
    "XDEL",
    "XINFO",
    "XLEN",
    "XRANGE",
    "XREVRANGE",
    "XTRIM",
    "ZADD",
    "ZCARD",
    "ZCOUNT",
    "ZRANGE",
    "ZRANGEBYSCORE",
    "ZREM",
    "ZSCORE",
];

impl Engine {
    pub async fn start(folder: &Path, durable: bool) -> Self {
        Self::start_with_args(folder, appending(durable)).await
    }

    pub async fn start_with_args(folder: &Path, keeping: &'static [&'static str]) -> Self {
        Self::launch(PathBuf::from(*PROGRAM), folder, keeping).await
    }

    pub async fn start_program(program: PathBuf, folder: &Path, durable: bool) -> Self {
        Self::launch(program, folder, appending(durable)).await
    }

    async fn launch(program: PathBuf, folder: &Path, keeping: &'static [&'static str]) -> Self {
        let clock = Clock::new(folder);
        let mut server = Server::on_socket(program, folder, keeping, &clock);
        server.connect().await;
        let altered = AtomicBool::new(false);
        Self { folder: folder.to_owned(), clock, servers: vec![server], form: None, altered }
    }

    pub fn port_of(&self, nth: usize) -> u16 {
        self.servers[nth].ports().0
    }

    pub fn is_cluster(&self) -> bool {
        self.servers[0].is_cluster_node()
    }

    pub fn node_count(&self) -> usize {
        self.servers.len()
    }

    /// The value for `--redis-url`.
    pub fn url(&self) -> String {
        if !self.is_cluster() {
            return format!("unix://{}", self.path_of_socket().display());
        }
        let places: Vec<_> = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.ports().0)).collect();
        format!("redis+cluster://{}", places.join(","))
    }

    /// The URL with a user and a password.
    pub fn url_with_credentials(&self, user: &str, password: &str) -> String {
        match self.is_cluster() {
            true => self.url().replace("://", &format!("://{user}:{password}@")),
            false => format!("{}?user={user}&pass={password}", self.url()),
        }
    }

    /// Opens a TCP port, also after each restart.
    pub async fn open_port(&mut self, port: u16) -> bool {
        let words = format!("CONFIG SET port {port}");
        self.mark_altered();
        self.servers[0].set_port(port);
        self.try_run_on::<String>(0, &words).await.is_ok()
    }

    pub fn folder(&self) -> &Path {
        self.mark_altered();
        &self.folder
    }

    /// For a connection that may do anything.
    pub fn socket(&self) -> PathBuf {
        self.mark_altered();
        self.path_of_socket()
    }

    fn path_of_socket(&self) -> PathBuf {
        assert!(!self.is_cluster(), "a cluster has no socket");
        self.folder.join("redis.sock")
    }

    /// A direct connection that bypasses any proxy.
    pub fn connection(&self) -> MultiplexedConnection {
        self.connection_to(0)
    }

    pub fn connection_to(&self, node: usize) -> MultiplexedConnection {
        self.mark_altered();
        self.servers[node].connection()
    }

    /// No other story may have it from here on.
    pub fn mark_altered(&self) {
        self.altered.store(true, Ordering::Relaxed);
    }

    /// Whether another story may have it.
    pub fn is_clean(&self) -> bool {
        !self.altered.load(Ordering::Relaxed)
    }

    /// Empty, and by the real time, for the next story; false if it does not answer.
    pub async fn clear(&mut self) -> bool {
        self.clock.reset();
        self.connect().await;
        self.try_run_on::<String>(0, "FLUSHALL").await.is_ok()
    }

    pub async fn run<T: FromRedisValue>(&self, words: &str) -> T {
        self.query(&command(words)).await
    }

    pub async fn query<T: FromRedisValue>(&self, command: &redis::Cmd) -> T {
        self.note(command);
        let answer = if self.is_cluster() { self.route(command).await } else { self.servers[0].query(command).await };
        let answer = answer.and_then(|value| Ok(T::from_redis_value(value)?));
        answer.unwrap_or_else(|e: RedisError| panic!("{command:?}: {e}"))
    }

    /// Sends a command to one server, without routing by key.
    pub async fn run_on<T: FromRedisValue>(&self, nth: usize, words: &str) -> T {
        self.try_run_on(nth, words).await.unwrap_or_else(|e| panic!("{words}: {e}"))
    }

    pub async fn try_run_on<T: FromRedisValue>(&self, nth: usize, words: &str) -> Result<T, RedisError> {
        let command = command(words);
        self.note(&command);
        Ok(T::from_redis_value(self.servers[nth].query(&command).await?)?)
    }

    fn note(&self, command: &redis::Cmd) {
        let is_of_keys = match command.args_iter().next() {
            Some(redis::Arg::Simple(name)) => {
                KEY_COMMANDS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
            }
            _ => false,
        };
        if !is_of_keys {
            self.mark_altered();
        }
    }

    /// Milliseconds since 1970 by this server's clock.
    pub async fn now(&self) -> u64 {
        let (seconds, micros): (u64, u64) = self.run("TIME").await;
        seconds * 1_000 + micros / 1_000
    }

    /// Connections that subscribe to the hints of a queue.
    pub async fn hint_subscribers(&self, queue: &str) -> u64 {
        let mut all = 0;
        for nth in 0..self.servers.len() {
            let words = format!("PUBSUB NUMSUB intray:{{{queue}}}:2:hints");
            all += self.run_on::<(String, u64)>(nth, &words).await.1;
        }
        all
    }

    /// Stops the server process; its connections stay open.
    pub fn freeze(&self) {
        self.mark_altered();
        self.servers.iter().for_each(|server| server.signal(libc::SIGSTOP));
    }

    pub fn thaw(&self) {
        self.servers.iter().for_each(|server| server.signal(libc::SIGCONT));
    }

    pub fn kill(&mut self) {
        self.mark_altered();
        self.servers.iter_mut().for_each(Server::kill);
    }

    /// `INFO replication` of the first server.
    pub async fn replication_info(&mut self) -> String {
        self.replication_info_of(0).await
    }

    /// Reconnects: a server that changes its role closes its connections.
    pub async fn connect(&mut self) {
        for server in &mut self.servers {
            server.connect().await;
        }
    }
}

fn command(words: &str) -> redis::Cmd {
    let mut command = redis::Cmd::new();
    for word in words.split(' ') {
        command.arg(word);
    }
    command
}

fn appending(durable: bool) -> &'static [&'static str] {
    if durable { &["--appendonly", "yes", "--appendfsync", "no"] } else { &["--appendonly", "no"] }
}
