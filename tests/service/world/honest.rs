//! Calls of an honest caller while others read as much as they can: each is answered, and about as soon as before.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{task::JoinHandle, time::sleep};

use super::Client;

/// How much slower than before, and what is quick in any case: other stories run beside this one, and what writes a large page
/// is not optimized here.
const SLOWER: u32 = 10;
const QUICK: Duration = Duration::from_millis(1_000);
/// What the service may take more meanwhile.
const MEMORY: f64 = 64.0 * 1024.0 * 1024.0;

/// Whether the crowds are as large as an attacker's, and how many jobs there are in the past that they read.
pub fn full_size() -> Option<usize> {
    Some(std::env::var("INTRAY_READERS").ok()?.parse().expect("a number of jobs"))
}

/// A caller who enqueues and probes until it is stopped.
pub struct Honest {
    over: Arc<AtomicBool>,
    calls: JoinHandle<Calls>,
}

/// How long each took.
#[derive(Debug, Default)]
pub struct Calls {
    enqueues: Vec<Duration>,
    probes: Vec<Duration>,
    memory: f64,
}

impl Honest {
    pub fn begin(client: &Client) -> Self {
        let (over, client) = (Arc::new(AtomicBool::new(false)), client.clone());
        let calls = tokio::spawn(call_on(client, over.clone()));
        Self { over, calls }
    }

    pub async fn end(self) -> Calls {
        self.over.store(true, Ordering::Relaxed);
        self.calls.await.expect("every call was answered")
    }

    /// What calls take while nothing else happens.
    pub async fn quiet(client: &Client) -> Calls {
        let calls = Self::begin(client);
        sleep(Duration::from_millis(500)).await;
        calls.end().await
    }
}

async fn call_on(client: Client, over: Arc<AtomicBool>) -> Calls {
    let mut calls = Calls::default();
    for n in 0.. {
        let begin = Instant::now();
        let job = json!({ "queue": "honest", "payload": n, "dedupe": false });
        client.post("/jobs", job).await.is(201);
        calls.enqueues.push(begin.elapsed());
        let begin = Instant::now();
        let ready = client.get("/readyz").await;
        assert_eq!(ready.status, 200, "{}", ready.text());
        calls.probes.push(begin.elapsed());
        if n % 20 == 0 {
            calls.memory = calls.memory.max(client.figure("process_resident_memory_bytes").await);
        }
        if over.load(Ordering::Relaxed) {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    calls
}

fn p99(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

impl Calls {
    /// Panics where calls of a crowded time were much slower than these, or the service took much more memory.
    pub fn hold_for(&self, what: &str, crowded: &Self) {
        let figures = [(&self.enqueues, &crowded.enqueues), (&self.probes, &crowded.probes)];
        let [enqueues, probes] = figures.map(|(quiet, crowded)| (p99(quiet), p99(crowded)));
        let more = crowded.memory - self.memory;
        eprintln!(
            "{what}: {} calls; p99 of enqueue {:?} -> {:?}, of /readyz {:?} -> {:?}; {:.1} MiB more",
            crowded.enqueues.len(),
            enqueues.0,
            enqueues.1,
            probes.0,
            probes.1,
            more / 1024.0 / 1024.0
        );
        for (quiet, crowded) in [enqueues, probes] {
            assert!(crowded <= (quiet * SLOWER).max(QUICK), "{what}: p99 {quiet:?} became {crowded:?}");
        }
        assert!(more <= MEMORY, "{what}: {more} bytes more");
    }
}
