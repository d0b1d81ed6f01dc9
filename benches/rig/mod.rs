//! What the benches stand on: a real Redis, the real service as a process of its own, and a client that costs little.

pub mod client;
pub mod engine;
pub mod process;
mod tls;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use client::Client;
use engine::Engine;
use tls::Tls;

pub const SERVICE: &str = env!("CARGO_BIN_EXE_intray");

pub struct Rig {
    pub address: SocketAddr,
    pub engine: Engine,
    /// Of the other Redis.
    replica: Option<Engine>,
    /// By what clients connect.
    tls: Option<Tls>,
    service: Child,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

impl Rig {
    pub fn start() -> Self {
        Self::start_as(Command::new(SERVICE))
    }

    /// The same with the service run by something that looks at it.
    pub fn start_as(mut service: Command) -> Self {
        let engine = Engine::start();
        let url = format!("unix://{}", engine.socket().display());
        service.args(["serve", "--listen", "127.0.0.1:0", "--redis-url", &url]).env("RUST_LOG", "warn");
        let (service, address) = serving(&mut service);
        Self { address, engine, replica: None, tls: None, service }
    }

    /// By HTTPS.
    pub fn by_tls() -> Self {
        let (tls, mut service) = (Tls::new(), Command::new(SERVICE));
        service.envs(tls.environment());
        let mut rig = Self::start_as(service);
        rig.tls = Some(tls);
        rig
    }

    /// A change is acknowledged when a replica has it.
    pub fn replicated() -> Self {
        let mut service = Command::new(SERVICE);
        service.env("INTRAY_DURABILITY", "replicated:1");
        let mut rig = Self::start_as(service);
        rig.replica = Some(rig.engine.replica());
        rig
    }

    /// A change is acknowledged when it is on disk, with the private server.
    pub fn synced() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut service = Command::new(SERVICE);
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

    /// Jobs and scripts so far, by the service's own figures.
    pub fn groups(&self) -> (f64, f64) {
        let mut stream = std::net::TcpStream::connect(self.address).expect("the service");
        let host = self.address;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("figures");
        let sum = |name: &str| {
            let lines = text.lines().filter(|line| line.starts_with(&format!("intray_script_group_jobs_{name}{{")));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        (sum("sum"), sum("count"))
    }

    /// Commands that the service has sent to Redis so far: scripts, whatever is in them, and its own questions.
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

/// A server's process, and where it says that it serves.
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
