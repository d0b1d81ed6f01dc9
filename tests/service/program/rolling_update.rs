//! New instances replace old ones under load: a caller that retries on 503 sees no error. With INTRAY_OLDER_PROGRAM, instances of
//! that binary and of this build take turns: `make test-upgrade FROM=COMMIT`.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::world::{Answer, Client, Instance, TransportError, World};

/// The number of restarts, unless INTRAY_RESTARTS is set.
const RESTARTS: usize = 6;
const CALLERS: usize = 8;
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// The instances in service, as a load balancer knows them.
#[derive(Clone)]
struct Balancer {
    places: Arc<Mutex<Vec<Client>>>,
    turn: Arc<AtomicUsize>,
    broken: Arc<AtomicUsize>,
}

impl Balancer {
    fn with<T>(&self, change: impl FnOnce(&mut Vec<Client>) -> T) -> T {
        change(&mut self.places.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn next(&self) -> Client {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.with(|places| places[turn % places.len()].clone())
    }

    /// Sends a call with its key to one instance after the other until it is answered.
    async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        let begin = Instant::now();
        while begin.elapsed() < CALL_TIMEOUT {
            let request = self.next().request("POST", path).header("idempotency-key", key).json(body.to_string());
            match request.try_send().await {
                Ok(answer) if answer.status != 503 => return answer,
                Ok(_) | Err(TransportError::NotConnected) => tokio::time::sleep(RETRY_DELAY).await,
                Err(TransportError::Interrupted) => _ = self.broken.fetch_add(1, Ordering::Relaxed),
            }
        }
        panic!("no answer to {path} in {CALL_TIMEOUT:?}");
    }
}

/// A caller that enqueues and works until the end; returns how often it completed each job.
async fn work(balancer: Balancer, me: usize, is_over: Arc<AtomicBool>) -> (usize, BTreeMap<String, usize>) {
    let (mut put, mut done) = (0, BTreeMap::new());
    while !is_over.load(Ordering::Relaxed) {
        let key = |call: &str| format!("{call}-{me}-{put}");
        balancer.post("/jobs", &key("put"), &json!({ "payload": [me, put] })).await.is(201);
        let ask = json!({ "worker": format!("worker-{me}"), "wait_ms": 1_000 });
        let held = balancer.post("/jobs/reserve", &key("ask"), &ask).await.is(200);
        for job in held["jobs"].as_array().expect("jobs") {
            let body = json!({ "reservation": job["reservation"] });
            let answer = balancer.post("/jobs/complete", &key("done"), &body).await.is(200);
            assert_eq!(answer["late"], false, "{answer}");
            *done.entry(job["id"].as_str().expect("an id").to_owned()).or_default() += 1;
        }
        put += 1;
    }
    (put, done)
}

/// An instance of this build, or of the older binary if there is one.
async fn start(w: &World, is_older: bool) -> (Instance, Client) {
    match std::env::var_os("INTRAY_OLDER_PROGRAM").filter(|_| is_older) {
        Some(binary) => w.start_instance_of(&binary).await,
        None => w.start_instance().await,
    }
}

#[tokio::test]
async fn retrying_callers_see_no_error_in_a_rolling_update() {
    let restarts = std::env::var("INTRAY_RESTARTS").ok().and_then(|n| n.parse().ok()).unwrap_or(RESTARTS);
    let w = World::start_process().await;
    let balancer = Balancer { places: Arc::default(), turn: Arc::default(), broken: Arc::default() };
    let mut instances = Vec::new();
    for is_older in [true, false] {
        let (service, client) = start(&w, is_older).await;
        balancer.with(|places| places.push(client));
        instances.push(service);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let people: Vec<_> = (0..CALLERS).map(|me| tokio::spawn(work(balancer.clone(), me, is_over.clone()))).collect();
    for turn in 0..restarts {
        let (service, client) = start(&w, matches!(turn % 4, 1 | 2)).await;
        // The balancer learns of the new and the old instance at the same moment.
        balancer.with(|places| places[turn % 2] = client);
        let mut old = std::mem::replace(&mut instances[turn % 2], service);
        old.signal(libc::SIGTERM);
        assert!(old.wait_for_exit().await.success(), "{}", old.output());
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    is_over.store(true, Ordering::Relaxed);
    let (mut put, mut done) = (0, BTreeMap::<String, usize>::new());
    for person in people {
        let (of_one, theirs) = person.await.expect("no caller sees an error");
        put += of_one;
        theirs.into_iter().for_each(|(job, times)| *done.entry(job).or_default() += times);
    }
    assert_eq!(balancer.broken.load(Ordering::Relaxed), 0, "calls in flight were answered");
    assert!(done.values().all(|times| *times == 1), "each job was completed once");
    let waiting = w.queue().await["counts"]["waiting"].as_u64().expect("a count") as usize;
    assert_eq!(done.len() + waiting, put, "no job is lost");
    println!("{restarts} restarts, {put} jobs");
    w.check().await;
}

/// An instance that is so old that it knows nothing of forms takes any result, and leaves the form where it is.
#[tokio::test]
async fn form_is_there_again_after_a_step_back() {
    let mut w = World::start_process().await;
    let form = json!({ "type": "object", "properties": { "fine": { "type": "boolean" } }, "required": ["fine"] });
    w.update_settings(json!({ "result_schema": form })).await;
    let misfit = async |client: &Client| {
        let held = client.reserve_with(json!({})).await;
        client.post("/jobs/complete", json!({ "reservation": held.reservation, "result": {} })).await
    };
    w.enqueue(1).await;
    misfit(&w).await.is(422);
    let (mut older, back) = start(&w, true).await;
    w.service.signal(libc::SIGTERM);
    assert!(w.service.wait_for_exit().await.success());
    back.enqueue(2).await;
    // What it answers is by its own contract.
    let changed = back.request("PATCH", "/queues/default").json(json!({ "lease_ms": 60_000 }).to_string()).open().await;
    assert_eq!(changed.status(), 200);
    let shown = back.request("GET", "/queues/default").open().await.text().await.expect("a queue");
    assert_eq!(misfit(&back).await.status, if shown.contains("result_schema") { 422 } else { 200 });
    older.signal(libc::SIGTERM);
    assert!(older.wait_for_exit().await.success());
    w.restart().await;
    let queue = w.queue().await;
    assert_eq!((&queue["result_schema"], &queue["settings"]["lease_ms"]), (&form, &json!(60_000)));
    w.enqueue(3).await;
    misfit(&w).await.is(422);
    w.check().await;
}
