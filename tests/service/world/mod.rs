//! A separate world for each test: a Redis, the service in front of it, and a client that checks every answer.

pub mod access;
pub mod authority;
pub mod background_caller;
pub mod batch_verbs;
pub mod calls;
mod check;
mod children;
mod clock;
pub mod cluster;
pub mod contract;
mod engine;
pub mod frame_peer;
pub mod http;
pub mod http2;
mod instance;
pub mod json;
pub mod keyspace;
mod lone_sentinel;
pub mod meter;
pub mod move_process;
pub mod pending_reserve;
mod plan;
mod pool;
mod proxy;
pub mod receiver;
#[expect(dead_code, reason = "the model uses more of it")]
mod records;
pub mod replica;
mod sentinel_service;
pub mod sentinels;
mod service;
pub mod shim;
pub mod terminal;
pub mod tls;
mod took;
pub mod upload;
mod verbs;
pub mod waiters;
pub mod wire;

use std::{
    ops::Deref,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use self::lone_sentinel::LoneSentinel;
pub use self::{
    children::{ChildProcess, PATIENCE, SLOW_MACHINE, free_port, is_alive, output, signal_process, tool},
    engine::{Engine, NodeSettings, latest_server_program, server_program},
    http::{Answer, Client, TransportError},
    instance::Instance,
    json::{assert_contains, missing},
    plan::Plan,
    pool::Lease,
    proxy::{CallFate, Fault, Proxy},
    service::{Exit, Service, hurried, hurried_wait, program, run, with_default_redis_timeout},
    took::Took,
    verbs::{ReservedJob, id_of, number},
};

/// How long a queue keeps ended jobs, unless it says so itself.
pub const RETENTION_MS: u64 = 604_800_000;

/// The client, the service and its Redis.
pub struct World {
    client: Client,
    pub service: Instance,
    proxy: Option<Proxy>,
    _watcher: Option<LoneSentinel>,
    /// Ends after the service.
    pub engine: Lease,
    args: Vec<String>,
    is_hurried: bool,
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

    /// With a service that can be killed, measured and read.
    pub async fn start_process() -> Self {
        Plan::default().own_process().start().await
    }

    pub fn plan() -> Plan {
        Plan::default()
    }

    /// Advances Redis's clock by milliseconds.
    pub fn advance_clock(&self, ms: u64) {
        self.engine.clock.advance(i64::try_from(ms).expect("a human length of time"));
    }

    /// Stops the clock; it moves only by [`Self::advance_clock`].
    pub fn stop_clock(&self) {
        self.engine.clock.stop();
    }

    pub fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().expect("planned with a proxy")
    }

    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Another instance on the same Redis.
    pub async fn start_instance(&self) -> (Instance, Client) {
        let service = self.start_service().await;
        let client = self.client.at(service.url());
        (service, client)
    }

    /// As the first one was started.
    async fn start_service(&self) -> Instance {
        match self.service.is_hosted() {
            true => Instance::host(&self.args, &self.engine).await,
            false if self.is_hurried => Instance::Process(Service::start(hurried(program(&self.args))).await),
            false => Instance::Process(Service::start(program(&self.args)).await),
        }
    }

    /// Another instance of an older binary on the same Redis.
    pub async fn start_instance_of(&self, binary: &std::ffi::OsStr) -> (Instance, Client) {
        let service = Instance::Process(Service::start(service::program_at(binary, &self.args)).await);
        let client = self.client.at(service.url());
        (service, client)
    }

    /// Another instance, from a shell that does this first.
    pub async fn start_instance_after(&self, first: &str) -> (Instance, Client) {
        let service = Instance::Process(Service::start(service::program_after(first, &self.args)).await);
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
        self.service = self.start_service().await;
        self.client = self.client.at(self.service.url());
    }

    /// The score of a job in the queue, now or after its return.
    pub async fn score_of(&self, id: &str) -> f64 {
        let (queue, code) = id.split_at(id.len() - 27);
        let keyspace = keyspace::Keyspace::read(&self.engine, queue).await;
        let in_line = keyspace.set("inbound").iter().find(|(member, _)| member.ends_with(&code.as_bytes()[1..]));
        if let Some((_, score)) = in_line {
            return *score;
        }
        keyspace::Live::read(&keyspace.hash("live")[&code.as_bytes()[1..]]).score
    }

    /// Kinds of a job's events, with `late` and `undelivered` notes.
    pub async fn events_of(&self, id: &str) -> Vec<String> {
        let queue = &id[..id.len() - 27];
        let events = keyspace::events(&self.engine, queue).await;
        let kind = |event: &keyspace::Event| match event.note.as_str() {
            note @ ("late" | "undelivered") => format!("{} {note}", event.kind),
            _ => event.kind.clone(),
        };
        events.iter().filter(|event| event.job == id).map(kind).collect()
    }

    /// Whether the job has its dedupe key.
    pub async fn has_dedupe_key(&self, id: &str) -> bool {
        let queue = &id[..id.len() - 27];
        let holders: Vec<String> = self.engine.run(&format!("HVALS intray:{{{queue}}}:2:dedupe")).await;
        holders.iter().any(|code| id.ends_with(code))
    }

    /// Checks the invariants of all queues; the end of every test.
    pub async fn check(&self) {
        self.check_through(&self.client).await;
    }

    /// The same by another service on the same store.
    pub async fn check_through(&self, client: &Client) {
        check::check(&self.engine, client).await;
    }
}

/// Polls a condition; panics after [`PATIENCE`].
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    took::notice_stalls();
    let begin = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "it never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Asserts the kinds of a job's events.
#[track_caller]
pub fn assert_events(events: &[String], expected: &[&str]) {
    assert_eq!(events, expected, "the events of the job");
}

/// For a query: every byte is written as `%XX`.
pub fn percent_encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
