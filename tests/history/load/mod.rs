//! The load: workers, producers and operators that use the whole contract at random, while faults happen.

mod caller;
mod chance;
mod drain;
mod feeder;
mod look;
mod operator;
mod producer;
mod queues;
mod stream;
mod webhook;
mod worker;

pub use self::{chance::Chance, queues::ALL as QUEUES};

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::task::JoinSet;

use self::{caller::Caller, queues::Shared};
use crate::{
    nemeses,
    record::{Entry, History, Recorder},
    services::Services,
    topology::Topology,
};

/// The size and the seed. The seed decides the calls; their order depends on the machine.
pub struct Options {
    pub seconds: u64,
    pub seed: u64,
    pub workers: usize,
    pub producers: usize,
    /// Whether faults are injected.
    pub breaks: bool,
}

const INSTANCES: usize = 3;

/// Runs everything, and returns what was recorded once all jobs are done.
pub async fn run<T: Topology>(options: &Options, topology: T, file: &Path) -> History {
    let (record, written) = Recorder::start(file).expect("a file for the history");
    let log = file.with_extension("log");
    let _ = std::fs::remove_file(&log); // of the previous run
    let webhooks = file.with_extension("webhooks");
    let receivers = webhook::start(&webhooks).await;
    let services = Services::start(topology, INSTANCES, &webhooks, &log).await;
    let shared = Arc::new(Shared::new(services.clone(), record.clone()));
    let mut chance = Chance::new(options.seed);
    record.add(Entry::Plan(queues::plans()));
    queues::set_up(&mut Caller::new(&shared, chance.fork())).await;
    let listener = stream::listen(shared.clone(), chance.fork()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for n in 0..options.workers {
        tasks.spawn(worker::work(Caller::new(&shared, chance.fork()), n, stop.clone()));
    }
    for _ in 0..options.producers {
        tasks.spawn(producer::produce(Caller::new(&shared, chance.fork()), stop.clone()));
    }
    for _ in 0..options.producers.div_ceil(2) {
        tasks.spawn(operator::operate(Caller::new(&shared, chance.fork()), stop.clone()));
    }
    tasks.spawn(queues::watch(Caller::new(&shared, chance.fork()), stop.clone()));
    for plan in queues::plans().into_iter().filter(|plan| plan.keeps) {
        tasks.spawn(feeder::read(Caller::new(&shared, chance.fork()), plan.queue, stop.clone()));
    }
    let time = Duration::from_secs(options.seconds);
    match options.breaks {
        true => nemeses::plague_and_go_back(&services, &record, &mut chance, time).await,
        false => tokio::time::sleep(time).await,
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.expect("callers handle every answer");
    }
    let mut caller = Caller::new(&shared, chance.fork());
    drain::drain(&mut caller).await;
    listener.hear_the_end(&mut caller).await;
    webhook::hear_the_end(&mut caller, &receivers).await;
    look::at_the_end(&mut caller).await;
    drop((caller, shared, record));
    let history = tokio::task::spawn_blocking(move || written.join()).await.expect("a thread").expect("a thread");
    services.stop().await;
    history.expect("the file is written")
}
