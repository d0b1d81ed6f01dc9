//! A caller that enqueues and probes at two services at the same time, one with a crowd and one with few callers, and measures
//! whether its calls become slower.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{
    sync::{Mutex, MutexGuard, oneshot},
    task::JoinHandle,
    time::sleep,
};

use super::{Client, Took};

/// How much slower a call may usually become, compared with the same call to the service with few callers.
const MAX_SLOWDOWN: u32 = 20;
/// What is too short to compare.
const ALWAYS_ALLOWED_LATENCY: Duration = Duration::from_millis(100);
/// With this many calls, the median does not depend on one that a busy machine held up.
const FEWEST_CALLS: usize = 25;
/// Fewer are enough when they take this long.
const MAX_OVERTIME: Duration = Duration::from_secs(30);
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
    stop: oneshot::Sender<()>,
    calls: JoinHandle<Measurements>,
}

/// How long each call took, of the time in which the machine ran.
#[derive(Debug, Default)]
pub struct Measurements {
    crowded: Latencies,
    quiet: Latencies,
}

#[derive(Debug, Default)]
struct Latencies {
    enqueues: Vec<Duration>,
    probes: Vec<Duration>,
    memory: f64,
}

impl BackgroundCaller {
    /// `quiet` has the same jobs as `crowded`.
    pub async fn start(crowded: &Client, quiet: &Client) -> Self {
        let alone = ONE_CROWD.lock().await;
        let (stop, stopped) = oneshot::channel();
        let calls = tokio::spawn(call_until_stopped(crowded.clone(), quiet.clone(), stopped));
        Self { _alone: alone, stop, calls }
    }

    /// As soon as it has made enough calls.
    pub async fn stop(self) -> Measurements {
        self.stop.send(()).expect("it calls until then");
        self.calls.await.expect("every call was answered")
    }
}

async fn call_until_stopped(crowded: Client, quiet: Client, mut stopped: oneshot::Receiver<()>) -> Measurements {
    let mut measured = Measurements::default();
    let mut over = None;
    for n in 0.. {
        measured.crowded.measure(&crowded, n).await;
        measured.quiet.measure(&quiet, n).await;
        if over.is_none() && stopped.try_recv().is_ok() {
            over = Some(Instant::now());
        }
        let is_over = over.is_some_and(|since| n + 1 >= FEWEST_CALLS || since.elapsed() > MAX_OVERTIME);
        if n % 20 == 0 || is_over {
            measured.crowded.measure_memory(&crowded).await;
            measured.quiet.measure_memory(&quiet).await;
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

    async fn measure_memory(&mut self, client: &Client) {
        self.memory = self.memory.max(client.metric("process_resident_memory_bytes").await);
    }

    fn usual(&self) -> [Duration; 2] {
        [median(&self.enqueues), median(&self.probes)]
    }
}

impl Measurements {
    /// Panics where calls to the crowded service were much slower than those to the quiet one, or it took much more memory.
    pub fn assert_not_much_slower(&self, what: &str) {
        let Self { crowded, quiet } = self;
        let more = crowded.memory - quiet.memory;
        eprintln!(
            "{what}: {} calls; an enqueue and /readyz usually {:?} with few, {:?} in the crowd; {:.1} MiB more",
            crowded.enqueues.len(),
            quiet.usual(),
            crowded.usual(),
            more / 1024.0 / 1024.0
        );
        for (quiet, crowded) in quiet.usual().into_iter().zip(crowded.usual()) {
            let allowed = ALWAYS_ALLOWED_LATENCY.max(quiet * MAX_SLOWDOWN);
            assert!(crowded <= allowed, "{what}: usually {quiet:?}, in the crowd {crowded:?}");
        }
        assert!(more <= MAX_EXTRA_MEMORY_BYTES, "{what}: {more} bytes more");
    }
}
