//! What other callers notice when very much expires at once: how long the scripts of the sweep run, and how long a
//! reserve takes meanwhile, of another queue and of the same one.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use intray::{
    job::{QueueName, Reservation},
    payload::Json,
    sheets::Sheets,
    store::{Complete, NewJob, Queues, Reserve, ReserveOutcome, random_id},
    sweeper,
};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    client::payload,
    cost::{Form, Server},
};

const OVERDUE: u64 = 200_000;
const OTHERS: u64 = 1_000;
const AT_ONCE: u64 = 1_000;
const QUIET: Duration = Duration::from_secs(8);
const SWEEPS: Duration = Duration::from_secs(1);
/// Two hundred reserves a second, sent without waiting, at different moments of a millisecond, because the sweep's
/// timers fire at its start.
const PACE: Duration = Duration::from_micros(5_050);
/// A longer script delays every caller.
const LONG_US: u64 = 5_000;

pub async fn run(engine: &str) {
    let server = Server::start(Command::new(engine), Form::Preferred);
    let queues = server.queues().await;
    let [late, other] = ["late", "other"].map(|name| QueueName::parse(name).expect("a name"));
    fill(&queues, &late, OVERDUE).await;
    fill(&queues, &other, OTHERS).await;
    let stop = CancellationToken::new();
    let sweeping = tokio::spawn(sweeper::run(Sheets::new(queues.clone()), SWEEPS, stop.clone()));
    for (whose, asked) in [("another queue", &other), ("the same queue", &late)] {
        let end = Instant::now() + QUIET;
        let quiet = reserves(&queues, asked, || Instant::now() < end).await;
        println!("reserve of {whose}, quiet: {}", quiet.shown());
        take_all(&queues, &late).await;
        for set in ["slowlog-max-len 100000", "slowlog-log-slower-than 100"] {
            server.ask(&format!("CONFIG SET {set}"));
        }
        // Deadlines in the past.
        let due = number(&server.ask("ZUNIONSTORE cost:{late}:2:reserved 1 cost:{late}:2:reserved WEIGHTS 0"));
        while left(&server) + 100 > due {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        server.ask("SLOWLOG RESET");
        let start = Instant::now();
        let meanwhile = reserves(&queues, asked, || left(&server) > OTHERS).await;
        let took = start.elapsed().as_secs_f64();
        println!("reserve of {whose}, while {due} are put back in {took:.1} s: {}", meanwhile.shown());
        println!("  {:.1} times the p99 of before; {}", meanwhile.at(0.99) / quiet.at(0.99), sweeps(&server));
    }
    stop.cancel();
    sweeping.await.expect("the sweeper ends");
}

async fn fill(queues: &Queues, queue: &QueueName, jobs: u64) {
    for start in (0..jobs).step_by(AT_ONCE as usize) {
        join_all((start..start + AT_ONCE).map(|n| enqueue(queues, queue, n))).await;
    }
}

async fn enqueue(queues: &Queues, queue: &QueueName, n: u64) {
    let payload = Json::from_text(payload(n)).expect("JSON");
    queues.enqueue(NewJob::plain(random_id(queue.clone()), payload)).await.expect("a Redis that is well");
}

async fn take_all(queues: &Queues, queue: &QueueName) {
    while take(queues, queue, 100).await.is_some_and(|held| !held.is_empty()) {}
}

/// The jobs of a reserve; `None` on a timeout.
async fn take(queues: &Queues, queue: &QueueName, limit: u32) -> Option<Vec<Reservation>> {
    let ask = Reserve { limit, ..Reserve::plain(queue.clone(), None) };
    match queues.reserve(ask).await.ok()? {
        ReserveOutcome::Jobs { jobs, undo, .. } => {
            undo.disarm();
            Some(jobs.into_iter().map(|job| job.reservation).collect())
        }
        ReserveOutcome::Nothing { .. } => Some(Vec::new()),
        ReserveOutcome::UnknownJob
        | ReserveOutcome::NotEligible(_)
        | ReserveOutcome::NotWaiting(_)
        | ReserveOutcome::QueuePaused
        | ReserveOutcome::WorkerLimit => None,
    }
}

/// The duration of each reserve, in order, and how many got no job.
struct Took {
    ms: Vec<f64>,
    in_vain: usize,
}

impl Took {
    fn at(&self, share: f64) -> f64 {
        self.ms.get((self.ms.len() as f64 * share) as usize).copied().unwrap_or_default()
    }

    fn shown(&self) -> String {
        let [p50, p99, worst] = [0.5, 0.99, 0.9999].map(|share| self.at(share));
        let (all, in_vain) = (self.ms.len(), self.in_vain);
        format!("p50 {p50:.2} ms, p99 {p99:.2} ms, worst {worst:.2} ms of {all}, {in_vain} in vain")
    }
}

/// Reserves one after the other for the given time; each job is completed, and replaced by another.
async fn reserves(queues: &Queues, queue: &QueueName, continues: impl Fn() -> bool) -> Took {
    let (mut ticks, mut asking, mut n) = (ticks(), JoinSet::new(), OVERDUE);
    while continues() {
        ticks.recv().await.expect("as long as anybody listens");
        n += 1;
        let (queues, queue) = (queues.clone(), queue.clone());
        asking.spawn(async move {
            let start = Instant::now();
            let taken = take(&queues, &queue, 1).await.unwrap_or_default();
            let took = start.elapsed().as_secs_f64() * 1e3;
            let is_in_vain = taken.is_empty();
            for reservation in taken {
                let _ = queues.complete(Complete::new(reservation, None)).await;
            }
            enqueue(&queues, &queue, n).await;
            (took, is_in_vain)
        });
    }
    let all = asking.join_all().await;
    let in_vain = all.iter().filter(|(_, is_in_vain)| *is_in_vain).count();
    let mut ms: Vec<_> = all.into_iter().map(|(took, _)| took).collect();
    ms.sort_by(f64::total_cmp);
    Took { ms, in_vain }
}

/// From a thread, because the runtime's timers have a resolution of milliseconds. It ends with its receiver.
fn ticks() -> mpsc::UnboundedReceiver<()> {
    let (tick, ticks) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while tick.send(()).is_ok() {
            std::thread::sleep(PACE);
        }
    });
    ticks
}

fn left(server: &Server) -> u64 {
    number(&server.ask("ZCARD cost:{late}:2:reserved"))
}

fn number(answer: &str) -> u64 {
    answer.lines().next().and_then(|line| line.strip_prefix(':')?.trim().parse().ok()).expect("a number")
}

/// The scripts of the sweep since the log was reset.
fn sweeps(server: &Server) -> String {
    server.ask("CONFIG SET slowlog-log-slower-than -1");
    let log = server.ask("SLOWLOG GET -1");
    let lines: Vec<_> = log.lines().collect();
    // Six fields an entry: a number, when, µs, and of the command its name and the function's.
    let took = |entry: &[&str]| {
        let is_sweep = entry[0] == "*6" && entry[8].ends_with("_sweep");
        is_sweep.then(|| entry[3].trim_start_matches(':').parse::<u64>().ok())?
    };
    let mut took: Vec<_> = lines.windows(9).filter_map(took).collect();
    took.sort_unstable();
    let (all, long) = (took.len(), took.iter().filter(|us| **us > LONG_US).count());
    let [p50, longest] = [all / 2, all.saturating_sub(1)].map(|n| took.get(n).map_or(0.0, |us| *us as f64 / 1e3));
    format!(
        "{all} sweeps in the slow log, p50 {p50:.2} ms, the longest {longest:.2} ms, {long} over {} ms",
        LONG_US / 1_000
    )
}
