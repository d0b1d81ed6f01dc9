//! How the world of a story is to be.

use std::path::{Path, PathBuf};

use intray::job::limits::REDIS_TIMEOUT_DEFAULT_MS;

use super::{
    Client, Engine, NodeSettings, Proxy, Service, World, access, cluster, hurried,
    instance::{Instance, REDIS_TIMEOUT_FLAG},
    lone_sentinel::{self, LoneSentinel},
    pool::{self, Lease},
    program,
    service::REDIS_TIMEOUT,
};

/// The sweep of such a service never runs by itself: a story says when.
const SWEEP_DISABLED_MS: &str = "3600000";

/// How a world is to be.
#[derive(Default)]
pub struct Plan {
    flags: Vec<String>,
    sweep_interval_ms: Option<u32>,
    durable: bool,
    proxied: bool,
    default_redis_timeout: bool,
    /// Lines of the keys file.
    keys: Vec<String>,
    webhooks: Vec<String>,
    talkative: bool,
    everywhere: bool,
    cluster: Option<u64>,
    engine: Option<PathBuf>,
    own_process: bool,
    hurried: bool,
}

impl Plan {
    /// The service is a process, which can be killed, signalled and measured, and whose output is read.
    pub fn own_process(mut self) -> Self {
        self.own_process = true;
        self
    }

    /// The service's waits for connections, streams, queues without callers and looks at a server's marker are shorter: `hurried_wait`.
    pub fn hurried(mut self) -> Self {
        self.hurried = true;
        self.own_process()
    }

    /// With access control: a key for an operator, which is the world's own, and for each of these (name, role, pattern).
    /// The key of `web` is `key-of-web`.
    pub fn with_keys(mut self, keys: &[(&str, &str, &str)]) -> Self {
        let all = [("root", "operator", "*")];
        self.keys =
            all.iter().chain(keys).map(|(name, role, pattern)| access::keys_file_line(name, role, pattern)).collect();
        self
    }

    /// With a webhooks file of these lines.
    pub fn with_webhooks(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.webhooks = lines.into_iter().collect();
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
    pub fn trace_logs(mut self) -> Self {
        self.talkative = true;
        self
    }

    /// It listens on all addresses, as in a container; the stories meet it on loopback.
    pub fn on_all_addresses(mut self) -> Self {
        self.everywhere = true;
        self
    }

    /// The background task runs by itself.
    pub fn sweep_every(mut self, ms: u32) -> Self {
        self.sweep_interval_ms = Some(ms);
        self
    }

    /// Redis keeps an append-only file.
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Redis is another program than that on PATH.
    pub fn with_server(mut self, program: PathBuf) -> Self {
        self.engine = Some(program);
        self
    }

    /// For a story about a Redis that does not answer: it has no longer than usual. With a proxy that is the default.
    pub fn with_default_redis_timeout(mut self) -> Self {
        self.default_redis_timeout = true;
        self
    }

    /// For a story that holds up a proxied Redis, and in which no call may fail of that.
    pub fn with_long_redis_timeout(self) -> Self {
        self.flag(REDIS_TIMEOUT_FLAG, REDIS_TIMEOUT.1)
    }

    /// A proxy stands before Redis.
    pub fn with_proxy(mut self) -> Self {
        self.proxied = true;
        self
    }

    /// Redis is a cluster whose nodes miss each other after so many ms.
    pub fn with_cluster(mut self, timeout_ms: u64) -> Self {
        self.cluster = Some(timeout_ms);
        self
    }

    pub async fn start(mut self) -> World {
        let folder = pool::folder();
        let is_behind_sentinel = std::env::var_os(lone_sentinel::SENTINEL_VARIABLE).is_some();
        let mut engine = match self.is_of_pool() && !is_behind_sentinel {
            true => Lease::usual().await,
            false => {
                let home = pool::folder();
                Lease::own(self.engine(home.path()).await, home)
            }
        };
        let watcher = match is_behind_sentinel && !engine.is_cluster() {
            true => Some(LoneSentinel::start(&mut engine).await),
            false => None,
        };
        assert!(!self.proxied || watcher.is_none(), "the proxy stands at a socket, and a sentinel names a port");
        let proxy = match self.proxied {
            true => Some(Proxy::start(folder.path(), &mut engine).await),
            false => None,
        };
        let redis = match (&proxy, &watcher) {
            (Some(proxy), _) => proxy.url().to_owned(),
            (None, Some(watcher)) => watcher.url(),
            (None, None) => engine.url(),
        };
        let args = self.args(folder.path(), redis);
        let service = self.service(&args, &engine).await;
        let client = Client::new(&service.url().replace("0.0.0.0", "127.0.0.1"));
        let client = if service.is_hosted() { client.of_a_hosted_service() } else { client };
        let client = if self.keys.is_empty() { client } else { client.with_credential(&access::key("root")) };
        World { client, service, proxy, _watcher: watcher, engine, args, is_hurried: self.hurried, folder }
    }

    /// The Redis is one that other stories can have had.
    fn is_of_pool(&self) -> bool {
        let is_usual_redis = !self.durable && !self.proxied;
        let is_usual_program = self.cluster.is_none() && self.engine.is_none();
        is_usual_redis && is_usual_program && std::env::var_os(cluster::CLUSTER_VARIABLE).is_none()
    }

    async fn service(&self, args: &[String], engine: &Lease) -> Instance {
        if !self.own_process && !self.talkative {
            return Instance::host(args, engine).await;
        }
        let command = program(args);
        let mut command = if self.hurried { hurried(command) } else { command };
        if self.talkative {
            command.env("RUST_LOG", "trace");
        }
        Instance::Process(Service::start(command).await)
    }

    async fn engine(&mut self, folder: &Path) -> Engine {
        let program = self.engine.take();
        let everywhere = std::env::var_os(cluster::CLUSTER_VARIABLE)
            .filter(|_| program.is_none())
            .map(|_| cluster::LONG_NODE_TIMEOUT_MS);
        match (program, self.cluster.or(everywhere)) {
            (Some(program), None) => Engine::start_program(program, folder, self.durable).await,
            (None, None) => Engine::start(folder, self.durable).await,
            (program, Some(timeout_ms)) => {
                let usual = NodeSettings::with_defaults(self.durable, timeout_ms);
                let form = NodeSettings { program: program.unwrap_or_else(|| usual.program.clone()), ..usual };
                Engine::start_cluster(folder, form).await
            }
        }
    }

    /// The arguments of the service.
    fn args(&self, folder: &Path, redis: String) -> Vec<String> {
        let interval = self.sweep_interval_ms.map_or(SWEEP_DISABLED_MS.to_owned(), |ms| ms.to_string());
        let listen = if self.everywhere { "0.0.0.0:0" } else { "127.0.0.1:0" };
        let mut args = ["serve", "--listen", listen, "--sweep-interval-ms", &interval].map(str::to_owned).to_vec();
        args.extend(["--redis-url".to_owned(), redis]);
        let is_set = self.flags.iter().any(|flag| flag == REDIS_TIMEOUT_FLAG);
        if (self.proxied || self.default_redis_timeout) && !is_set {
            args.extend([REDIS_TIMEOUT_FLAG.to_owned(), REDIS_TIMEOUT_DEFAULT_MS.to_string()]);
        }
        args.extend(self.flags.iter().cloned());
        if !self.keys.is_empty() {
            let file = folder.join("keys");
            std::fs::write(&file, self.keys.join("\n")).expect("a file of keys");
            args.extend(["--keys-file".to_owned(), file.display().to_string()]);
        }
        if !self.webhooks.is_empty() {
            let file = folder.join("webhooks");
            std::fs::write(&file, self.webhooks.join("\n")).expect("a file of webhooks");
            args.extend(["--webhooks-file".to_owned(), file.display().to_string()]);
        }
        args
    }
}
