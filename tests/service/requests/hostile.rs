//! A caller without a credential that misbehaves for a long time: invented queues, partial bodies and heads, long
//! queries, guesses. The service keeps nothing of it, and other callers notice little. `make test-hostile` runs it at
//! length.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::world::{World, access::key, eventually};

/// The number of hostile requests, unless INTRAY_HOSTILE is set.
const DEFAULT_REQUESTS: usize = 20_000;
/// From this number on, the service gets a minute to settle.
const LONG_RUN: usize = 1_000_000;
const ATTACKERS: usize = 6;
/// Sockets that each attacker leaves open.
const OPEN_PER_ATTACKER: usize = 50;
/// Calls of honest callers in one measurement.
const CALLS_PER_WINDOW: usize = 300;

/// A connection that is reused until the service closes it.
struct Line {
    address: String,
    socket: Option<TcpStream>,
    bearer: String,
}

impl Line {
    fn new(address: &str, key: Option<String>) -> Self {
        let bearer = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        Self { address: address.to_owned(), socket: None, bearer }
    }

    async fn open(&mut self) -> &mut TcpStream {
        if self.socket.is_none() {
            let socket = TcpStream::connect(&self.address).await.expect("the service listens");
            socket.set_nodelay(true).expect("a socket");
            self.socket = Some(socket);
        }
        self.socket.as_mut().expect("just opened")
    }

    /// The answer's status and body; 0 when the connection ended before there was one.
    async fn call(&mut self, method: &str, path: &str, body: &str) -> (u16, String) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.bearer,
            body.len()
        );
        let socket = self.open().await;
        let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
        let mut heard = Vec::new();
        let found = loop {
            let mut some = [0; 4_096];
            match socket.read(&mut some).await {
                Ok(n @ 1..) => heard.extend_from_slice(&some[..n]),
                _ => break None,
            }
            let text = String::from_utf8_lossy(&heard);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head
                .to_ascii_lowercase()
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next().and_then(|length| length.parse::<usize>().ok()));
            if body.len() >= length.unwrap_or(0) {
                let closes = head.to_ascii_lowercase().contains("connection: close");
                break Some((head[9..12].parse().unwrap_or(0), body.to_owned(), closes));
            }
        };
        match found {
            Some((status, body, false)) => (status, body),
            Some((status, body, true)) => {
                self.socket = None;
                (status, body)
            }
            None => {
                self.socket = None;
                (0, String::new())
            }
        }
    }
}

/// Sends one hostile request; the kinds take turns.
async fn attack(line: &mut Line, left_open: &mut VecDeque<TcpStream>, n: usize) {
    let made_up = |i: usize| format!(r#"{{"reservation":"none-{n}-{i}-{n:026}.{i:026}"}}"#);
    match n % 8 {
        0 => drop(line.call("POST", "/jobs/complete", &made_up(0)).await),
        1 => {
            let items: Vec<_> = (0..20).map(made_up).collect();
            line.call("POST", "/jobs/extend", &format!("[{}]", items.join(","))).await;
        }
        2 => drop(line.call("POST", "/jobs/fail", &format!(r#"{{"reservation":"default-{n:026}.{n:026}"}}"#)).await),
        3 => drop(line.call("POST", "/jobs/abandon", "{nonsense").await),
        4 => drop(line.call("GET", &format!("/workers/a/reservations?queue={}", "a,".repeat(5_000)), "").await),
        5 => drop(line.call("PUT", &format!("/made/up/{n}"), "{}").await),
        kind => {
            let Ok(mut socket) = TcpStream::connect(&line.address).await else { return };
            let half = match kind {
                6 => format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx-a: {}", "x".repeat(20_000)),
                _ => format!(
                    "POST /jobs/complete HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\ncontent-length: 1000000\r\n\r\n{}",
                    " ".repeat(100_000)
                ),
            };
            let _ = socket.write_all(half.as_bytes()).await;
            left_open.push_back(socket);
            if left_open.len() > OPEN_PER_ATTACKER {
                left_open.pop_front();
            }
        }
    }
}

/// Sends hostile requests on a thread of its own. The counter is the number sent.
fn attack_for(address: &str, requests: usize) -> (Arc<AtomicUsize>, thread::JoinHandle<()>) {
    let (done, address) = (Arc::new(AtomicUsize::new(0)), address.to_owned());
    let counter = done.clone();
    let attackers = async move {
        let attackers = (0..ATTACKERS).map(|_| {
            let (counter, mut line) = (counter.clone(), Line::new(&address, None));
            async move {
                let mut left_open = VecDeque::new();
                loop {
                    let n = counter.fetch_add(1, Ordering::Relaxed);
                    if n >= requests {
                        return;
                    }
                    attack(&mut line, &mut left_open, n).await;
                }
            }
        });
        futures_util::future::join_all(attackers).await;
    };
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(attackers);
    });
    (done, thread)
}

/// An honest worker: enqueues, reserves, completes. No call may fail; returns the 99th percentile of their times.
async fn work(producer: &mut Line, worker: &mut Line, calls: usize) -> Duration {
    let mut took = Vec::with_capacity(calls);
    let mut timed = async |line: &mut Line, path: &str, body: &str| {
        let begin = Instant::now();
        let (status, body) = line.call("POST", path, body).await;
        took.push(begin.elapsed());
        assert!([200, 201].contains(&status), "{path} by an honest caller: {status} {body}");
        serde_json::from_str::<Value>(&body).expect("JSON")
    };
    for _ in 0..calls / 3 {
        timed(producer, "/jobs", r#"{"payload":1,"dedupe":false}"#).await;
        let held = timed(worker, "/jobs/reserve", r#"{"worker":"ann"}"#).await;
        let reservation = held["jobs"][0]["reservation"].as_str().expect("a job").to_owned();
        timed(worker, "/jobs/complete", &format!(r#"{{"reservation":"{reservation}"}}"#)).await;
    }
    took.sort();
    took[took.len() * 99 / 100]
}

/// Allocated bytes, resident bytes, and metric series of the service.
struct Footprint {
    allocated: f64,
    resident: f64,
    series: Vec<String>,
}

async fn footprint(w: &World) -> Footprint {
    let text = w.get("/metrics").await.text();
    let figure = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}"));
        line.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number")
    };
    let series = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let series = series.filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name.to_owned()).collect();
    Footprint {
        allocated: figure("intray_allocated_bytes "),
        resident: figure("process_resident_memory_bytes "),
        series,
    }
}

/// Whether a caller could have made the series. Routes and statuses are a fixed set, and which of them appear before
/// the attack is chance. Series of time-driven work appear during a long attack in any case.
fn is_callers(name: &&String) -> bool {
    let is_of_route = name.starts_with("http_request_duration_seconds") && !name.contains("made/up");
    let is_of_time = ["script=\"due\"", "transition=\"forgotten\""].iter().any(|label| name.contains(label));
    !is_of_route && !is_of_time
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_caller_leaves_no_memory_and_slows_no_caller() {
    let requests = std::env::var("INTRAY_HOSTILE").ok().and_then(|n| n.parse().ok()).unwrap_or(DEFAULT_REQUESTS);
    let keys = [("web", "producer", "*"), ("desk", "worker", "*")];
    let w = World::plan().own_process().with_keys(&keys).sweep_every(1_000).start().await;
    let mut producer = Line::new(w.address(), Some(key("web")));
    let mut worker = Line::new(w.address(), Some(key("desk")));
    // Warm up: one-time allocations of each kind of call are not counted.
    work(&mut producer, &mut worker, CALLS_PER_WINDOW).await;
    attack_for(w.address(), 2_000).1.join().expect("the attackers live");
    footprint(&w).await;
    let quiet = work(&mut producer, &mut worker, 2 * CALLS_PER_WINDOW).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = footprint(&w).await;

    let (done, attackers) = attack_for(w.address(), requests);
    let (mut best, begin) = (Duration::MAX, Instant::now());
    while done.load(Ordering::Relaxed) < requests {
        best = best.min(work(&mut producer, &mut worker, CALLS_PER_WINDOW).await);
    }
    attackers.join().expect("the attackers live");
    let took = begin.elapsed();
    assert!(best < 10 * quiet.max(Duration::from_millis(2)), "p99 {quiet:?} in quiet, {best:?} at best under attack");

    if requests >= LONG_RUN {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let after = eventually("allocated memory is released", async || {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = footprint(&w).await;
        (now.allocated < before.allocated * 1.1).then_some(now)
    })
    .await;
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    eprintln!(
        "{requests} requests in {took:?}; allocated {:.2} -> {:.2} MiB, resident {:.1} -> {:.1} MiB, {} series; p99 {quiet:?} -> {best:?}",
        mib(before.allocated),
        mib(after.allocated),
        mib(before.resident),
        mib(after.resident),
        after.series.len()
    );
    assert!(mib(after.resident - before.resident) < 16.0, "resident memory");
    let new: Vec<_> = after.series.iter().filter(|name| !before.series.contains(name)).filter(is_callers).collect();
    assert!(new.is_empty(), "new series: {new:?}");
    w.check().await;
}
