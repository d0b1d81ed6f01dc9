//! A world of one's own for each story: a Redis, the service in front of it, a client that trusts neither.

pub mod access;
pub mod authority;
pub mod batch_verbs;
mod behind;
mod check;
mod children;
mod clock;
pub mod contract;
mod engine;
mod guarded;
pub mod http;
pub mod http2;
pub mod json;
pub mod keyspace;
pub mod meter;
pub mod mover;
pub mod page;
mod proxy;
pub mod replica;
pub mod sentinels;
mod service;
pub mod shards;
pub mod shim;
pub mod tls;
mod verbs;
pub mod waiters;
pub mod wire;

use std::{
    ops::Deref,
    path::PathBuf,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use self::behind::Watcher;
pub use self::{
    children::{Tied, is_alive, signal_process},
    engine::{Engine, Form, latest},
    http::{Answer, Client, Lost},
    json::{assert_holds, missing},
    proxy::{Fate, Fault, Proxy},
    service::{End, Service, program, run},
    verbs::{Held, id_of, number},
};

/// The sweep of such a service never runs by itself: a story says when.
const NEVER: &str = "3600000";

/// How a world is to be.
#[derive(Default)]
pub struct Plan {
    flags: Vec<String>,
    sweep_interval_ms: Option<u32>,
    durable: bool,
    proxied: bool,
    /// Lines of the keys file.
    keys: Vec<String>,
    talkative: bool,
    everywhere: bool,
    first_layout: bool,
    cluster: Option<u64>,
    engine: Option<PathBuf>,
}

/// What the program of the first layout left, and when; how it was made is beside it.
const FIRST_LAYOUT: &[u8] = include_bytes!("../fixtures/layout_1.aof");
const FIRST_LAYOUT_AT: u64 = 1_795_312_560_000;

impl Plan {
    /// Redis holds what a program of the first layout left, by its clock, and `intray migrate` was run.
    pub fn of_the_first_layout(mut self) -> Self {
        self.first_layout = true;
        self
    }

    /// With access control: a key for an operator, which is the world's own, and for each of these (name, role, pattern).
    /// The key of `web` is `key-of-web`.
    pub fn with_keys(mut self, keys: &[(&str, &str, &str)]) -> Self {
        let all = [("root", "operator", "*")];
        self.keys = all.iter().chain(keys).map(|(name, role, pattern)| access::line(name, role, pattern)).collect();
        self
    }

    pub fn flag(mut self, name: &str, value: &str) -> Self {
        self.flags.extend([name.to_owned(), value.to_owned()]);
        self
    }

    /// A flag without a value.
    pub fn switch(mut self, name: &str) -> Self {
        self.flags.push(name.to_owned());
        self
    }

    /// The service logs all it can.
    pub fn talkative(mut self) -> Self {
        self.talkative = true;
        self
    }

    /// It listens on all addresses, as in a container; the stories meet it on loopback.
    pub fn everywhere(mut self) -> Self {
        self.everywhere = true;
        self
    }

    /// The background task runs by itself.
    pub fn sweeping_every(mut self, ms: u32) -> Self {
        self.sweep_interval_ms = Some(ms);
        self
    }

    /// Redis keeps an append-only file.
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Redis is another program than that on PATH.
    pub fn on(mut self, program: PathBuf) -> Self {
        self.engine = Some(program);
        self
    }

    /// A proxy stands before Redis.
    pub fn behind_a_proxy(mut self) -> Self {
        self.proxied = true;
        self
    }

    /// Redis is a cluster whose nodes miss each other after so many ms.
    pub fn on_a_cluster(mut self, timeout_ms: u64) -> Self {
        self.cluster = Some(timeout_ms);
        self
    }

    pub async fn start(self) -> World {
        let folder = tempfile::Builder::new().prefix("intray-").tempdir().expect("a temporary folder");
        let is_elsewhere = self.engine.is_some();
        let everywhere = std::env::var_os(shards::EVERYWHERE).filter(|_| !is_elsewhere).map(|_| shards::PATIENT);
        let mut engine = match (self.engine, self.cluster.or(everywhere)) {
            (Some(program), None) => Engine::start_of(program, folder.path(), self.durable).await,
            (None, None) => Engine::start(folder.path(), self.durable).await,
            (program, Some(timeout_ms)) => {
                let usual = Form::usual(self.durable, timeout_ms);
                let form = Form { program: program.unwrap_or_else(|| usual.program.clone()), ..usual };
                Engine::start_cluster(folder.path(), form).await
            }
        };
        if self.first_layout {
            engine.clock.stop_at(FIRST_LAYOUT_AT);
            engine.fill(FIRST_LAYOUT).await;
            let url = engine.url();
            let early = run(program(["serve", "--listen", "127.0.0.1:0", "--redis-url", &url])).await;
            assert!(!early.status.success() && early.stderr.contains("intray migrate"), "{early:?}");
            let migrated = run(program(["migrate", "--redis-url", &url])).await;
            assert!(migrated.status.success() && migrated.stdout.contains("applied"), "{migrated:?}");
        }
        let watcher = match std::env::var_os(behind::EVERYWHERE) {
            Some(_) if !engine.is_cluster() => Some(Watcher::of(&mut engine).await),
            Some(_) | None => None,
        };
        assert!(!self.proxied || watcher.is_none(), "the proxy stands at a socket, and a sentinel names a port");
        let proxy = match self.proxied {
            true => Some(Proxy::start(folder.path(), &mut engine).await),
            false => None,
        };
        let interval = self.sweep_interval_ms.map_or(NEVER.to_owned(), |ms| ms.to_string());
        let redis = match (&proxy, &watcher) {
            (Some(proxy), _) => proxy.url().to_owned(),
            (None, Some(watcher)) => watcher.url(),
            (None, None) => engine.url(),
        };
        let listen = if self.everywhere { "0.0.0.0:0" } else { "127.0.0.1:0" };
        let mut args = ["serve", "--listen", listen, "--sweep-interval-ms", &interval].map(str::to_owned).to_vec();
        args.extend(["--redis-url".to_owned(), redis]);
        args.extend(self.flags);
        if !self.keys.is_empty() {
            let file = folder.path().join("keys");
            std::fs::write(&file, self.keys.join("\n")).expect("a file of keys");
            args.extend(["--keys-file".to_owned(), file.display().to_string()]);
        }
        let mut command = program(&args);
        if self.talkative {
            command.env("RUST_LOG", "trace");
        }
        let service = Service::start(command).await;
        let client = Client::new(&service.url().replace("0.0.0.0", "127.0.0.1"));
        let client = if self.keys.is_empty() { client } else { client.bearing(&access::key("root")) };
        World { client, service, proxy, _watcher: watcher, engine, args, folder }
    }
}

/// The service's client, and all that is behind it. What a story does to jobs, it does through the client.
pub struct World {
    client: Client,
    pub service: Service,
    proxy: Option<Proxy>,
    _watcher: Option<Watcher>,
    pub engine: Engine,
    args: Vec<String>,
    folder: TempDir,
}

impl Deref for World {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl World {
    pub async fn start() -> Self {
        Plan::default().start().await
    }

    pub fn plan() -> Plan {
        Plan::default()
    }

    /// So many ms pass on Redis's clock.
    pub fn pass(&self, ms: u64) {
        self.engine.clock.advance(i64::try_from(ms).expect("a human length of time"));
    }

    /// Time stands still; it passes only by [`Self::pass`].
    pub async fn stop_the_clock(&self) {
        self.engine.clock.stop_at(self.engine.now().await);
    }

    pub fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().expect("planned with a proxy")
    }

    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Another instance on the same Redis.
    pub async fn another(&self) -> (Service, Client) {
        let service = Service::start(program(&self.args)).await;
        let client = self.client.at(service.url());
        (service, client)
    }

    /// Another instance, from a shell that does this first.
    pub async fn another_after(&self, first: &str) -> (Service, Client) {
        let service = Service::start(service::program_after(first, &self.args)).await;
        let client = self.client.at(service.url());
        (service, client)
    }

    /// For the next start: another value of a flag that was planned.
    pub fn set_flag(&mut self, name: &str, value: &str) {
        let at = self.args.iter().position(|arg| arg == name).expect("a flag of the plan");
        self.args[at + 1] = value.to_owned();
    }

    /// After its end, the service is started again.
    pub async fn restart(&mut self) {
        self.service = Service::start(program(&self.args)).await;
        self.client = self.client.at(self.service.url());
    }

    /// Where a job stands in line, or will stand when it comes back.
    pub async fn place(&self, id: &str) -> f64 {
        let (queue, code) = id.split_at(id.len() - 27);
        let keyspace = keyspace::Keyspace::read(&self.engine, queue).await;
        let in_line = keyspace.set("inbound").iter().find(|(member, _)| member.ends_with(&code.as_bytes()[1..]));
        if let Some((_, score)) = in_line {
            return *score;
        }
        keyspace::Live::read(&keyspace.hash("live")[&code.as_bytes()[1..]]).score
    }

    /// What happened to a job, by its events.
    pub async fn story_of(&self, id: &str) -> Vec<String> {
        let queue = &id[..id.len() - 27];
        let events = keyspace::events(&self.engine, queue).await;
        let told = |event: &keyspace::Event| match event.note.as_str() {
            note @ ("late" | "undelivered") => format!("{} {note}", event.kind),
            _ => event.kind.clone(),
        };
        events.iter().filter(|event| event.job == id).map(told).collect()
    }

    /// Whether the job has its dedupe key.
    pub async fn has_key(&self, id: &str) -> bool {
        let queue = &id[..id.len() - 27];
        let holders: Vec<String> = self.engine.run(&format!("HVALS intray:{{{queue}}}:2:dedupe")).await;
        holders.iter().any(|code| id.ends_with(code))
    }

    /// Each job in exactly one state, and everything that hangs on it: the end of every story.
    pub async fn check(&self) {
        check::check(&self.engine, &self.client).await;
    }
}

/// Waits for a condition, with a deadline that only a broken program meets.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "it never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Asserts on what a story of a job tells.
#[track_caller]
pub fn assert_told(told: &[String], expected: &[&str]) {
    assert_eq!(told, expected, "the events of the job");
}

/// For a query: every byte is written as `%XX`.
pub fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
