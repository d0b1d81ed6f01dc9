//! A service of a story: inside this process, without the second that a program takes to start on a busy machine, or a process.

use std::{
    ffi::OsString,
    ops::{Deref, DerefMut},
    sync::LazyLock,
    time::Duration,
};

use intray::{config, service};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::JoinHandle,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    pool::Lease,
    service::{REDIS_TIMEOUT, Service},
};

pub const REDIS_TIMEOUT_FLAG: &str = "--redis-timeout-ms";

/// A story's own runtime has one thread, and ends before the service does.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime"));

/// What a hosted service ends with.
pub type End = JoinHandle<anyhow::Result<()>>;

pub enum Instance {
    Process(Service),
    /// Until it is dropped.
    Hosted {
        url: String,
        _stop: DropGuard,
    },
}

impl Instance {
    /// By the arguments of the program, inside this process; the Redis is left to the next story after its end.
    pub async fn host(args: &[String], engine: &Lease) -> Self {
        let mut flags = args[1..].to_vec();
        if !flags.iter().any(|flag| flag == REDIS_TIMEOUT_FLAG) {
            flags.extend([REDIS_TIMEOUT_FLAG, REDIS_TIMEOUT.1].map(str::to_owned));
        }
        let flags = config::Serve::from_flags(flags.iter().map(OsString::from)).expect("flags of a story");
        let (found, url) = oneshot::channel();
        let announce = move |url: &str| drop(found.send(url.to_owned()));
        let stop = CancellationToken::new();
        let host = service::Host { announce, drain: Duration::ZERO };
        let end = RUNTIME.spawn(service::serve(flags, host, stop.clone().cancelled_owned()));
        match url.await {
            Ok(url) => {
                engine.outlives(end);
                Self::Hosted { url, _stop: stop.drop_guard() }
            }
            Err(_) => panic!("the service did not get ready: {:?}", end.await),
        }
    }

    pub fn url(&self) -> &str {
        match self {
            Self::Process(service) => service.url(),
            Self::Hosted { url, .. } => url,
        }
    }

    pub fn is_hosted(&self) -> bool {
        matches!(self, Self::Hosted { .. })
    }
}

const NO_PROCESS: &str = "this service is a part of the tests: World::start_process(), or own_process() in its plan";

impl Deref for Instance {
    type Target = Service;

    fn deref(&self) -> &Service {
        let Self::Process(service) = self else { panic!("{NO_PROCESS}") };
        service
    }
}

impl DerefMut for Instance {
    fn deref_mut(&mut self) -> &mut Service {
        let Self::Process(service) = self else { panic!("{NO_PROCESS}") };
        service
    }
}
