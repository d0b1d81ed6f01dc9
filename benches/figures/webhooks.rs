//! What a dead webhook with ten thousand deliveries costs others: the time of another webhook's deliveries, and of a reserve. Two
//! services take turns, one with the dead webhook and one without; the figures are medians of rounds, and their ratio.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::rig::{
    Rig, SERVICE, Setup,
    client::{Client, field, payload},
};

const WAITING: u64 = 10_000;
const AT_ONCE: u64 = 100;
const ROUNDS: usize = 5;
const CYCLES: u64 = 400;
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// When a delivery of a job came.
type Arrivals = mpsc::UnboundedReceiver<(String, Instant)>;

struct Side {
    client: Client,
    arrivals: Arrivals,
    _rig: Rig,
    _folder: tempfile::TempDir,
}

/// The times of one round, in ms.
struct Round {
    reserve: Vec<f64>,
    delivery: Vec<f64>,
}

pub async fn run() {
    let (mut quiet, mut disturbed) = (Side::start(false).await, Side::start(true).await);
    disturbed.fill().await;
    println!("a dead webhook with {WAITING} deliveries, {ROUNDS} rounds of {CYCLES} cycles each");
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS as u64 {
        without.push(quiet.round(round * CYCLES).await);
        with.push(disturbed.round(round * CYCLES).await);
    }
    for (what, figure) in [
        ("reserve, p50", (|round: &Round| at(&round.reserve, 0.5)) as fn(&Round) -> f64),
        ("reserve, p99", |round| at(&round.reserve, 0.99)),
        ("to delivery, p50", |round| at(&round.delivery, 0.5)),
        ("to delivery, p99", |round| at(&round.delivery, 0.99)),
    ] {
        let of = |rounds: &[Round]| at(&rounds.iter().map(figure).collect::<Vec<_>>(), 0.5);
        let (without, with) = (of(&without), of(&with));
        println!("{what}: {without:.2} ms without, {with:.2} ms with it: {:.2}", with / without);
    }
}

impl Side {
    async fn start(has_dead: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (url, arrivals) = receiver().await;
        let mut lines = format!("live {url} * completed {SECRET}\n");
        if has_dead {
            // The discard port, at which nothing listens.
            lines += &format!("dead http://127.0.0.1:9/ * completed {SECRET}\n");
        }
        let file = folder.path().join("webhooks");
        std::fs::write(&file, lines).expect("a file");
        let mut service = Command::new(&*SERVICE);
        service.env("INTRAY_WEBHOOKS_FILE", &file);
        let rig = Rig::of(Setup::Plain, service);
        let client = rig.client().await;
        Self { client, arrivals, _rig: rig, _folder: folder }
    }

    /// Until as many deliveries as may wait for the dead webhook, and the others have all come.
    async fn fill(&mut self) {
        for _ in 0..WAITING / AT_ONCE + 1 {
            let jobs: Vec<_> = (0..AT_ONCE)
                .map(|n| format!(r#"{{"queue":"bench","dedupe":false,"payload":{}}}"#, payload(n)))
                .collect();
            self.client.post("/jobs", &format!("[{}]", jobs.join(","))).await;
            let held = self.client.post("/jobs/reserve", &format!(r#"{{"queues":["bench"],"limit":{AT_ONCE}}}"#)).await;
            let done: Vec<_> = held
                .split(r#""reservation":""#)
                .skip(1)
                .map(|rest| format!(r#"{{"reservation":"{}"}}"#, rest.split('"').next().unwrap_or_default()))
                .collect();
            self.client.post("/jobs/complete", &format!("[{}]", done.join(","))).await;
        }
        while waiting(self.client.request("GET", "/webhooks", "").await) < WAITING {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        for _ in 0..WAITING + AT_ONCE {
            self.arrivals.recv().await.expect("the live webhook's");
        }
    }

    async fn round(&mut self, from: u64) -> Round {
        let mut round = Round { reserve: Vec::new(), delivery: Vec::new() };
        for n in from..from + CYCLES {
            self.client.post("/jobs", &format!(r#"{{"queue":"bench","dedupe":false,"payload":{}}}"#, payload(n))).await;
            let begin = Instant::now();
            let job = self.client.post("/jobs/reserve", r#"{"queues":["bench"]}"#).await;
            round.reserve.push(ms(begin.elapsed()));
            let (id, reservation) = (field(job, "id").to_owned(), field(job, "reservation").to_owned());
            self.client.post("/jobs/complete", &format!(r#"{{"reservation":"{reservation}"}}"#)).await;
            let done = Instant::now();
            let (_, came) = loop {
                let arrival = self.arrivals.recv().await.expect("a delivery");
                if arrival.0 == id {
                    break arrival;
                }
            };
            round.delivery.push(ms(came.saturating_duration_since(done)));
        }
        round
    }
}

/// The largest number of events that wait for a webhook of the list.
fn waiting(list: &str) -> u64 {
    let counts = list.split(r#""waiting":"#).skip(1).filter_map(|rest| rest.split(',').next()?.parse().ok());
    counts.max().unwrap_or_default()
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn at(figures: &[f64], share: f64) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() as f64 * share) as usize).copied().unwrap_or_default()
}

/// Takes everything.
async fn receiver() -> (String, Arrivals) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let (sender, arrivals) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(take(stream, sender.clone()));
        }
    });
    (url, arrivals)
}

async fn take(stream: TcpStream, arrivals: mpsc::UnboundedSender<(String, Instant)>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap_or_default();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let id = field(&String::from_utf8_lossy(&body), "id").to_owned();
        let _ = arrivals.send((id, Instant::now()));
        stream.write_all(b"HTTP/1.1 204 x\r\n\r\n").await?;
    }
}
