//! A reader of all queues' events, which changes instances and resumes after the last event.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::task::JoinHandle;

use super::{Caller, Chance, Shared, queues};
use crate::record::{Ask, Entry, Event};

/// The longest stay at one instance.
const STAY_MS: u64 = 8_000;
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Listener {
    task: JoinHandle<()>,
    /// Queues whose final pause was received.
    paused: Arc<Mutex<HashSet<String>>>,
}

/// Returns once it receives events.
pub async fn listen(shared: Arc<Shared>, chance: Chance) -> Listener {
    let paused = Arc::new(Mutex::new(HashSet::new()));
    let (hears, is_there) = tokio::sync::oneshot::channel();
    let ear = Ear { shared, chance, last: None, paused: paused.clone(), hears: Some(hears) };
    let task = tokio::spawn(ear.listen());
    is_there.await.expect("the stream begins");
    Listener { task, paused }
}

impl Listener {
    /// Pauses each queue: after that event all earlier ones were received.
    pub async fn hear_the_end(self, caller: &mut Caller) {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for queue in queues::ALL {
            caller.insist(Ask::Set { queue: queue.to_owned(), settings: r#"{"paused":true}"#.to_owned() }).await;
        }
        let begin = Instant::now();
        while self.paused.lock().unwrap_or_else(PoisonError::into_inner).len() < queues::ALL.len() {
            assert!(begin.elapsed() < PATIENCE, "the stream does not come to its end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.task.abort();
        let _ = self.task.await; // aborted
    }
}

struct Ear {
    shared: Arc<Shared>,
    chance: Chance,
    last: Option<String>,
    paused: Arc<Mutex<HashSet<String>>>,
    hears: Option<tokio::sync::oneshot::Sender<()>>,
}

impl Ear {
    async fn listen(mut self) {
        loop {
            let stay = Duration::from_millis(self.chance.within(500, STAY_MS));
            let _ = tokio::time::timeout(stay, self.stay()).await; // it continues at another instance
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn stay(&mut self) -> Option<()> {
        let base = self.shared.services.url(&mut self.chance);
        let mut request = self.shared.services.http.get(format!("{base}/events?queue={}", queues::ALL.join(",")));
        if let Some(last) = &self.last {
            request = request.header("last-event-id", last);
        }
        let mut answer = request.send().await.ok().filter(|answer| answer.status() == 200)?;
        let mut unread = Vec::new();
        while let Some(bytes) = answer.chunk().await.ok()? {
            unread.extend_from_slice(&bytes);
            while let Some(end) = unread.windows(2).position(|pair| pair == b"\n\n") {
                let message: Vec<u8> = unread.drain(..end + 2).collect();
                self.hear(&String::from_utf8_lossy(&message));
            }
        }
        None
    }

    fn hear(&mut self, message: &str) {
        let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let (Some(id), Some(data)) = (field("id"), field("data")) else { return };
        let mut data: Value = serde_json::from_str(data).unwrap_or_default();
        if field("event") == Some("gap") {
            data["type"] = "gap".into();
        }
        if let Some(event) = Event::read(id, &data) {
            let mut paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
            match event.kind.as_str() {
                "paused" => paused.insert(event.queue.clone()),
                "unpaused" => paused.remove(&event.queue),
                _ => false,
            };
            drop(paused);
            self.shared.record.add(Entry::Event(event));
        }
        self.last = Some(id.to_owned());
        if let Some(hears) = self.hears.take() {
            let _ = hears.send(()); // the receiver exists
        }
    }
}
