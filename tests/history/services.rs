//! The instances under test, and the connections between them and Redis.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex as Lock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{
    load::Chance,
    topology::{Reach, Topology},
    wire::Wire,
    world::{Service, program, program_at, with_default_redis_timeout},
};

pub struct Services {
    pub topology: Box<dyn Topology>,
    pub instances: Vec<Instance>,
    pub http: reqwest::Client,
}

/// One instance. A fault locks it while it lasts.
pub struct Instance {
    pub service: tokio::sync::Mutex<Service>,
    /// Connections to each Redis server.
    pub wires: Vec<Wire>,
    url: Lock<String>,
    flags: Vec<String>,
    log: PathBuf,
}

impl Services {
    /// All instances have the same webhooks. Their log is appended to the file.
    pub async fn start(topology: impl Topology, many: usize, webhooks: &Path, log: &Path) -> Arc<Self> {
        let mut instances = Vec::new();
        for n in 0..many {
            let Reach { mut flags, wires } = topology.reach(n).await;
            flags.extend(["--webhooks-file".to_owned(), webhooks.display().to_string()]);
            let service = started(&flags).await;
            let url = Lock::new(service.url().to_owned());
            let (service, log) = (tokio::sync::Mutex::new(service), log.to_owned());
            instances.push(Instance { service, wires, url, flags, log });
        }
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(256).build().expect("a client");
        Arc::new(Self { topology: Box::new(topology), instances, http })
    }

    /// A client of any instance, in any state.
    pub fn url(&self, chance: &mut Chance) -> String {
        chance.one(&self.instances).url()
    }

    /// Advances the clock of Redis.
    pub async fn pass(&self, ms: u64) {
        self.topology.pass(ms).await;
    }

    /// Replaces all instances by those of the older program, if there is one. Returns whether there is.
    pub async fn go_back(&self) -> bool {
        HAS_GONE_BACK.store(true, Ordering::Relaxed);
        let is_there = older_program().is_some();
        for instance in self.instances.iter().filter(|_| is_there) {
            let mut service = instance.service.lock().await;
            service.signal(libc::SIGTERM);
            service.wait_for_exit().await;
            instance.start_again(&mut service).await;
        }
        is_there
    }

    pub async fn stop(&self) {
        for instance in &self.instances {
            let mut service = instance.service.lock().await;
            service.kill();
            instance.keep_log(&service);
        }
        self.topology.stop().await;
    }
}

impl Instance {
    fn url(&self) -> String {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Restarts it after its end, repeatedly, because Redis may be down too.
    pub async fn start_again(&self, service: &mut Service) {
        self.keep_log(service);
        *service = started(&self.flags).await;
        service.url().clone_into(&mut self.url.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn keep_log(&self, service: &Service) {
        let file = File::options().create(true).append(true).open(&self.log).expect("a file for the logs");
        (&file).write_all(service.output().as_bytes()).expect("room for the logs");
    }
}

async fn started(flags: &[String]) -> Service {
    let args = ["serve", "--listen", "127.0.0.1:0", "--sweep-interval-ms", "200"].map(str::to_owned);
    for _ in 0..300 {
        match Service::try_start(with_default_redis_timeout(next_program(args.iter().chain(flags)))).await {
            Ok(service) => return service,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    panic!("an instance no longer starts")
}

/// Every start is of the older program.
static HAS_GONE_BACK: AtomicBool = AtomicBool::new(false);

fn older_program() -> Option<OsString> {
    env::var_os("INTRAY_OLDER_PROGRAM")
}

/// With INTRAY_OLDER_PROGRAM every second start is of that program, so that instances of both serve together and replace each other.
fn next_program<'a>(args: impl Iterator<Item = &'a String>) -> Command {
    static STARTS: AtomicUsize = AtomicUsize::new(0);
    let is_older = STARTS.fetch_add(1, Ordering::Relaxed) % 2 == 1 || HAS_GONE_BACK.load(Ordering::Relaxed);
    match older_program() {
        Some(older) if is_older => program_at(older, args),
        _ => program(args),
    }
}
