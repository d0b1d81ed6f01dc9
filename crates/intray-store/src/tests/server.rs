//! A Redis of a test's own, and what a test does with it again and again.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use intray_redis::Args;
use redis::Value;

use super::{job, queue, without_times};
use crate::{
    Certificates, Durability, Enqueued, Queues, Reserve, ReserveOutcome, Servers, Timeouts,
    job::{Name, Reservation, ids},
    redis::read::{Fields, word},
};

/// A call for the next jobs.
pub(super) fn ask_for(worker: Option<Name>, limit: u32) -> Reserve {
    Reserve { limit, ..Reserve::plain(queue(), worker) }
}

/// How long Redis has to answer: long enough that no busy machine fails a test.
const REDIS_TIMEOUT_MS: u32 = 30_000;

fn queues(socket: &Path, prefix: &str) -> Queues {
    let servers = Servers::at(&format!("unix://{}", socket.display()), Certificates::default()).expect("a URL");
    Queues::on(servers, Timeouts::of_response(REDIS_TIMEOUT_MS), prefix, None, Durability::Async)
}

/// A Redis of a test's own, with a handle on it.
pub(super) struct Redis {
    pub(super) child: Child,
    pub(super) folder: PathBuf,
    pub(super) queues: Queues,
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Redis {
    pub(super) async fn start() -> Self {
        Self::start_as("t").await
    }

    pub(super) async fn start_as(prefix: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("intray-{}", ids::random_code().as_str()));
        std::fs::create_dir(&folder).expect("a folder");
        let socket = folder.join("redis.sock");
        let server = |engine: &str| {
            let mut command = Command::new(engine);
            command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(&socket).arg("--dir").arg(&folder);
            command.stdout(Stdio::null()).spawn()
        };
        let child = server("valkey-server").or_else(|_| server("redis-server")).expect("valkey-server or redis-server");
        let queues = queues(&socket, prefix);
        while queues.settle_layout().await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Self { child, folder, queues }
    }

    /// Another instance.
    pub(super) fn another(&self) -> Queues {
        queues(&self.folder.join("redis.sock"), "t")
    }

    /// Everything that is stored, in Redis's own serialization.
    pub(super) async fn dump(&self) -> Vec<(Vec<u8>, Value)> {
        let link = &self.queues.parts.runner.link;
        let keys = link.plain(redis::cmd("KEYS").arg("*")).await.expect("keys");
        let mut keys = Fields::of(&keys).expect("a list");
        let mut all = Vec::new();
        while !keys.is_done() {
            let key = keys.bytes().expect("a key");
            // It is by chance, and another each time that a layout is made.
            if key.ends_with(b":epoch") {
                continue;
            }
            let sorted = |reply: Value| match reply {
                Value::Array(items) => {
                    let mut texts: Vec<_> = items.iter().map(|item| format!("{item:?}")).collect();
                    texts.sort();
                    texts.join("\n")
                }
                other => format!("{other:?}"),
            };
            let kind = link.plain(redis::cmd("TYPE").arg(&key)).await.expect("a type");
            let text = match word(&kind) {
                Some("hash") => {
                    let pairs = link.plain(redis::cmd("HGETALL").arg(&key)).await.expect("a hash");
                    let Value::Array(items) = pairs else { panic!("a list") };
                    let mut pairs: Vec<_> = items.chunks(2).map(|pair| format!("{pair:?}")).collect();
                    pairs.sort();
                    pairs.join("\n")
                }
                Some("zset") => format!(
                    "{:?}",
                    link.plain(redis::cmd("ZRANGE").arg(&key).arg(0).arg(-1).arg("WITHSCORES")).await.expect("a zset")
                ),
                Some("stream") => {
                    sorted(link.plain(redis::cmd("XRANGE").arg(&key).arg("-").arg("+")).await.expect("a stream"))
                }
                _ => sorted(link.plain(redis::cmd("GET").arg(&key)).await.expect("a string")),
            };
            all.push((key, Value::SimpleString(text)));
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Runs a script twice with the same arguments, and returns the reply of both.
    pub(super) async fn twice(&self, script: &str, args: &Args) -> Value {
        let [first, second] = self.replies_of_two(script, args).await;
        assert_eq!(without_times(&first), without_times(&second), "{script}: two answers");
        first
    }

    pub(super) async fn replies_of_two(&self, script: &str, args: &Args) -> [Value; 2] {
        let queue = queue();
        let first = self.queues.run_view(script, &queue, args).await.expect("first");
        let after_first = self.dump().await;
        // As a script now, which is the same file.
        self.queues.parts.runner.link.use_library(false);
        let second = self.queues.run_view(script, &queue, args).await.expect("second");
        self.queues.parts.runner.link.use_library(true);
        assert_eq!(after_first, self.dump().await, "{script}: the second run changed something");
        [first, second]
    }

    /// Runs a script once with several items, and returns the words of each reply.
    pub(super) async fn together(&self, script: &str, items: &[&Args]) -> Vec<String> {
        let runner = &self.queues.parts.runner;
        let script = runner.scripts.named(script, false);
        let replies = runner.run(script, &queue(), &runner.keys_of(script, &queue()), items).await.expect("replies");
        let Value::Array(replies) = replies else { panic!("a list: {replies:?}") };
        let text = |reply| match reply {
            Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            other => panic!("words: {other:?}"),
        };
        replies.into_iter().map(text).collect()
    }

    pub(super) async fn enqueue(&self, payload: &str) -> crate::job::JobId {
        match self.queues.enqueue(job(payload)).await {
            Ok(Enqueued::Stored { id, .. }) => id,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn reserve(&self) -> Reservation {
        match self.queues.reserve(ask_for(None, 1)).await {
            Ok(ReserveOutcome::Jobs { mut jobs, undo, .. }) => {
                undo.disarm();
                jobs.pop().expect("a job").reservation
            }
            other => panic!("{other:?}"),
        }
    }
}
