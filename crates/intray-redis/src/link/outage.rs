//! Whether the server answers. Its loss and its return are logged once each, however many calls notice them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use parking_lot::Mutex;

use crate::{fault::Fault, log_limiter::LogLimiter};

pub(super) struct Outage {
    /// The server did not answer the last call.
    is_lost: AtomicBool,
    since: Mutex<Instant>,
    /// Calls that have failed since then.
    failed_calls: AtomicU64,
    pub(super) log_limiter: Arc<LogLimiter>,
}

impl Outage {
    pub(super) fn new(log_limiter: Arc<LogLimiter>) -> Self {
        Self {
            is_lost: AtomicBool::new(false),
            since: Mutex::new(Instant::now()),
            failed_calls: AtomicU64::new(0),
            log_limiter,
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self, fault: &Fault) {
        if !self.is_lost.swap(true, Ordering::Relaxed) {
            *self.since.lock() = Instant::now();
            self.failed_calls.store(0, Ordering::Relaxed);
            tracing::warn!(%fault, "Redis is lost");
        }
    }

    pub(super) fn count_failure(&self) {
        if self.is_lost() {
            self.failed_calls.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Logs the failures that were only counted first, so that none is logged after the end.
    pub(super) fn end(&self, redis: &str) {
        if self.is_lost() && self.is_lost.swap(false, Ordering::Relaxed) {
            self.log_limiter.flush();
            let away_ms = u64::try_from(self.since.lock().elapsed().as_millis()).unwrap_or(u64::MAX);
            let failed_calls = self.failed_calls.load(Ordering::Relaxed);
            tracing::info!(redis, away_ms, failed_calls, "Redis is back");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt, io::AsyncWriteExt, net::UnixListener};

    use super::*;
    use crate::{
        args::Args,
        link::{Durability, Link},
        script::Library,
        server::Servers,
        timeouts::Timeouts,
        tls::Certificates,
    };

    static LINES: Mutex<Vec<u64>> = Mutex::new(Vec::new());

    #[test]
    fn end_is_logged_after_all_failures() {
        let limiter = Arc::<LogLimiter>::default();
        let outage = Outage::new(limiter.clone());
        outage.begin(&Fault::unavailable(&"cut"));
        for _ in 0..3 {
            outage.count_failure();
            limiter.log(|_, _, times| LINES.lock().push(times), "a script", "cut".to_owned());
        }
        assert_eq!(*LINES.lock(), [1], "two are counted only");
        outage.end("here");
        assert_eq!(*LINES.lock(), [1, 2]);
        outage.count_failure();
        assert_eq!(outage.failed_calls.load(Ordering::Relaxed), 3, "those of the outage");
    }

    /// Answers PING as a server that loads, and TIME as one does too.
    async fn answer_while_loading(listener: UnixListener, is_loading: Arc<AtomicBool>) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let is_loading = is_loading.clone();
            tokio::spawn(async move {
                let mut read = vec![0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut read).await {
                    let text = String::from_utf8_lossy(&read[..length]).into_owned();
                    for command in text.split('*').skip(1) {
                        let answer: &[u8] = match command.split("\r\n").nth(2) {
                            Some("TIME") => b"*2\r\n$1\r\n1\r\n$1\r\n0\r\n",
                            Some("PING") if is_loading.load(Ordering::Relaxed) => b"-LOADING it loads\r\n",
                            _ => b"+OK\r\n",
                        };
                        stream.write_all(answer).await.expect("a reader");
                    }
                }
            });
        }
    }

    #[tokio::test]
    async fn server_that_loads_its_data_is_not_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("redis.sock");
        let (listener, is_loading) = (UnixListener::bind(&socket).expect("a socket"), Arc::new(AtomicBool::new(true)));
        tokio::spawn(answer_while_loading(listener, is_loading.clone()));
        let Ok(Servers::One(server)) = Servers::at(&format!("unix://{}", socket.display()), Certificates::default())
        else {
            panic!("one server")
        };
        let shared = (Arc::new(Library::new(String::new(), "f", &Args::with_room(0, 0))), Arc::default());
        let link = Link::new(*server, Timeouts::of_response(1_000), None, Durability::Async, shared);
        link.mark_lost(&"cut");
        link.plain(&redis::cmd("TIME")).await.expect("an answer");
        assert!(link.is_lost());
        is_loading.store(false, Ordering::Relaxed);
        link.ping().await;
        assert!(!link.is_lost());
    }
}
