//! Putting, and taking and settling, one by one and many in a call, for one caller and for 64.

use crate::{
    crowd::{Caller, Sample, Span, round},
    meter::Meter,
    rig::{
        Rig,
        client::{Client, field, payload},
        stock::{Numbers, PUT, TAKE, fill, many, settle},
    },
    size::Size,
    table::Table,
    yardsticks::CONNECTIONS,
};

use super::Found;

const QUEUE: &str = "bulk";

#[derive(Clone, Copy)]
enum Call {
    Put,
    PutMany,
    Take,
    TakeMany,
}

const CALLS: [Call; 4] = [Call::Put, Call::PutMany, Call::Take, Call::TakeMany];

impl Call {
    fn name(self) -> &'static str {
        match self {
            Self::Put => "enqueue",
            Self::PutMany => "enqueue 1,000",
            Self::Take => "reserve, complete",
            Self::TakeMany => "reserve 100, complete 100",
        }
    }

    /// The stock of jobs: more than can be reserved meanwhile, so that the measurement never meets an empty queue.
    fn stock(self, size: Size) -> u64 {
        match self {
            Self::Put | Self::PutMany => 0,
            Self::Take => size.of(20_000, 240_000, 360_000),
            Self::TakeMany => size.of(40_000, 400_000, 600_000),
        }
    }

    fn span(self, size: Size) -> Span {
        let Span { warm_up, measured } = size.span();
        match self {
            Self::Put | Self::Take => Span { warm_up, measured },
            // With so many jobs in flight, a call takes seconds.
            Self::PutMany => Span { warm_up: warm_up * 4, measured: measured * 4 },
            Self::TakeMany => Span { warm_up: warm_up / 2, measured: measured / 2 },
        }
    }

    fn jobs(self) -> u64 {
        match self {
            Self::Put | Self::Take => 1,
            Self::PutMany => PUT,
            Self::TakeMany => TAKE,
        }
    }
}

pub async fn run(size: Size) -> Found {
    let numbers = Numbers::new();
    let mut table = Table::new(&[
        "calls",
        "connections",
        "jobs/s",
        "service µs/job",
        "Redis µs/job",
        "commands/job",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "client µs/job",
    ]);
    let measured = CALLS.into_iter().flat_map(|call| [(call, 1), (call, CONNECTIONS)]);
    for (call, connections) in measured {
        let mut samples = Vec::new();
        for _ in 0..size.of(1, 2, 3) {
            samples.push(of(call, connections, &numbers, size).await);
        }
        let (of, jobs) = (Sample::of(&samples), call.jobs() as f64);
        table.row(
            call.name(),
            [
                connections as f64,
                of.per_s * jobs,
                of.server / jobs,
                of.redis / jobs,
                of.commands / jobs,
                of.p50,
                of.p99,
                of.p999,
                of.own / jobs,
            ],
        );
    }
    Found::of(table)
}

/// At a service of its own, so that no jobs of other parts are met.
async fn of(call: Call, connections: usize, numbers: &Numbers, size: Size) -> Sample {
    let rig = Rig::start();
    fill(&rig, QUEUE, call.stock(size), |_| String::new()).await;
    let mut callers = Vec::new();
    for _ in 0..connections {
        callers.push(One { client: rig.client().await, call });
    }
    let meter = Meter { server: Some(rig.service()), engine: Some(&rig.engine) };
    round(&mut callers, numbers, &meter, call.span(size)).await
}

struct One {
    client: Client,
    call: Call,
}

impl Caller for One {
    async fn cycle(&mut self, n: u64) {
        match self.call {
            Call::Put => {
                let job = format!(r#"{{"queue":"{QUEUE}","payload":{}}}"#, payload(n));
                self.client.post("/jobs", &job).await;
            }
            Call::PutMany => {
                self.client.post("/jobs", &many(QUEUE, n * PUT..(n + 1) * PUT, |_| String::new())).await;
            }
            Call::Take => {
                let job = self.client.post("/jobs/reserve", &format!(r#"{{"queues":["{QUEUE}"]}}"#)).await;
                let done = format!(r#"{{"reservation":"{}"}}"#, field(job, "reservation"));
                self.client.post("/jobs/complete", &done).await;
            }
            Call::TakeMany => {
                assert!(settle(&mut self.client, QUEUE).await > 0, "nothing was left to take, so it is no figure");
            }
        }
    }
}
