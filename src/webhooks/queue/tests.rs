//! The task of a queue, without a store.

use std::fs;

use intray_webhook::Sender;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};
use tracing::subscriber::DefaultGuard;

use super::*;
use crate::{
    job::Millis,
    store::{DeliveryHead, DeliveryId},
    waiting::Waiting,
    webhooks::context::WebhookContext,
};

async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), wait).await.expect("it comes");
}

/// What is logged from now on, by this thread.
struct Log {
    file: tempfile::NamedTempFile,
    _logging: DefaultGuard,
}

impl Log {
    fn start() -> Self {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let writer = Arc::new(file.reopen().expect("a file"));
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
        Self { file, _logging: tracing::subscriber::set_default(subscriber) }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file.path()).expect("a log")
    }
}

/// The task of a queue whose Redis refuses connections.
fn task(shutdown: &CancellationToken) -> Arc<QueueTask> {
    let queues = Queues::new("redis://127.0.0.1:1", "t:").expect("a URL");
    let waiting = Waiting::new(queues.clone(), shutdown.clone());
    Arc::new(QueueTask {
        context: Arc::new(WebhookContext::new(queues, waiting)),
        sender: Sender::new().expect("a sender"),
        queue: QueueName::parse("reviews").expect("a name"),
        served: watch::channel(Vec::new()).1,
        stop: shutdown.child_token(),
        shutdown: shutdown.clone(),
        has_events: Notify::new(),
        due: Mutex::default(),
        due_changed: Notify::new(),
    })
}

fn shop() -> Name {
    Name::parse("shop").expect("a name")
}

/// A delivery that was taken.
fn taken() -> SentDelivery {
    let (retry_after, error, took) = Default::default();
    let (kind, subject, error_text) = ("job.completed".to_owned(), "q-0".to_owned(), String::new());
    let head = DeliveryHead { attempts: 0, status: None, kind, subject, error: error_text };
    let delivery = DueDelivery { id: DeliveryId::random(), due_at: Millis(1), head, body: "{}".into() };
    let attempt = Attempt { status: Some(204), retry_after, error, took };
    SentDelivery { webhook: shop(), delivery, attempt, was_probe: false }
}

/// Whether a delivery was reported: as Redis does not take the report, it is due again after a while.
fn is_reported(task: &QueueTask) -> bool {
    task.due.lock().contains_key(&shop())
}

#[tokio::test]
async fn queue_is_served_again_after_a_panic() {
    let (log, stop) = (Log::start(), CancellationToken::new());
    let task = task(&stop);
    // A task that waits for a slot panics.
    task.context.breaker(&shop()).slots.close();
    let running = tokio::spawn(serve(task.clone()));
    task.due_in(&shop(), Duration::ZERO);
    until(|| log.text().contains("have met a panic")).await;
    task.due_in(&shop(), Duration::ZERO);
    until(|| task.due.lock().is_empty()).await;
    stop.cancel();
    running.await.expect("the end of the task");
    assert!(log.text().contains("queue=reviews") && !log.text().contains("never closed"), "{}", log.text());
}

#[tokio::test]
async fn panic_of_a_delivery_ends_no_other_in_flight() {
    let (log, stop) = (Log::start(), CancellationToken::new());
    let task = task(&stop);
    let mut sender = QueueSender::new(&task);
    sender.flight.spawn(async { panic!("hunter2") });
    sender.flight.spawn(async {
        sleep(Duration::from_millis(100)).await;
        taken()
    });
    let end = async {
        until(|| is_reported(&task)).await;
        stop.cancel();
    };
    tokio::join!(sender.run(), end);
    assert!(log.text().contains("has met a panic") && log.text().contains("queue=reviews"), "{}", log.text());
    assert!(!log.text().contains("hunter2"), "{}", log.text());
}

/// Slower than what is in flight at the end of the service may be.
async fn serve_one_that_is_slow(task: &QueueTask) {
    let mut sender = QueueSender::new(task);
    sender.flight.spawn(async {
        sleep(LAST_ATTEMPTS + Duration::from_millis(500)).await;
        taken()
    });
    sender.run().await;
}

#[tokio::test]
async fn slow_delivery_is_cut_short_only_by_the_end_of_the_service() {
    let [shutdown, none] = [(); 2].map(|()| CancellationToken::new());
    let (ended, unlisted) = (task(&shutdown), task(&none));
    shutdown.cancel();
    unlisted.stop.cancel();
    tokio::join!(serve_one_that_is_slow(&ended), serve_one_that_is_slow(&unlisted));
    assert!(!is_reported(&ended) && is_reported(&unlisted));
}
