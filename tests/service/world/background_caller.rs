//! A caller that enqueues and probes beside a load test, and measures whether its calls become slower.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{task::JoinHandle, time::sleep};

use super::{Client, Took};

/// How much slower a call may usually become, compared with the same call beside few readers. Other stories run at the same time.
const MAX_SLOWDOWN: u32 = 10;
/// What is too short to compare.
const ALWAYS_ALLOWED_LATENCY: Duration = Duration::from_millis(100);
/// With this many calls, the median does not depend on one that a busy machine held up.
const FEWEST_CALLS: usize = 15;
/// What the service may take more meanwhile.
const MAX_EXTRA_MEMORY_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// Whether the crowds are as large as an attacker's, and how many jobs there are in the past that they read.
pub fn full_scale_jobs() -> Option<usize> {
    Some(std::env::var("INTRAY_READERS").ok()?.parse().expect("a number of jobs"))
}

/// A caller who enqueues and probes until it is stopped.
pub struct BackgroundCaller {
    over: Arc<AtomicBool>,
    calls: JoinHandle<Measurements>,
}

/// How long each took, of the time in which the machine ran.
#[derive(Debug, Default)]
pub struct Measurements {
    enqueues: Vec<Duration>,
    probes: Vec<Duration>,
    memory: f64,
}

impl BackgroundCaller {
    pub fn start(client: &Client) -> Self {
        let (over, client) = (Arc::new(AtomicBool::new(false)), client.clone());
        let calls = tokio::spawn(call_until_stopped(client, over.clone()));
        Self { over, calls }
    }

    /// As soon as it has made enough calls.
    pub async fn stop(self) -> Measurements {
        self.over.store(true, Ordering::Relaxed);
        self.calls.await.expect("every call was answered")
    }

    /// What calls take meanwhile.
    pub async fn during(client: &Client, what: impl Future) -> Measurements {
        let calls = Self::start(client);
        what.await;
        calls.stop().await
    }
}

async fn call_until_stopped(client: Client, over: Arc<AtomicBool>) -> Measurements {
    let mut calls = Measurements::default();
    for n in 0.. {
        let begin = Instant::now();
        let job = json!({ "queue": "honest", "payload": n, "dedupe": false });
        client.post("/jobs", job).await.is(201);
        calls.enqueues.push(Took::since(begin).running());
        let begin = Instant::now();
        let ready = client.get("/readyz").await;
        assert_eq!(ready.status, 200, "{}", ready.text());
        calls.probes.push(Took::since(begin).running());
        let is_over = over.load(Ordering::Relaxed) && calls.probes.len() >= FEWEST_CALLS;
        if n % 20 == 0 || is_over {
            calls.memory = calls.memory.max(client.metric("process_resident_memory_bytes").await);
        }
        if is_over {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    calls
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}

impl Measurements {
    /// Panics where calls of a crowded time were much slower than these, or the service took much more memory.
    pub fn assert_not_much_slower(&self, what: &str, crowded: &Self) {
        let figures = [(&self.enqueues, &crowded.enqueues), (&self.probes, &crowded.probes)];
        let [enqueues, probes] = figures.map(|(quiet, crowded)| (median(quiet), median(crowded)));
        let more = crowded.memory - self.memory;
        eprintln!(
            "{what}: {} calls; an enqueue usually {:?} -> {:?}, /readyz {:?} -> {:?}; {:.1} MiB more",
            crowded.enqueues.len(),
            enqueues.0,
            enqueues.1,
            probes.0,
            probes.1,
            more / 1024.0 / 1024.0
        );
        for (quiet, crowded) in [enqueues, probes] {
            assert!(
                crowded <= (quiet * MAX_SLOWDOWN).max(ALWAYS_ALLOWED_LATENCY),
                "{what}: usually {quiet:?}, now {crowded:?}"
            );
        }
        assert!(more <= MAX_EXTRA_MEMORY_BYTES, "{what}: {more} bytes more");
    }
}
