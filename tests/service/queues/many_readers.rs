//! Many large reads at once take turns, are refused in time, and do not slow other callers; and the cost of one change
//! in Redis does not depend on the number of waiters.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::world::{
    Client, Took, World,
    access::key,
    background_caller::{BackgroundCaller, full_scale_jobs},
    batch_verbs::items,
    calls::calls_of,
    contract::NDJSON,
    eventually, id_of,
    waiters::PROMPT_LIMIT,
};

/// Large waiting jobs, a batch and a job with a history: answers of a MiB.
async fn fill(w: &World) -> Vec<String> {
    for from in 0..15 {
        let job = |n| json!({ "queue": "big", "payload": format!("{n}{}", "x".repeat(262_000)), "dedupe": false });
        w.enqueue_many((from * 4..from * 4 + 4).map(job)).await;
    }
    let batch = id_of(&w.post("/batches", json!({ "queue": "many", "jobs": items(0..300) })).await.is(201));
    let id = w.enqueue_with(json!({ "queue": "many", "payload": "history" })).await;
    vec![
        "/queues/big/jobs?state=waiting".to_owned(),
        "/queues/big/jobs?state=waiting&search=none".to_owned(),
        format!("/batches/{batch}/results?limit=300"),
        format!("/jobs/{id}/events"),
        "/queues".to_owned(),
        "/workers".to_owned(),
        "/metrics".to_owned(),
        "/queues/many/history".to_owned(),
    ]
}

/// How often readers were answered and refused.
#[derive(Default)]
struct Tally {
    answered: AtomicU32,
    refused: AtomicU32,
}

/// Reads in a loop. Each refusal has a retry time; a timeout of Redis is allowed on a busy machine.
async fn read_in_a_loop(client: Client, path: String, accept: &'static str, tally: Arc<Tally>) {
    loop {
        let answer = client.request("GET", &path).header("accept", accept).open().await;
        let (status, has_retry_after) = (answer.status(), answer.headers().contains_key("retry-after"));
        let text = answer.bytes().await.unwrap_or_default();
        if status == 200 {
            tally.answered.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        // The caller ignores the retry time, as an attacker would.
        tally.refused.fetch_add(1, Ordering::Relaxed);
        let problem: Value = serde_json::from_slice(&text).expect("a problem");
        assert!(
            has_retry_after
                && ["/problems/rate-limited", "/problems/unavailable"].iter().any(|slug| problem["type"] == *slug),
            "{path}: {problem}"
        );
        assert!(problem["retry_after_ms"].as_u64().is_some_and(|ms| ms > 0), "{problem}");
    }
}

/// This many readers, of all kinds in turn, until they are dropped.
fn readers(w: &World, paths: &[String], many: usize, tally: &Arc<Tally>) -> JoinSet<()> {
    let mut crowd = JoinSet::new();
    for n in 0..many {
        let (path, accept) = match n % 4 {
            0 => (&paths[0], NDJSON),
            1 => (&paths[0], "text/csv"),
            2 => (&paths[0], "*/*"),
            _ => (&paths[n / 4 % paths.len()], "*/*"),
        };
        crowd.spawn(read_in_a_loop((**w).clone(), path.clone(), accept, tally.clone()));
    }
    crowd
}

/// As many as one caller may have read at once.
const FEW_READERS: usize = 2;

/// Readers without a turn cost other callers little.
#[tokio::test(flavor = "multi_thread")]
async fn many_reads_of_every_kind_slow_no_other_caller() {
    let (many, time) = if full_scale_jobs().is_some() { (400, 20) } else { (200, 3) };
    let (w, quiet) = (World::start_process().await, World::start_process().await);
    let [tally, of_few] = [(); 2].map(|()| Arc::new(Tally::default()));
    let mut crowds =
        [readers(&w, &fill(&w).await, many, &tally), readers(&quiet, &fill(&quiet).await, FEW_READERS, &of_few)];
    let honest = BackgroundCaller::start(&w, &quiet).await;
    sleep(Duration::from_secs(time)).await;
    let measured = honest.stop().await;
    for crowd in &mut crowds {
        assert!(crowd.try_join_next().is_none(), "a reader was refused in another way");
        crowd.shutdown().await;
    }
    let [answered, refused] = [&tally.answered, &tally.refused].map(|count| count.load(Ordering::Relaxed));
    measured.assert_not_much_slower(&format!("{many} readers, {answered} answered, {refused} refused"));
    assert!(answered > 0);
    w.check().await;
}

/// A reader that takes nothing of its answer holds only its share of memory, and no turn.
#[tokio::test]
async fn stalled_readers_leave_turns_to_other_callers() {
    let keys = [("ann", "viewer", "*"), ("bob", "viewer", "*")];
    let start = async || World::plan().own_process().with_keys(&keys).start().await;
    let (w, quiet) = (start().await, start().await);
    for w in [&w, &quiet] {
        fill(w).await;
    }
    let reads_of_bob = async |w: &World| {
        let bob = w.with_credential(&key("bob"));
        for _ in 0..10 {
            let begin = Instant::now();
            bob.get("/queues/big/jobs").await.is(200);
            Took::since(begin).assert_within(PROMPT_LIMIT * 2, "another caller gets a turn");
        }
    };
    let honest = BackgroundCaller::start(&w, &quiet).await;
    let mut stalled = Vec::new();
    for n in 0..200 {
        let accept = [NDJSON, "*/*"][n % 2];
        let mut socket = TcpStream::connect(w.address()).await.expect("the service listens");
        let call = format!(
            "GET /queues/big/jobs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\naccept: {accept}\r\n\r\n",
            key("ann")
        );
        socket.write_all(call.as_bytes()).await.expect("open");
        stalled.push(socket);
    }
    tokio::join!(reads_of_bob(&w), reads_of_bob(&quiet));
    honest.stop().await.assert_not_much_slower("200 readers that take nothing");
    drop(stalled);
    eventually("the memory is released", async || {
        let answer = w.with_credential(&key("ann")).get("/queues/big/jobs").await;
        (answer.status == 200).then_some(())
    })
    .await;
    w.check().await;
}

/// Many waits of one key hold no turn while they sleep.
#[tokio::test]
async fn sleeping_waits_hold_no_read_turn() {
    let w = World::start_process().await;
    let id = w.enqueue(1).await;
    let office: Vec<_> =
        (0..100).map(|n| w.long_poll(&format!("/queues/default/jobs?state=completed&client=c{}", n % 10))).collect();
    let own: Vec<_> = (0..100).map(|_| w.long_poll(&format!("/jobs/{id}"))).collect();
    commands_when_idle(&w).await;
    for path in ["/queues/default/jobs", "/queues", &format!("/jobs/{id}"), &format!("/jobs/{id}/events")] {
        let begin = Instant::now();
        w.get(path).await.is(200);
        Took::since(begin).assert_within(PROMPT_LIMIT, path);
    }
    let held = w.reserve().await;
    w.complete(&held).await.is(200);
    for waiter in own {
        assert_eq!(waiter.answer().await.0.is(200)["state"], "completed");
    }
    drop(office);
}

/// The number of commands that Redis has run for callers. Those of the look at the restart marker, `EVAL` and `HMGET`, are not
/// among them.
async fn commands(w: &World) -> u64 {
    let ours = ["fcall", "evalsha", "xrange", "xrevrange", "zscore", "zrange", "hget", "zrangebyscore"];
    calls_of(&w.engine.calls().await, &ours)
}

/// Waits until Redis has been idle for a while; returns the number of commands until then.
async fn commands_when_idle(w: &World) -> u64 {
    let (mut last, mut since) = (commands(w).await, Instant::now());
    while since.elapsed() < Duration::from_millis(150) {
        sleep(Duration::from_millis(20)).await;
        let now = commands(w).await;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    last
}

/// A reader of a list that follows; each line is one ended job.
struct Follower(reqwest::Response);

impl Follower {
    async fn open(client: &Client) -> Self {
        let path = "/queues/default/jobs?state=completed&follow=true";
        Self(client.request("GET", path).header("accept", NDJSON).open().await)
    }

    async fn line(&mut self) {
        let mut text = Vec::new();
        while !text.ends_with(b"}\n") {
            let chunk = timeout(Duration::from_secs(30), self.0.chunk()).await.expect("a line").expect("open");
            text.extend(chunk.expect("the stream is open"));
        }
    }
}

/// The commands for one completion with so many followers: the lowest of several runs.
async fn cost_of_a_change(w: &World, followers: usize) -> u64 {
    let mut open = Vec::new();
    for _ in 0..followers {
        open.push(Follower::open(w).await);
    }
    let mut costs = Vec::new();
    for n in 0..8 {
        w.enqueue(json!([followers, n])).await;
        let held = w.reserve().await;
        let before = commands_when_idle(w).await;
        w.complete(&held).await.is(200);
        futures_util::future::join_all(open.iter_mut().map(Follower::line)).await;
        costs.push(commands_when_idle(w).await - before);
    }
    println!("{followers} followers: {costs:?} commands per change");
    costs.into_iter().min().expect("some")
}

/// The commands for the end of a job with so many waiters on it and on its list: the lowest of several runs, because the service makes
/// a few commands of its own at any time.
async fn cost_of_an_end(w: &World, waiters: usize) -> u64 {
    let mut costs = Vec::new();
    for n in 0..8 {
        let batch = id_of(&w.post("/batches", json!({ "jobs": [{ "payload": [waiters, n] }] })).await.is(201));
        let of_batch = w.reserve().await;
        w.enqueue(json!([waiters, n])).await;
        let held = w.reserve().await;
        let list = "/queues/default/jobs?state=completed".to_owned();
        assert_eq!(w.get(&list).await.is(200)["jobs"], json!([]), "the list is empty");
        let paths = [format!("/jobs/{}", held.id), format!("/batches/{batch}"), list];
        let all: Vec<_> = (0..waiters).flat_map(|_| paths.iter().map(|path| w.long_poll(path))).collect();
        let before = commands_when_idle(w).await;
        w.complete(&of_batch).await.is(200);
        w.complete(&held).await.is(200);
        for waiter in all {
            waiter.answer().await.0.is(200);
        }
        costs.push(commands_when_idle(w).await - before);
        w.delete("/queues/default?state=completed").await.is(200);
    }
    println!("{waiters} waiters: {costs:?} commands per end");
    costs.into_iter().min().expect("some")
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_of_a_change_is_independent_of_followers() {
    let many = if full_scale_jobs().is_some() { 500 } else { 150 };
    let w = World::start_process().await;
    w.enqueue("first").await;
    w.complete(&w.reserve().await).await.is(200);
    let mut listener = w.listen("").await;
    let alone = cost_of_a_change(&w, 1).await;
    assert_eq!(cost_of_a_change(&w, many).await, alone);
    listener.read_events(1).await;
    let _: Value = w.get("/queues/default").await.is(200);
    w.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_of_a_job_end_is_independent_of_waiters() {
    let many = if full_scale_jobs().is_some() { 500 } else { 100 };
    let w = World::start_process().await;
    let alone = cost_of_an_end(&w, 1).await;
    let together = cost_of_an_end(&w, many).await;
    // Those that a busy machine wakes later look once more, together; a command for each would be four times as many.
    assert!((alone..2 * alone).contains(&together), "{alone} commands for one, {together} for {many}");
    w.check().await;
}
