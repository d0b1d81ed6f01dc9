//! The service inside this process: without the second that a program takes to start on a busy machine.

use std::{ffi::OsString, sync::LazyLock, time::Duration};

use intray::{config, service};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::JoinHandle,
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A story's own runtime has one thread, and ends before the service does.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime"));

/// What a service ends with.
pub type End = JoinHandle<anyhow::Result<()>>;

/// Answers what stops the service when it is dropped, its end, and its URL.
pub async fn start(flags: &[String]) -> (DropGuard, End, String) {
    let flags = config::Serve::from_flags(flags.iter().map(OsString::from)).expect("flags of a story");
    let (found, url) = oneshot::channel();
    let announce = move |url: &str| drop(found.send(url.to_owned()));
    let stop = CancellationToken::new();
    let host = service::Host { announce, drain: Duration::ZERO };
    let end = RUNTIME.spawn(service::serve(flags, host, stop.clone().cancelled_owned()));
    match url.await {
        Ok(url) => (stop.drop_guard(), end, url),
        Err(_) => panic!("the service did not get ready: {:?}", end.await),
    }
}
