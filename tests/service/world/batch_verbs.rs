//! The verbs of locks and batches.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    World,
    http::{Answer, Client},
    keyspace::{self, Event},
    percent_encode,
    verbs::{ReservedJob, id_of},
};

impl Client {
    /// A job of `default` that needs these locks.
    pub async fn enqueue_locked(&self, payload: impl Into<Value>, locks: &[&str]) -> String {
        self.enqueue_with(json!({ "payload": payload.into(), "locks": locks })).await
    }

    /// Who holds which lock of `default`, and how many wait for it; all pages.
    pub async fn locks(&self) -> Vec<Value> {
        let mut held = self.pages("/queues/default/locks", "locks", 100).await;
        held.sort_by_key(|held| held["lock"].to_string());
        held
    }

    /// A new batch, with all that its creation may say; answers its id.
    pub async fn create_batch(&self, batch: Value) -> String {
        let answer = self.post("/batches", batch).await;
        let id = id_of(&answer.is(201));
        assert_eq!(answer.header("location"), Some(format!("batches/{id}").as_str()));
        id
    }

    /// A batch as it says that it is. Its counts sum to its total, whenever one asks.
    pub async fn batch(&self, id: &str) -> Value {
        with_summed_counts(self.get(&format!("/batches/{id}")).await.is(200))
    }

    /// A batch as it says that it is, which is what a recount of its jobs says; nothing moves meanwhile.
    pub async fn recounted_batch(&self, id: &str) -> Value {
        let batch = self.batch(id).await;
        let mut counts = json!({
            "waiting": 0, "blocked": 0, "delayed": 0, "reserved": 0, "completed": 0, "dead": 0, "cancelled": 0, "total": 0,
        });
        for result in self.results(id, 1_000).await {
            for key in [result["state"].as_str().expect("a state"), "total"] {
                counts[key] = json!(counts[key].as_u64().expect("a known state") + 1);
            }
        }
        assert_eq!(batch["counts"], counts, "{id}: what it says and what is there");
        batch
    }

    pub async fn append(&self, id: &str, jobs: &[Value]) -> Answer {
        self.post(&format!("/batches/{id}/jobs"), json!({ "jobs": jobs })).await
    }

    /// To a batch that has so many already.
    pub async fn append_at(&self, id: &str, offset: usize, jobs: &[Value]) -> Answer {
        self.post(&format!("/batches/{id}/jobs"), json!({ "jobs": jobs, "offset": offset })).await
    }

    pub async fn seal(&self, id: &str) -> Answer {
        self.post(&format!("/batches/{id}/seal"), json!({})).await
    }

    pub async fn cancel_batch(&self, id: &str) -> Answer {
        self.delete(&format!("/batches/{id}")).await
    }

    /// Every job of a batch in order, page by page.
    pub async fn results(&self, id: &str, limit: usize) -> Vec<Value> {
        let results = self.pages(&format!("/batches/{id}/results"), "results", limit).await;
        for (index, result) in results.iter().enumerate() {
            assert_eq!((&result["index"], &result["id"]), (&json!(index), &json!(member_id(id, index))));
        }
        results
    }

    /// All entries of a list, page by page.
    pub async fn pages(&self, path: &str, list: &str, limit: usize) -> Vec<Value> {
        let (mut all, mut after) = (Vec::new(), String::new());
        let begin = if path.contains('?') { '&' } else { '?' };
        loop {
            let page = self.get(&format!("{path}{begin}limit={limit}{after}")).await.is(200);
            let entries = page[list].as_array().unwrap_or_else(|| panic!("{list} in {page}"));
            assert!(entries.len() <= limit, "{path}: {} on a page of {limit}", entries.len());
            all.extend(entries.iter().cloned());
            let next = match &page["next"] {
                Value::Null => return all,
                Value::String(next) => percent_encode(next),
                other => other.to_string(),
            };
            after = format!("&after={next}");
        }
    }

    /// Reserves and completes jobs until none is left; answers the ids in order. The
    /// result of each is its payload.
    pub async fn complete_all(&self) -> Vec<String> {
        let mut done = Vec::new();
        loop {
            let held = self.reserve_all(json!({ "limit": 100 })).await;
            if held.is_empty() {
                return done;
            }
            let item = |held: &ReservedJob| json!({ "reservation": held.reservation, "result": held.body["payload"] });
            let answer = self.post("/jobs/complete", held.iter().map(item).collect()).await.is(200);
            for (held, answer) in held.into_iter().zip(answer["jobs"].as_array().expect("jobs")) {
                assert_eq!((&answer["id"], &answer["state"]), (&json!(held.id), &json!("completed")));
                done.push(held.id);
            }
        }
    }

    /// The background task's step, again and again, until something is so.
    pub async fn sweep_until(&self, what: &str, mut look: impl AsyncFnMut() -> bool) {
        for _ in 0..500 {
            if look().await {
                return;
            }
            self.post("/queues/default/sweep", json!({})).await.is(200);
        }
        panic!("500 sweeps did not achieve: {what}");
    }
}

impl World {
    pub async fn events(&self) -> Vec<Event> {
        keyspace::events(&self.engine, "default").await
    }

    /// How often something of this kind has happened in `default`.
    pub async fn event_count(&self, kind: &str) -> usize {
        self.events().await.iter().filter(|event| event.kind == kind).count()
    }

    /// What `default` has in Redis, but for what stays when a queue is empty.
    pub async fn leftover_keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.engine.run("KEYS intray:{default}:2:*").await;
        keys.retain(|key| {
            !["events", "history", "totals", "settings", "actions"].iter().any(|kept| key.ends_with(kept))
        });
        keys
    }

    /// How many job records there are, seen or unseen.
    pub async fn record_count(&self) -> usize {
        self.engine.run("HLEN intray:{default}:2:jobs").await
    }
}

/// The id of a job of a batch, which can be computed.
pub fn member_id(batch: &str, index: usize) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let digits = [15, 10, 5, 0].map(|shift| char::from(DIGITS[((index + 1) >> shift) & 31]));
    format!("{}{}", &batch[..batch.len() - 4], String::from_iter(digits))
}

/// So many jobs, each with its number as its payload.
pub fn items(numbers: std::ops::Range<usize>) -> Vec<Value> {
    numbers.map(|n| json!({ "payload": n })).collect()
}

/// Panics if the counts of a batch are not its total.
#[track_caller]
pub fn with_summed_counts(batch: Value) -> Value {
    let counts = batch["counts"].as_object().expect("counts");
    let sum: u64 = counts.iter().filter(|(key, _)| *key != "total").map(|(_, n)| n.as_u64().expect("a count")).sum();
    assert_eq!(counts["total"], sum, "{batch}");
    batch
}

/// A batch that was created now, as other calls show it.
pub fn created(mut batch: Value) -> Value {
    let known = batch.as_object_mut().and_then(|batch| batch.remove("known"));
    assert_eq!(known, Some(json!(false)), "{batch}");
    batch
}

/// What a repeated creation answers, where the first one answered this.
pub fn known(mut answer: Value) -> Value {
    let several = answer.get_mut("batches").and_then(Value::as_array_mut);
    let Some(batches) = several else {
        answer["known"] = json!(true);
        return answer;
    };
    for batch in batches.iter_mut().filter(|batch| batch.get("error").is_none()) {
        batch["known"] = json!(true);
    }
    answer
}

/// Panics if a lock is in two hands.
#[track_caller]
pub fn assert_locks_unique(held: &[ReservedJob]) {
    let mut seen = BTreeSet::new();
    for job in held {
        for lock in job.body["locks"].as_array().expect("locks") {
            assert!(seen.insert(lock.to_string()), "{lock} is held twice: {held:?}");
        }
    }
}
