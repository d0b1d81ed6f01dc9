//! The layout moves on: the next one is made up, and its step is run as a real one would be.

use redis::Value;

use super::{Enqueued, QueueName, Redis, completed, job, queue, word};
use crate::{
    LayoutError, LayoutStep, Queues, STEPS,
    keys::{HINTS, KEYS},
    upkeep::migrate::expect_current,
};

/// Rewrites a record once only, and some at a time.
const REWRITE: &str = "
local key = {}
for i, name in ipairs(KEYS) do key[ARGV[i + 1]] = name end
local some = redis.call('HSCAN', key.jobs, ARGV[1], 'COUNT', 50)
for i = 1, #some[2], 2 do
  local id, record = some[2][i], some[2][i + 1]
  if record:byte() == 2 then redis.call('HSET', key.jobs, id, '\\3' .. record:sub(2) .. 'new') end
end
return some[1]";

fn steps() -> [LayoutStep; 2] {
    let [first] = STEPS;
    [first, LayoutStep { makes: 3, name: "0003_made_up", rewrite: Some(REWRITE) }]
}

type Dump = Vec<(Vec<u8>, Value)>;

/// What a key of layout 2 becomes in layout 3; what has no number in its name stays.
fn migrated(before: &Dump) -> Dump {
    let mut after = Vec::new();
    for (key, value) in before {
        let name = String::from_utf8_lossy(key);
        match name.replacen(":2:", ":3:", 1) {
            layout if layout == "t:layout" => after.push((key.clone(), text("3"))),
            new if new != name => after.push((new.into_bytes(), value.clone())),
            _ => after.push((key.clone(), value.clone())),
        }
    }
    after
}

fn text(content: &str) -> Value {
    Value::SimpleString(format!("{:?}", Value::BulkString(content.into())))
}

fn of_layout_3(dump: &Dump) -> Dump {
    let is_old = |key: &[u8]| String::from_utf8_lossy(key).contains(":2:");
    dump.iter().filter(|(key, _)| !is_old(key)).cloned().collect()
}

impl Redis {
    async fn plain(&self, words: &str) -> Value {
        let mut command = redis::Cmd::new();
        for word in words.split(' ') {
            command.arg(word);
        }
        self.queues.parts.runner.link.plain(&command).await.expect(words)
    }

    /// Two queues, one with many jobs, and the keys that belong to none.
    async fn fill_two_queues(&self) {
        // A smaller hash is scanned as a whole.
        self.plain("CONFIG SET hash-max-listpack-entries 100").await;
        for n in 0..150 {
            self.enqueue(&n.to_string()).await;
        }
        self.queues.run_view("complete", &queue(), &completed(self.reserve().await, "42")).await.expect("completed");
        self.reserve().await;
        let mut other = job("1");
        other.id = crate::job::ids::random_id(QueueName::parse("other").expect("a name"));
        assert!(matches!(self.queues.enqueue(other).await, Ok(Enqueued::Stored { .. })));
        self.queues.tidy_libraries().await.expect("announced");
        self.plain("HSET t:2:webhooks shop now").await;
    }

    async fn saved(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let link = &self.queues.parts.runner.link;
        let mut all = Vec::new();
        for key in link.ask::<Vec<Vec<u8>>>(redis::cmd("KEYS").arg("*")).await.expect("keys") {
            let content = link.ask(redis::cmd("DUMP").arg(&key)).await.expect("its content");
            all.push((key, content));
        }
        all
    }

    async fn load(&self, saved: &[(Vec<u8>, Vec<u8>)]) {
        self.plain("FLUSHALL").await;
        for (key, content) in saved {
            let mut restore = redis::cmd("RESTORE");
            self.queues.parts.runner.link.plain(restore.arg(key).arg(0).arg(content)).await.expect("restored");
        }
    }

    /// An instance of layout 2, with nothing in its caches, does not start and writes nothing.
    async fn refuses_layout_2(&self) {
        let refused = expect_current(&self.another()).await.expect_err("a refusal");
        assert!(matches!(refused, LayoutError::Refused(_) | LayoutError::Newer { found: 3, .. }), "{refused}");
        assert!(refused.to_string().contains("newer intray"), "{refused}");
        let new = enqueue_to(&self.another(), "new").await;
        assert!(new.contains("another layout"), "no new queues are begun: {new}");
    }
}

async fn enqueue_to(queues: &Queues, name: &str) -> String {
    let mut new = job(r#""new""#);
    new.id = crate::job::ids::random_id(QueueName::parse(name).expect("a name"));
    format!("{:?}", queues.enqueue(new).await)
}

#[tokio::test]
async fn interrupted_migration_can_be_resumed_anywhere() {
    let redis = Redis::start().await;
    redis.fill_two_queues().await;
    let (before, saved, [_, step]) = (redis.dump().await, redis.saved().await, steps());
    assert_eq!(redis.queues.migrate(&steps(), true).await.expect("a dry run"), [step.name]);
    assert!(redis.dump().await == before, "a dry run changes nothing");
    assert_eq!(redis.queues.migrate(&steps(), false).await.expect("migrated"), [step.name]);
    let whole = redis.dump().await;
    let without_jobs = |dump: &Dump| dump.iter().filter(|(key, _)| !key.ends_with(b":jobs")).cloned().collect::<Dump>();
    assert_eq!(without_jobs(&of_layout_3(&whole)), without_jobs(&migrated(&before)));
    let records: Vec<Vec<u8>> =
        redis.queues.parts.runner.link.ask(redis::cmd("HVALS").arg("t:{q}:3:jobs")).await.expect("jobs");
    assert_eq!(records.len(), 150);
    let is_new = |record: &Vec<u8>| record[0] == 3 && record.ends_with(b"new") && !record.ends_with(b"newnew");
    assert!(records.iter().all(is_new), "each record is rewritten once");
    assert!(redis.queues.migrate(&steps(), false).await.expect("current").is_empty(), "there is nothing left to do");
    for cut in 0.. {
        redis.load(&saved).await;
        let mut first_try = redis.queues.migration(&step);
        let mut more = true;
        for _ in 0..cut {
            more = more && first_try.advance().await.expect("a part");
        }
        if more {
            assert_eq!(word(&redis.plain("GET t:layout").await), Some("2"), "the version is written last");
        }
        if cut > 0 {
            redis.refuses_layout_2().await;
        }
        redis.queues.migrate(&steps(), false).await.expect("the second try");
        assert!(redis.dump().await == whole, "cut after {cut} parts");
        if !more {
            assert!(cut > 7, "two queues, one of them in several parts: {cut}");
            break;
        }
    }
}

#[tokio::test]
async fn moved_queue_is_closed_to_older_scripts() {
    let redis = Redis::start().await;
    redis.fill_two_queues().await;
    let [_, step] = steps();
    let mut migration = redis.queues.migration(&step);
    migration.advance().await.expect("the registry");
    let enqueued = enqueue_to(&redis.queues, "q").await;
    assert!(enqueued.contains("Stored"), "a queue that is not moved yet serves who knows it: {enqueued}");
    while migration.advance().await.expect("a part") {
        let is_moved = word(&redis.plain("TYPE t:{q}:2:jobs").await) == Some("string");
        for (name, _) in KEYS.iter().filter(|(name, _)| *name != HINTS) {
            let kind = redis.plain(&format!("TYPE t:{{q}}:2:{name}")).await;
            assert_eq!(word(&kind) == Some("string"), is_moved, "a queue is moved whole: {name}");
        }
        if is_moved {
            let refused = enqueue_to(&redis.queues, "q").await;
            assert!(refused.contains("another layout") && refused.contains("applied: No"), "{refused}");
        }
    }
    assert_eq!(word(&redis.plain("TYPE t:{q}:2:jobs").await), Some("string"));
    assert_eq!(word(&redis.plain("GET t:layout").await), Some("3"), "a bare number, which any version reads");
}
