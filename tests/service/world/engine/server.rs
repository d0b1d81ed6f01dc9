//! One server.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::LazyLock,
};

use redis::{RedisError, Value, aio::MultiplexedConnection};

use super::{
    super::{
        children::{ChildProcess, PATIENCE, free_port, tool},
        clock::Clock,
        eventually,
    },
    NodeSettings,
};

/// `valkey-server` or `redis-server`, whichever is there.
pub(super) static PROGRAM: LazyLock<&str> = LazyLock::new(|| {
    let is_there = |name: &&str| {
        tool(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    ["valkey-server", "redis-server"]
        .into_iter()
        .find(is_there)
        .expect("valkey-server or redis-server on PATH: make engine")
});

/// Arguments.
pub type PersistenceArgs = &'static [&'static str];

pub(super) struct Server {
    process: ChildProcess,
    program: PathBuf,
    folder: PathBuf,
    /// Arguments that choose what is written to disk.
    persistence: PersistenceArgs,
    /// Besides its socket.
    port: u16,
    /// For a node of a cluster.
    node: Option<Node>,
    /// The port that the cluster announces when a proxy stands before it.
    pub(super) announced_port: Option<u16>,
    connection: Option<MultiplexedConnection>,
}

/// Where its clients find it and where the other nodes do, and after how many ms they miss it.
#[derive(Clone, Copy)]
struct Node {
    port: u16,
    bus: u16,
    timeout_ms: u64,
}

impl Server {
    pub(super) fn on_socket(program: PathBuf, folder: &Path, keeping: PersistenceArgs, clock: &Clock) -> Self {
        let process = launch(&program, folder, keeping, Err(0), clock);
        Self {
            process,
            program,
            folder: folder.to_owned(),
            persistence: keeping,
            port: 0,
            node: None,
            announced_port: None,
            connection: None,
        }
    }

    pub(super) fn cluster_node(folder: &Path, form: &NodeSettings, clock: &Clock) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        let [port, bus] = [free_port(), free_port()];
        let NodeSettings { program, keeping, timeout_ms } = form.clone();
        let node = Node { port, bus, timeout_ms };
        let process = launch(&program, folder, keeping, Ok(node), clock);
        let (folder, node) = (folder.to_owned(), Some(node));
        Self { process, program, folder, persistence: keeping, port: 0, node, announced_port: None, connection: None }
    }

    /// Instead of listening.
    pub(super) async fn exited_early(&mut self) -> bool {
        let (port, _) = self.ports();
        eventually("it listens or has ended", async || {
            if self.process.child().try_wait().expect("our child").is_some() {
                return Some(true);
            }
            std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(|_| false)
        })
        .await
    }

    /// From the next start on.
    pub(super) fn set_port(&mut self, port: u16) {
        self.port = port;
    }

    pub(super) fn is_cluster_node(&self) -> bool {
        self.node.is_some()
    }

    pub(super) fn ports(&self) -> (u16, u16) {
        let node = self.node.expect("a node of a cluster");
        (node.port, node.bus)
    }

    /// What the cluster calls it: `host:port`, or the port alone.
    pub(super) fn has_address(&self, place: &str) -> bool {
        let port = place.rsplit(':').next().unwrap_or_default();
        port == self.ports().0.to_string() || self.announced_port.is_some_and(|announced| port == announced.to_string())
    }

    pub(super) fn connection(&self) -> MultiplexedConnection {
        self.connection.clone().expect("connected at the start")
    }

    pub(super) async fn query(&self, command: &redis::Cmd) -> Result<Value, RedisError> {
        command.query_async(&mut self.connection()).await
    }

    pub(super) fn signal(&self, signal: i32) {
        self.process.signal(signal);
    }

    pub(super) fn kill(&mut self) {
        self.process.kill();
    }

    pub(super) async fn revive(&mut self, clock: &Clock) {
        self.process.kill();
        self.process = launch(&self.program, &self.folder, self.persistence, self.node.ok_or(self.port), clock);
        self.connect().await;
    }

    pub(super) async fn connect(&mut self) {
        let url = match self.node {
            Some(Node { port, .. }) => format!("redis://127.0.0.1:{port}"),
            None => format!("unix://{}", self.folder.join("redis.sock").display()),
        };
        let client = redis::Client::open(url).expect("a URL");
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
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

/// A node of a cluster, or at a socket and a port.
fn launch(
    program: &Path,
    folder: &Path,
    keeping: PersistenceArgs,
    node: Result<Node, u16>,
    clock: &Clock,
) -> ChildProcess {
    let mut command = tool(program);
    command.args(["--save", "", "--maxmemory-policy", "noeviction"]).args(keeping);
    command.args(["--enable-debug-command", "yes"]).arg("--dir").arg(folder);
    match node {
        Ok(Node { port, bus, timeout_ms }) => {
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--cluster-port", &bus.to_string()]);
            command.args(["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"]);
            command.args(["--cluster-node-timeout", &timeout_ms.to_string(), "--repl-diskless-sync-delay", "0"]);
        }
        Err(port) => {
            command
                .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
                .arg("--unixsocket")
                .arg(folder.join("redis.sock"));
        }
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    clock.apply_to(&mut command);
    ChildProcess::spawn(command)
}
