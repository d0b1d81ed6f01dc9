//! A caller that enqueues and probes beside a load test, and measures whether its calls become slower: by the same calls to a service
//! that has no load, at the same time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    sync::{Mutex, MutexGuard},
    task::JoinHandle,
    time::sleep,
};

use super::{Client, Took, World};

/// How much slower a call may usually become, compared with the same call beside few readers. Other stories run at the same time.
const MAX_SLOWDOWN: u32 = 10;
/// What is too short to compare; and on a machine with much else to do so many enqueues to a service without load.
const ALWAYS_ALLOWED_LATENCY: Duration = Duration::from_millis(100);
const ALWAYS_ALLOWED_ENQUEUES: u32 = 50;
/// With this many calls, the median does not depend on one that a busy machine held up.
const FEWEST_CALLS: usize = 15;
/// What the service may take more meanwhile.
const MAX_EXTRA_MEMORY_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// Whether the crowds are as large as an attacker's, and how many jobs there are in the past that they read.
pub fn full_scale_jobs() -> Option<usize> {
    Some(std::env::var("INTRAY_READERS").ok()?.parse().expect("a number of jobs"))
}

/// Crowds of two stories at once would be measured together.
static ONE_CROWD: Mutex<()> = Mutex::const_new(());

/// A caller who enqueues and probes until it is stopped.
pub struct BackgroundCaller {
    _alone: MutexGuard<'static, ()>,
    over: Arc<AtomicBool>,
    calls: JoinHandle<Measurements>,
}

/// How long each took, of the time in which the machine ran.
#[derive(Debug, Default)]
pub struct Measurements {
    calls: Latencies,
    /// Those of the same calls to a service without load.
    unloaded: Latencies,
    memory: f64,
}

#[derive(Debug, Default)]
struct Latencies {
    enqueues: Vec<Duration>,
    probes: Vec<Duration>,
}

impl BackgroundCaller {
    pub async fn start(client: &Client) -> Self {
        let alone = ONE_CROWD.lock().await;
        let unloaded = World::start_process().await;
        let over = Arc::new(AtomicBool::new(false));
        let calls = tokio::spawn(call_until_stopped(client.clone(), unloaded, over.clone()));
        Self { _alone: alone, over, calls }
    }

    /// As soon as it has made enough calls.
    pub async fn stop(self) -> Measurements {
        self.over.store(true, Ordering::Relaxed);
        self.calls.await.expect("every call was answered")
    }

    /// What calls take meanwhile.
    pub async fn during(client: &Client, what: impl Future) -> Measurements {
        let calls = Self::start(client).await;
        what.await;
        calls.stop().await
    }
}

async fn call_until_stopped(client: Client, unloaded: World, over: Arc<AtomicBool>) -> Measurements {
    let mut measured = Measurements::default();
    for n in 0.. {
        measured.calls.measure(&client, n).await;
        measured.unloaded.measure(&unloaded, n).await;
        let is_over = over.load(Ordering::Relaxed) && n + 1 >= FEWEST_CALLS;
        if n % 20 == 0 || is_over {
            measured.memory = measured.memory.max(client.metric("process_resident_memory_bytes").await);
        }
        if is_over {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    measured
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}

impl Latencies {
    async fn measure(&mut self, client: &Client, n: usize) {
        let begin = Instant::now();
        let job = json!({ "queue": "honest", "payload": n, "dedupe": false });
        client.post("/jobs", job).await.is(201);
        self.enqueues.push(Took::since(begin).running());
        let begin = Instant::now();
        let ready = client.get("/readyz").await;
        assert_eq!(ready.status, 200, "{}", ready.text());
        self.probes.push(Took::since(begin).running());
    }

    fn usual(&self) -> [Duration; 2] {
        [median(&self.enqueues), median(&self.probes)]
    }
}

impl Measurements {
    /// Panics where calls of a crowded time were much slower than these, or the service took much more memory.
    pub fn assert_not_much_slower(&self, what: &str, crowded: &Self) {
        let more = crowded.memory - self.memory;
        eprintln!(
            "{what}: {} calls; an enqueue and /readyz usually {:?} -> {:?}, without load {:?}; {:.1} MiB more",
            crowded.calls.enqueues.len(),
            self.calls.usual(),
            crowded.calls.usual(),
            crowded.unloaded.usual(),
            more / 1024.0 / 1024.0
        );
        let allowed = ALWAYS_ALLOWED_LATENCY.max(crowded.unloaded.usual()[0] * ALWAYS_ALLOWED_ENQUEUES);
        for (quiet, crowded) in self.calls.usual().into_iter().zip(crowded.calls.usual()) {
            assert!(
                crowded <= (quiet * MAX_SLOWDOWN).max(allowed),
                "{what}: usually {quiet:?}, now {crowded:?}, and {allowed:?} is always allowed"
            );
        }
        assert!(more <= MAX_EXTRA_MEMORY_BYTES, "{what}: {more} bytes more");
    }
}
