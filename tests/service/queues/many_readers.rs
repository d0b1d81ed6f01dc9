//! Many who read as much as they can at once: they wait for each other, are refused in time, and nobody else notices; and one
//! change costs Redis the same however many wait for it.

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
    Client, World,
    access::key,
    background_caller::{BackgroundCaller, full_scale_jobs},
    batch_verbs::items,
    contract::NDJSON,
    eventually, id_of,
    waiters::PROMPT_LIMIT,
};

/// Large jobs that wait, a batch and a job with a history: answers of a MiB.
async fn fill(w: &World) -> Vec<String> {
    for from in 0..15 {
        let job = |n| json!({ "queue": "big", "payload": format!("{n}{}", "x".repeat(262_000)), "dedupe": false });
        w.enqueue_many((from * 4..from * 4 + 4).map(job)).await;
    }
    let batch = id_of(&w.post("/batches", json!({ "queue": "many", "jobs": items(0..300) })).await.is(201));
    let id = w.enqueue_with(json!({ "queue": "many", "payload": "told of" })).await;
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

/// How often readers were answered, and how often refused.
#[derive(Default)]
struct Tally {
    answered: AtomicU32,
    refused: AtomicU32,
}

/// Reads again and again. Each refusal says when to come back; that Redis did not answer is true where a busy machine is late.
async fn reads_on(client: Client, path: String, accept: &'static str, tally: Arc<Tally>) {
    loop {
        let answer = client.request("GET", &path).header("accept", accept).open().await;
        let (status, again) = (answer.status(), answer.headers().contains_key("retry-after"));
        let text = answer.bytes().await.unwrap_or_default();
        if status == 200 {
            tally.answered.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        // An attacker does not wait as it is told.
        tally.refused.fetch_add(1, Ordering::Relaxed);
        let problem: Value = serde_json::from_slice(&text).expect("a problem");
        assert!(
            again && ["/problems/rate-limited", "/problems/unavailable"].iter().any(|slug| problem["type"] == *slug),
            "{path}: {problem}"
        );
        assert!(problem["retry_after_ms"].as_u64().is_some_and(|ms| ms > 0), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_every_kind_at_once_leave_others_alone() {
    let (readers, time) = if full_scale_jobs().is_some() { (400, 20) } else { (200, 3) };
    let w = World::start().await;
    let paths = fill(&w).await;
    let quiet = BackgroundCaller::baseline(&w).await;
    let (honest, tally, mut crowd) = (BackgroundCaller::start(&w), Arc::new(Tally::default()), JoinSet::new());
    for n in 0..readers {
        let (path, accept) = match n % 4 {
            0 => (&paths[0], NDJSON),
            1 => (&paths[0], "text/csv"),
            2 => (&paths[0], "*/*"),
            _ => (&paths[n / 4 % paths.len()], "*/*"),
        };
        crowd.spawn(reads_on((*w).clone(), path.clone(), accept, tally.clone()));
    }
    sleep(Duration::from_secs(time)).await;
    let crowded = honest.stop().await;
    assert!(crowd.try_join_next().is_none(), "a reader was refused in another way");
    crowd.shutdown().await;
    let [answered, refused] = [&tally.answered, &tally.refused].map(|count| count.load(Ordering::Relaxed));
    quiet.assert_not_much_slower(&format!("{readers} readers, {answered} answered, {refused} refused"), &crowded);
    assert!(answered > 0);
    w.check().await;
}

/// Whoever takes nothing of an answer keeps no more than its share of the memory, and no turn.
#[tokio::test]
async fn readers_that_take_nothing_are_bounded() {
    let keys = [("ann", "viewer", "*"), ("bob", "viewer", "*")];
    let w = World::plan().with_keys(&keys).start().await;
    fill(&w).await;
    let quiet = BackgroundCaller::baseline(&w).await;
    let honest = BackgroundCaller::start(&w);
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
    let bob = w.with_credential(&key("bob"));
    for _ in 0..10 {
        let begin = Instant::now();
        bob.get("/queues/big/jobs").await.is(200);
        assert!(begin.elapsed() < PROMPT_LIMIT * 2, "another caller has a turn: {:?}", begin.elapsed());
    }
    quiet.assert_not_much_slower("200 readers that take nothing", &honest.stop().await);
    drop(stalled);
    eventually("there is room again", async || {
        let answer = w.with_credential(&key("ann")).get("/queues/big/jobs").await;
        (answer.status == 200).then_some(())
    })
    .await;
    w.check().await;
}

/// An office behind one key: while it waits it holds no turn.
#[tokio::test]
async fn waits_hold_no_turn_while_they_sleep() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let office: Vec<_> =
        (0..100).map(|n| w.long_poll(&format!("/queues/default/jobs?state=completed&client=c{}", n % 10))).collect();
    let own: Vec<_> = (0..100).map(|_| w.long_poll(&format!("/jobs/{id}"))).collect();
    still(&w).await;
    for path in ["/queues/default/jobs", "/queues", &format!("/jobs/{id}"), &format!("/jobs/{id}/events")] {
        let begin = Instant::now();
        w.get(path).await.is(200);
        assert!(begin.elapsed() < PROMPT_LIMIT, "{path}: {:?}", begin.elapsed());
    }
    let held = w.reserve().await;
    w.complete(&held).await.is(200);
    for waiter in own {
        assert_eq!(waiter.answer().await.0.is(200)["state"], "completed");
    }
    drop(office);
}

/// What Redis has done for callers.
async fn commands(w: &World) -> u64 {
    let info: String = w.engine.run("INFO commandstats").await;
    let of_ours = |line: &&str| {
        ["fcall", "eval", "evalsha", "xrange", "xrevrange", "zscore", "zrange", "hget", "hmget", "zrangebyscore"]
            .iter()
            .any(|name| line.starts_with(&format!("cmdstat_{name}:")))
    };
    let calls = |line: &str| line.split_once("calls=")?.1.split_once(',')?.0.parse::<u64>().ok();
    info.lines().filter(of_ours).filter_map(calls).sum()
}

/// Nothing has been asked of Redis for a while; how much it has done until then.
async fn still(w: &World) -> u64 {
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

/// A reader of lines for ever, which answers how many have come.
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
            text.extend(chunk.expect("it goes on"));
        }
    }
}

/// What one completion costs while so many follow the list, the least of some.
async fn cost_of_a_change(w: &World, followers: usize) -> u64 {
    let mut open = Vec::new();
    for _ in 0..followers {
        open.push(Follower::open(w).await);
    }
    let mut costs = Vec::new();
    for n in 0..5 {
        w.enqueue(json!([followers, n])).await;
        let held = w.reserve().await;
        let before = still(w).await;
        w.complete(&held).await.is(200);
        futures_util::future::join_all(open.iter_mut().map(Follower::line)).await;
        costs.push(still(w).await - before);
    }
    println!("{followers} followers: {costs:?} commands a change");
    costs.into_iter().min().expect("some")
}

/// What the end of a job costs while so many wait for it, and for the list that it comes into.
async fn cost_of_an_end(w: &World, waiters: usize) -> u64 {
    let mut costs = Vec::new();
    for n in 0..3 {
        let batch = id_of(&w.post("/batches", json!({ "jobs": [{ "payload": [waiters, n] }] })).await.is(201));
        let of_batch = w.reserve().await;
        w.enqueue(json!([waiters, n])).await;
        let held = w.reserve().await;
        let list = "/queues/default/jobs?state=completed".to_owned();
        assert_eq!(w.get(&list).await.is(200)["jobs"], json!([]), "what has ended is purged");
        let paths = [format!("/jobs/{}", held.id), format!("/batches/{batch}"), list];
        let all: Vec<_> = (0..waiters).flat_map(|_| paths.iter().map(|path| w.long_poll(path))).collect();
        let before = still(w).await;
        w.complete(&of_batch).await.is(200);
        w.complete(&held).await.is(200);
        for waiter in all {
            waiter.answer().await.0.is(200);
        }
        costs.push(still(w).await - before);
        w.delete("/queues/default?state=completed").await.is(200);
    }
    println!("{waiters} waiters: {costs:?} commands an end");
    costs.into_iter().min().expect("some")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_change_costs_the_same_for_one_and_for_many_followers() {
    let many = if full_scale_jobs().is_some() { 500 } else { 150 };
    let w = World::start().await;
    w.enqueue("first").await;
    w.complete(&w.reserve().await).await.is(200);
    let mut told = w.listen("").await;
    let alone = cost_of_a_change(&w, 1).await;
    assert_eq!(cost_of_a_change(&w, many).await, alone);
    told.read_events(1).await;
    let _: Value = w.get("/queues/default").await.is(200);
    w.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_end_costs_the_same_for_one_and_for_many_waiters() {
    let many = if full_scale_jobs().is_some() { 500 } else { 100 };
    let w = World::start().await;
    let alone = cost_of_an_end(&w, 1).await;
    assert_eq!(cost_of_an_end(&w, many).await, alone);
    w.check().await;
}
