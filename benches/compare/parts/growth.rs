//! The cost of a call in Redis as the data grows: time in scripts, one call at a time. The sizes alternate, and the
//! median of their turns counts.

use crate::{
    numbers::median,
    rig::{
        Rig,
        stock::{Numbers, calls, fill, settle, take},
    },
    size::Size,
    table::Table,
};

use super::Found;

const HOUR_MS: u64 = 3_600_000;

/// A size, and the queue that has it.
struct Place<'a> {
    size: u64,
    rig: &'a Rig,
    queue: String,
    /// The fields of a job besides its payload.
    also: Box<dyn Fn(u64) -> String + 'a>,
}

pub async fn waiting(size: Size) -> Found {
    let rig = Rig::start();
    let counts = size.of(
        &[1_000, 5_000][..],
        &[1_000, 10_000, 200_000, 1_000_000],
        &[1_000, 10_000, 200_000, 1_000_000, 5_000_000],
    );
    // One-time costs of the first jobs are not counted.
    fill(&rig, "warm", 1_000, nothing).await;
    let (mut places, mut bytes) = (Vec::new(), Vec::new());
    for count in counts.iter().copied() {
        let (queue, before) = (format!("waiting-{count}"), rig.engine.used_memory());
        fill(&rig, &queue, count, nothing).await;
        bytes.push(rig.engine.used_memory().saturating_sub(before) as f64 / count as f64);
        places.push(Place { size: count, rig: &rig, queue, also: Box::new(nothing) });
    }
    let mut table = grow("jobs waiting", &places, size).await;
    table.head.push("bytes each".to_owned());
    table.rows.iter_mut().zip(bytes).for_each(|(row, bytes)| row.push(bytes.into()));
    Found::of(table)
}

/// The number of ended jobs grows; none waits.
pub async fn kept(size: Size) -> Found {
    let rig = Rig::start();
    let counts = size.of(&[0, 1_000][..], &[0, 1_000, 100_000], &[0, 1_000, 100_000, 1_000_000]);
    fill(&rig, "warm", 1_000, nothing).await;
    let (mut places, mut bytes) = (Vec::new(), Vec::new());
    let mut client = rig.client().await;
    for count in counts.iter().copied() {
        let (queue, before) = (format!("kept-{count}"), rig.engine.used_memory());
        client.request("PATCH", &format!("/queues/{queue}"), r#"{"retention_max":1000000000}"#).await;
        fill(&rig, &queue, count, nothing).await;
        let mut done = 0;
        while done < count {
            done += settle(&mut client, &queue).await;
        }
        let grown = rig.engine.used_memory().saturating_sub(before);
        bytes.push(grown.checked_div(count).unwrap_or(0) as f64);
        places.push(Place { size: count, rig: &rig, queue, also: Box::new(nothing) });
    }
    let mut table = grow("jobs kept", &places, size).await;
    table.head.push("bytes each".to_owned());
    table.rows.iter_mut().zip(bytes).for_each(|(row, bytes)| row.push(bytes.into()));
    Found::of(table)
}

/// The same number of jobs waits, of more and more clients.
pub async fn clients(size: Size) -> Found {
    let rig = Rig::start();
    let counts = size.of(&[1, 100][..], &[1, 100, 1_000, 10_000], &[1, 100, 1_000, 10_000, 100_000]);
    let (max, mut places) = (counts.last().copied().unwrap_or(1), Vec::new());
    for count in counts.iter().copied() {
        let (queue, also) = (format!("clients-{count}"), move |n| format!(r#""client":"client-{}","#, n % count));
        fill(&rig, &queue, max, also).await;
        places.push(Place { size: count, rig: &rig, queue, also: Box::new(also) });
    }
    Found::of(grow("clients", &places, size).await)
}

/// The number of held locks grows, and a job waits for each.
pub async fn locks(size: Size) -> Found {
    let rig = Rig::start();
    let mut places = Vec::new();
    for count in size.of(&[1, 100][..], &[1, 100, 1_000, 10_000], &[1, 100, 1_000, 10_000, 100_000]).iter().copied() {
        let (queue, lock) = (format!("locks-{count}"), |n| format!(r#""locks":["held-{n}"],"#));
        fill(&rig, &queue, count, |n| lock(n) + r#""dedupe":false,"#).await;
        take(&rig, &queue, count, HOUR_MS).await;
        fill(&rig, &queue, count, |n| lock(n) + r#""dedupe":false,"#).await;
        meet(&rig, &queue).await;
        places.push(Place { size: count, rig: &rig, queue, also: Box::new(|n| format!(r#""locks":["free-{n}"],"#)) });
    }
    Found::of(grow("locks held", &places, size).await)
}

/// A service for each, because all queues of a service share its registry.
pub async fn queues(size: Size) -> Found {
    let counts = size.of(&[1, 100][..], &[1, 100, 1_000, 10_000], &[1, 100, 1_000, 10_000]);
    let rigs: Vec<_> = counts.iter().map(|_| Rig::start()).collect();
    let mut places = Vec::new();
    for (count, rig) in counts.iter().copied().zip(&rigs) {
        let mut client = rig.client().await;
        for start in (0..count).step_by(100) {
            let job = |n| format!(r#"{{"queue":"queue-{n}","payload":{n}}}"#);
            let jobs: Vec<_> = (start..(start + 100).min(count)).map(job).collect();
            client.post("/jobs", &format!("[{}]", jobs.join(","))).await;
        }
        places.push(Place { size: count, rig, queue: "queue-0".to_owned(), also: Box::new(nothing) });
    }
    Found::of(grow("queues", &places, size).await)
}

fn nothing(_: u64) -> String {
    String::new()
}

/// Until all jobs that wait for a lock are parked.
async fn meet(rig: &Rig, queue: &str) {
    let mut client = rig.client().await;
    while !client.request("GET", &format!("/queues/{queue}"), "").await.contains(r#""waiting":0"#) {
        client.post("/jobs/reserve", &format!(r#"{{"queues":["{queue}"]}}"#)).await;
    }
}

async fn grow(what: &str, places: &[Place<'_>], size: Size) -> Table {
    let (turns, calls) = size.of((3, 20), (15, 50), (25, 100));
    let (mut costs, numbers) = (vec![Vec::new(); places.len()], Numbers::new());
    for place in places {
        place.rig.engine.rest().await;
    }
    // The first turn warms up.
    for turn in 0..=turns {
        for (place, costs) in places.iter().zip(&mut costs) {
            let cost = take_turn(place, calls, &numbers).await;
            if turn > 0 {
                costs.push(cost);
            }
        }
    }
    let mut table = Table::new(&[
        what,
        "enqueue µs",
        "reserve µs",
        "complete µs",
        "cycle µs",
        "enqueue ratio",
        "reserve ratio",
        "complete ratio",
        "cycle ratio",
    ]);
    let of = |costs: &[[f64; 4]]| [0, 1, 2, 3].map(|at| median(&costs.iter().map(|cost| cost[at]).collect::<Vec<_>>()));
    let smallest = costs.first().map(|costs| of(costs)).unwrap_or_default();
    for (place, costs) in places.iter().zip(&costs) {
        let cost = of(costs);
        table.row(place.size, cost.into_iter().chain([0, 1, 2, 3].map(|at| cost[at] / smallest[at])));
    }
    table
}

/// Microseconds of scripts for an enqueue, a reserve, a complete, and all three.
async fn take_turn(place: &Place<'_>, count: usize, numbers: &Numbers) -> [f64; 4] {
    let numbers: Vec<_> = std::iter::repeat_with(|| numbers.next()).take(count).collect();
    let mut before = place.rig.engine.calls().script_us;
    let mut costs = Vec::new();
    calls(place.rig, &place.queue, &numbers, &place.also, || {
        let now = place.rig.engine.calls().script_us;
        costs.push((now - before) / count as f64);
        before = now;
    })
    .await;
    [costs[0], costs[1], costs[2], costs.iter().sum()]
}
