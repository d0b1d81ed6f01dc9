//! The layout moves on: a filled Redis of the first one, as its program left it.

use std::{
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
};

use redis::Value;

use super::{Redis, word};
use crate::store::{
    keys::{HINTS, KEYS},
    upkeep::migrate::Stamps,
};

/// How it was made is beside it.
const FIRST: &[u8] = include_bytes!("../../../tests/service/fixtures/layout_1.aof");

impl Redis {
    /// Everything is as the first layout's program left it.
    async fn begin_with_the_first_layout(&self) {
        self.plain("FLUSHALL").await;
        let mut socket = UnixStream::connect(self.folder.join("redis.sock")).expect("a connection");
        socket.write_all(FIRST).expect("sent");
        socket.shutdown(Shutdown::Write).expect("ended");
        let mut answers = Vec::new();
        socket.read_to_end(&mut answers).expect("answers");
        let answers = String::from_utf8_lossy(&answers);
        assert!(answers.starts_with("+OK") && !answers.contains("\n-"), "{answers}");
    }

    async fn plain(&self, words: &str) -> Value {
        let mut command = redis::Cmd::new();
        for word in words.split(' ') {
            command.arg(word);
        }
        self.queues.parts.runner.link.plain(&command).await.expect(words)
    }
}

#[tokio::test]
async fn interrupted_migration_can_be_resumed_anywhere() {
    let redis = Redis::start_as("intray").await;
    redis.begin_with_the_first_layout().await;
    assert_eq!(redis.queues.migrate(false).await.expect("migrated"), ["0002_stamps"]);
    let whole = redis.dump().await;
    assert!(whole.len() > 20, "{} keys", whole.len());
    for cut in 0.. {
        redis.begin_with_the_first_layout().await;
        let mut first_try = Stamps::new(&redis.queues, 2);
        let mut more = true;
        for _ in 0..cut {
            more = more && first_try.step().await.expect("a step");
        }
        if more {
            assert_eq!(word(&redis.plain("GET intray:layout").await), Some("1"), "the version is written last");
        }
        redis.queues.migrate(false).await.expect("the second try");
        assert!(redis.dump().await == whole, "cut after {cut} steps");
        if !more {
            assert!(cut > 8, "three queues, one of them in several steps: {cut}");
            break;
        }
    }
}

#[tokio::test]
async fn old_scripts_fail_at_any_point_of_a_migration() {
    let redis = Redis::start_as("intray").await;
    redis.begin_with_the_first_layout().await;
    let mut stamps = Stamps::new(&redis.queues, 2);
    for _ in 0..2 {
        stamps.step().await.expect("a step");
    }
    assert_eq!(word(&redis.plain("TYPE intray:queues").await), Some("string"), "no queue is begun any more");
    let kinds = ["{empty}", "{many}", "{old}"].map(async |queue: &str| {
        let mut kinds = std::collections::BTreeSet::new();
        for (name, _) in KEYS.iter().filter(|(name, _)| *name != HINTS) {
            let kind = redis.plain(&format!("TYPE intray:{queue}:{name}")).await;
            kinds.insert(word(&kind).unwrap_or_default().to_owned());
        }
        kinds
    });
    let kinds = futures_util::future::join_all(kinds).await;
    let is_moved =
        |kinds: &std::collections::BTreeSet<String>| kinds.iter().filter(|kind| *kind != "none").eq(["string"]);
    assert_eq!(kinds.iter().filter(|kinds| is_moved(kinds)).count(), 1, "a queue is moved whole: {kinds:?}");
    while stamps.step().await.expect("a step") {}
    assert_eq!(word(&redis.plain("GET intray:layout").await), Some("2"), "a bare number, which any version reads");
}
