//! The task of a queue, without a store.

use std::fs;

use tokio::time::{sleep, timeout};

use super::*;
use crate::waiting::Waiting;

async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), wait).await.expect("it comes");
}

#[tokio::test]
async fn queue_is_served_again_after_a_panic() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let writer = Arc::new(log.reopen().expect("a file"));
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let stop = CancellationToken::new();
    let queues = Queues::new("redis://127.0.0.1:1", "t:").expect("a URL");
    let waiting = Waiting::new(queues.clone(), stop.clone());
    let task = Arc::new(QueueTask {
        context: Arc::new(WebhookContext::new(queues, waiting)),
        sender: Sender::new().expect("a sender"),
        queue: QueueName::parse("reviews").expect("a name"),
        served: watch::channel(Vec::new()).1,
        stop: stop.clone(),
        has_events: Notify::new(),
        due: Mutex::default(),
        due_changed: Notify::new(),
    });
    let webhook = Name::parse("shop").expect("a name");
    // A task that waits for a slot panics.
    task.context.breaker(&webhook).slots.close();
    let running = tokio::spawn(task.clone().run());
    task.due_in(&webhook, Duration::ZERO);
    let logged = || fs::read_to_string(log.path()).expect("a log");
    until(|| logged().contains("have met a panic")).await;
    task.due_in(&webhook, Duration::ZERO);
    until(|| task.due.lock().is_empty()).await;
    stop.cancel();
    running.await.expect("the end of the task");
    assert!(logged().contains("queue=reviews") && !logged().contains("never closed"), "{}", logged());
}
