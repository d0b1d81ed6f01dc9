//! The base of the benches: a real Redis, the real service as a process, and a cheap client.

pub mod client;
pub mod engine;
pub mod process;
pub mod stock;
mod tls;
pub mod ways;

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::LazyLock,
};

use client::Client;
use engine::Engine;
use tls::Tls;

/// The service as a release has it, which is built when there is none or an older one.
pub static SERVICE: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let build = ["build", "--quiet", "--profile", "dist", "--features", "jemalloc", "--locked", "--package", "intray"];
    let built = Command::new(env!("CARGO")).args(build).current_dir(root).status().expect("cargo");
    assert!(built.success(), "the service does not build");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder of what is built");
    target.join("dist/intray")
});

pub struct Rig {
    pub address: SocketAddr,
    pub engine: Engine,
    /// The other Redis.
    replica: Option<Engine>,
    /// The URL for clients.
    tls: Option<Tls>,
    service: Child,
}

/// A feature of a service for all its queues.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    Plain,
    /// Over HTTPS.
    Tls,
    /// A change is acknowledged when a replica has it.
    Replicated,
    /// A change is acknowledged when it is on disk, with the private server.
    Synced,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

impl Rig {
    pub fn start() -> Self {
        Self::of(Setup::Plain, Command::new(&*SERVICE))
    }

    /// The service may run under a tool.
    pub fn of(setup: Setup, service: Command) -> Self {
        if setup == Setup::Synced { Self::synced(service) } else { Self::on(Engine::start(), setup, service) }
    }

    /// The same with an existing Redis.
    pub fn on(engine: Engine, setup: Setup, mut service: Command) -> Self {
        let url = format!("unix://{}", engine.socket().display());
        service.args(["serve", "--listen", "127.0.0.1:0", "--redis-url", &url]).env("RUST_LOG", "warn");
        let tls = (setup == Setup::Tls).then(Tls::new);
        match setup {
            Setup::Plain => {}
            Setup::Tls => _ = service.envs(tls.iter().flat_map(Tls::environment)),
            Setup::Replicated => _ = service.env("INTRAY_DURABILITY", "replicated:1"),
            Setup::Synced => panic!("a private server is the service's own"),
        }
        let (service, address) = serving(&mut service);
        let replica = (setup == Setup::Replicated).then(|| engine.replica());
        Self { address, engine, replica, tls, service }
    }

    fn synced(mut service: Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        service.args(["serve", "--listen", "127.0.0.1:0", "--durability", "synced", "--data-dir"]).arg(folder.path());
        let (service, address) = serving(service.env("RUST_LOG", "warn"));
        Self { address, engine: Engine::of_a_service(folder), replica: None, tls: None, service }
    }

    pub fn service(&self) -> u32 {
        self.service.id()
    }

    /// Resident memory of the service, in bytes.
    pub fn resident(&self) -> u64 {
        process::resident(self.service.id())
    }

    /// Commands that the service has sent to Redis so far: scripts, and its own queries.
    pub fn commands(&self) -> u64 {
        const SENT: [&str; 5] = ["evalsha", "fcall", "ping", "ssubscribe", "subscribe"];
        let info = self.engine.ask("INFO commandstats");
        let calls = |line: &str| {
            let (name, figures) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            SENT.contains(&name).then(|| figures.split(',').next()?.parse::<u64>().ok())?
        };
        info.lines().filter_map(calls).sum()
    }

    pub async fn client(&self) -> Client {
        match &self.tls {
            None => Client::to(self.address).await,
            Some(tls) => Client::by_tls(tls, self.address).await,
        }
    }
}

/// A server's process, and its address.
pub fn serving(server: &mut Command) -> (Child, SocketAddr) {
    let mut child = server.stdout(Stdio::piped()).spawn().expect("a server");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let address = loop {
        let line = lines.next().expect("a ready line").expect("text");
        if let Some((_, address)) = line.split_once("://") {
            break address.parse().expect("an address");
        }
    };
    std::thread::spawn(move || lines.for_each(drop));
    (child, address)
}
