//! An open loop: calls are sent when they are due, whatever earlier ones do, a third each of enqueue, reserve and
//! complete.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use tokio::sync::Semaphore;

use crate::{
    meter::{Meter, Used},
    numbers::{median, percentile},
    rig::{
        Rig,
        client::{Client, field, payload},
        stock::Numbers,
        ways::Way,
    },
    schedule::Schedule,
    size::Size,
    table::Table,
    yardsticks::CONNECTIONS,
};

use super::{Found, closed::of_intray};

const SHARES: [(&str, f64); 3] = [("a third", 1.0 / 3.0), ("half", 0.5), ("two thirds", 2.0 / 3.0)];
/// Reserved before the first completion is due, so that there is always something to complete.
const HELD: u64 = 200;
/// Calls due within this time are sent together, and are timed from their due time: a wake-up for each would take a
/// sixth of a processor.
const TICK: Duration = Duration::from_micros(250);

pub async fn run(size: Size) -> Found {
    let (rig, numbers) = (Rig::start(), Numbers::new());
    Way::Plain.ready(&rig).await;
    let mut rounds = SHARES.map(|_| Vec::new());
    for _ in 0..size.rounds() {
        let max = of_intray(&rig, CONNECTIONS, &numbers, size).await.per_s;
        for ((_, share), rounds) in SHARES.iter().zip(&mut rounds) {
            rounds.push(measure(&rig, &numbers, max * share, size.span().measured * 2).await);
        }
    }
    let mut table = Table::new(&[
        "of the maximum",
        "cycles/s asked",
        "done",
        "service µs/cycle",
        "Redis µs/cycle",
        "jobs/script",
        "enqueue p50 ms",
        "enqueue p99",
        "enqueue p99.9",
        "reserve p50",
        "reserve p99",
        "reserve p99.9",
        "complete p50",
        "complete p99",
        "complete p99.9",
    ]);
    for ((name, _), rounds) in SHARES.iter().zip(&rounds) {
        let columns = 0..rounds[0].len();
        table.row(*name, columns.map(|at| median(&rounds.iter().map(|round| round[at]).collect::<Vec<_>>())));
    }
    Found::of(table)
}

struct Loop {
    schedule: Schedule,
    next: Cell<u64>,
    /// A permit for each due call. The runtime's timers have a resolution of milliseconds.
    due: Arc<Semaphore>,
    held: RefCell<VecDeque<String>>,
    latencies: RefCell<[Vec<f64>; 3]>,
}

async fn measure(rig: &Rig, numbers: &Numbers, cycles_per_s: f64, length: Duration) -> Vec<f64> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(rig.client().await);
    }
    let mut held = VecDeque::new();
    for _ in 0..HELD {
        let job = format!(r#"{{"queue":"bench","payload":{}}}"#, payload(numbers.next()));
        clients[0].post("/jobs", &job).await;
        let job = clients[0].post("/jobs/reserve", r#"{"queues":["bench"]}"#).await;
        held.push_back(field(job, "reservation").to_owned());
    }
    let it = Loop {
        schedule: Schedule::new(cycles_per_s * 3.0, length),
        next: Cell::new(0),
        due: Arc::new(Semaphore::new(0)),
        held: RefCell::new(held),
        latencies: RefCell::default(),
    };
    let meter = Meter { server: Some(rig.service()), engine: Some(&rig.engine) };
    let (before, start) = (meter.read(), Instant::now());
    let (schedule, due) = (Schedule::new(cycles_per_s * 3.0, length), it.due.clone());
    let pace = std::thread::spawn(move || release(&schedule, start, &due));
    join_all(clients.iter_mut().map(|client| work(client, &it, numbers, start))).await;
    let used = meter.since(&before);
    pace.join().expect("the pace was kept");
    for reservation in it.held.take() {
        clients[0].post("/jobs/complete", &format!(r#"{{"reservation":"{reservation}"}}"#)).await;
    }
    figures(cycles_per_s, &used, it.latencies.take())
}

fn release(schedule: &Schedule, start: Instant, due: &Semaphore) {
    let mut released = 0;
    while released < schedule.calls() {
        let now = schedule.due_by(start.elapsed());
        due.add_permits((now - released) as usize);
        released = now;
        std::thread::sleep(schedule.due(released).saturating_sub(start.elapsed()).max(TICK));
    }
    // Tells each connection that no call follows.
    due.add_permits(CONNECTIONS);
}

async fn work(client: &mut Client, it: &Loop, numbers: &Numbers, start: Instant) {
    loop {
        it.due.acquire().await.expect("a permit").forget();
        let call = it.next.replace(it.next.get() + 1);
        if call >= it.schedule.calls() {
            return;
        }
        let kind = (call % 3) as usize;
        match kind {
            0 => {
                let job = format!(r#"{{"queue":"bench","payload":{}}}"#, payload(numbers.next()));
                client.post("/jobs", &job).await;
            }
            1 => {
                let job = client.post("/jobs/reserve", r#"{"queues":["bench"]}"#).await;
                it.held.borrow_mut().push_back(field(job, "reservation").to_owned());
            }
            _ => {
                let reservation = it.held.borrow_mut().pop_front().expect("a reservation that is held");
                client.post("/jobs/complete", &format!(r#"{{"reservation":"{reservation}"}}"#)).await;
            }
        }
        let late = (start + it.schedule.due(call)).elapsed().as_secs_f64() * 1e3;
        it.latencies.borrow_mut()[kind].push(late);
    }
}

fn figures(asked: f64, used: &Used, latencies: [Vec<f64>; 3]) -> Vec<f64> {
    let cycles = latencies[2].len() as f64;
    let per_script = 3.0 * cycles / used.scripts;
    let mut figures = vec![asked, cycles / used.seconds, used.server / cycles, used.redis / cycles, per_script];
    for mut latencies in latencies {
        latencies.sort_by(f64::total_cmp);
        figures.extend([0.5, 0.99, 0.999].map(|share| percentile(&latencies, share)));
    }
    figures
}
