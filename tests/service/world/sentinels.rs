//! A primary, two replicas, and three sentinels that watch them.

pub mod network;

use std::{fs, path::Path, process::Stdio};

use tempfile::TempDir;

use self::network::Network;
use super::{
    Engine,
    authority::{CertificateAuthority, CertifiedKey},
    children::{ChildProcess, free_port, tool},
    engine::server_program,
    eventually,
    proxy::Fault,
    replica::follow,
};

pub const PRIMARY_NAME: &str = "jobs";

pub struct SentinelPlan {
    /// After this time without an answer a server counts as down.
    pub down_after_ms: u64,
    pub failover_timeout_ms: u64,
    /// Those of Redis and of the sentinels.
    pub passwords: Option<(&'static str, &'static str)>,
    /// A user of the sentinels, as their file makes it.
    pub user: Option<String>,
    /// TLS lines for the configuration of servers and sentinels.
    pub papers: Option<String>,
    /// A proxy stands before each server and sentinel.
    pub breakable: bool,
}

impl Default for SentinelPlan {
    fn default() -> Self {
        let (passwords, user, papers, breaks) = Default::default();
        Self { down_after_ms: 1_500, failover_timeout_ms: 6_000, passwords, user, papers, breakable: breaks }
    }
}

pub struct SentinelSetup {
    pub nodes: Vec<Engine>,
    pub(super) ports: Vec<u16>,
    sentinels: Vec<(u16, ChildProcess)>,
    /// TLS ports or proxy ports of the sentinels.
    pub(super) others: Vec<u16>,
    pub(super) network: Network,
    plan: SentinelPlan,
    pub folder: TempDir,
}

impl SentinelSetup {
    pub async fn start() -> Self {
        Self::start_with(SentinelPlan::default()).await
    }

    pub async fn with_passwords(redis: &'static str, sentinel: &'static str) -> Self {
        Self::start_with(SentinelPlan { passwords: Some((redis, sentinel)), ..SentinelPlan::default() }).await
    }

    /// Sentinels with an ACL user: name, password and rights.
    pub async fn with_user(user: &str) -> Self {
        Self::start_with(SentinelPlan { user: Some(user.to_owned()), ..SentinelPlan::default() }).await
    }

    /// Servers and sentinels use TLS with this certificate.
    pub async fn with_tls(ca: &CertificateAuthority, own: &CertifiedKey) -> Self {
        let files = [("ca-cert", &ca.ca_file()), ("cert", &own.certificate), ("key", &own.key)];
        let tls_config = files.map(|(what, file)| format!("tls-{what}-file {}", file.display()));
        let papers = format!("{}\ntls-auth-clients no\ntls-replication yes", tls_config.join("\n"));
        Self::start_with(SentinelPlan { papers: Some(papers), ..SentinelPlan::default() }).await
    }

    /// Servers and sentinels that can be cut off from each other.
    pub async fn with_breakable_network() -> Self {
        Self::start_with(SentinelPlan { breakable: true, failover_timeout_ms: 2_000, ..SentinelPlan::default() }).await
    }

    pub async fn start_with(plan: SentinelPlan) -> Self {
        let folder = tempfile::Builder::new().prefix("intray-").tempdir().expect("a temporary folder");
        let (mut nodes, mut ports, mut network) = (Vec::new(), Vec::new(), Network::default());
        for n in 0..3 {
            let own = folder.path().join(format!("node-{n}"));
            fs::create_dir(&own).expect("a folder");
            let node = Engine::start(&own, true).await;
            ports.push(network.open(&node, &plan).await);
            if let Some((password, _)) = plan.passwords {
                let _: String = node.run(&format!("CONFIG SET masterauth {password}")).await;
                let _: String = node.run(&format!("CONFIG SET requirepass {password}")).await;
            }
            nodes.push(node);
        }
        Self::start_over_nodes(folder, nodes, (ports, network), plan).await
    }

    /// The first node is the primary. `ports` are those of the servers or of their proxies.
    pub async fn start_over_nodes(
        folder: TempDir,
        nodes: Vec<Engine>,
        (ports, network): (Vec<u16>, Network),
        plan: SentinelPlan,
    ) -> Self {
        for replica in &nodes[1..] {
            follow(replica, &nodes[0], ports[0]).await;
        }
        let front_ports = Vec::new();
        let mut watched = Self { nodes, ports, sentinels: Vec::new(), others: front_ports, network, plan, folder };
        for n in 0..3 {
            watched.start_sentinel(n).await;
            // One that a busy machine has stopped for two seconds acts on nothing for half a minute by default.
            eventually("the sentinel answers", || watched.query_sentinel(n, &["DEBUG", "TILT-PERIOD", "1000"])).await
        }
        watched.wait_for_agreement().await;
        watched
    }

    async fn start_sentinel(&mut self, n: usize) {
        let (port, folder) = (free_port(), self.folder.path().join(format!("sentinel-{n}")));
        fs::create_dir(&folder).expect("a folder");
        let mut lines = vec![
            format!("port {port}"),
            format!("dir {}", folder.display()),
            format!("sentinel monitor {PRIMARY_NAME} 127.0.0.1 {} 2", self.ports[0]),
            format!("sentinel down-after-milliseconds {PRIMARY_NAME} {}", self.plan.down_after_ms),
            format!("sentinel failover-timeout {PRIMARY_NAME} {}", self.plan.failover_timeout_ms),
        ];
        if let Some((redis, sentinel)) = self.plan.passwords {
            lines.extend([format!("sentinel auth-pass {PRIMARY_NAME} {redis}"), format!("requirepass {sentinel}")]);
            lines.push(format!("sentinel sentinel-pass {sentinel}"));
        }
        lines.extend(self.plan.user.iter().map(|user| format!("user {user}")));
        if let Some(papers) = &self.plan.papers {
            self.others.push(free_port());
            lines.extend([papers.clone(), format!("tls-port {}", self.others[n])]);
        }
        if self.plan.breakable {
            self.others.push(self.network.open_sentinel(port).await);
        }
        let file = folder.join("sentinel.conf");
        fs::write(&file, lines.join("\n") + "\n").expect("written");
        let mut command = tool(server_program());
        command.arg(&file).arg("--sentinel").stdout(Stdio::null()).stderr(Stdio::null());
        self.sentinels.push((port, ChildProcess::spawn(command)));
    }

    /// Each sentinel knows all others and all replicas.
    pub async fn wait_for_agreement(&self) {
        for n in 0..3 {
            eventually("the sentinels know each other", async || {
                let reply: Vec<String> = self.query_sentinel(n, &["MASTER", PRIMARY_NAME]).await?;
                let has = |name: &str, value: &str| reply.windows(2).any(|pair| pair[0] == name && pair[1] == value);
                (has("num-slaves", "2") && has("num-other-sentinels", "2") && has("flags", "master")).then_some(())
            })
            .await;
        }
    }

    /// A sentinel's reply; `None` when it does not answer.
    async fn query_sentinel<T: redis::FromRedisValue>(&self, n: usize, words: &[&str]) -> Option<T> {
        let password = self.plan.passwords.map_or(String::new(), |(_, password)| format!(":{password}@"));
        let client =
            redis::Client::open(format!("redis://{password}127.0.0.1:{}", self.sentinels[n].0)).expect("a URL");
        let mut connection = client.get_multiplexed_async_connection().await.ok()?;
        redis::cmd("SENTINEL").arg(words).query_async(&mut connection).await.ok()
    }

    /// Whether a sentinel accepts a command about the primary.
    pub async fn command_succeeds(&self, n: usize, word: &str) -> Option<()> {
        self.query_sentinel(n, &[word, PRIMARY_NAME]).await
    }

    /// Stops all sentinels (`SIGSTOP`) or lets them go on (`SIGCONT`).
    pub fn signal_sentinels(&self, signal: i32) {
        self.sentinels.iter().for_each(|(_, sentinel)| sentinel.signal(signal));
    }

    /// The primary according to the first sentinel.
    pub async fn primary(&self) -> usize {
        eventually("the first sentinel names one of ours", || self.primary_seen_by(0)).await
    }

    /// The primary according to a sentinel.
    pub async fn primary_seen_by(&self, n: usize) -> Option<usize> {
        let reply: Vec<String> = self.query_sentinel(n, &["GET-MASTER-ADDR-BY-NAME", PRIMARY_NAME]).await?;
        self.ports.iter().position(|port| reply.get(1).is_some_and(|reply| *reply == port.to_string()))
    }

    /// The primary on which all sentinels agree.
    pub async fn agreed_primary(&self) -> Option<usize> {
        let first = self.primary_seen_by(0).await?;
        let others = [self.primary_seen_by(1).await, self.primary_seen_by(2).await];
        others.iter().all(|other| *other == Some(first)).then_some(first)
    }

    pub fn port(&self, node: usize) -> u16 {
        self.ports[node]
    }

    pub fn url(&self) -> String {
        let own: Vec<_> = self.sentinels.iter().map(|(port, _)| *port).collect();
        match self.plan.papers {
            Some(_) => self.url_by("rediss", &self.others),
            None => self.url_by("redis", &own),
        }
    }

    pub(super) fn url_by(&self, scheme: &str, ports: &[u16]) -> String {
        let places: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let who = self.plan.passwords.map_or(String::new(), |(password, _)| format!(":{password}@"));
        format!("{scheme}+sentinel://{who}{}/{PRIMARY_NAME}", places.join(","))
    }

    /// Freezes the proxies of this server and of the sentinels.
    pub fn partition(&self, primary: usize) {
        self.network.servers[primary].set_fault(Fault::Freeze);
        self.network.sentinels.iter().for_each(|gate| gate.set_fault(Fault::Freeze));
    }

    /// Thaws the proxies, and waits until the old primary is a replica.
    pub async fn heal_partition(&mut self, before: usize) {
        self.network.servers[before].set_fault(Fault::None);
        self.network.sentinels.iter().for_each(|gate| gate.set_fault(Fault::None));
        // Redis cuts its clients off when it becomes a replica.
        eventually("it follows the next", async || {
            self.nodes[before].connect().await;
            let mut info = redis::cmd("INFO");
            let info: String = info.arg("replication").query_async(&mut self.nodes[before].connection()).await.ok()?;
            (info.contains("role:slave") && info.contains("master_link_status:up")).then_some(())
        })
        .await;
        self.wait_for_agreement().await;
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
