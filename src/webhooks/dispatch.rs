//! The queues that webhooks are for, each with a task on this instance, and what these tasks share.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use intray_webhook::Sender;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    breaker::Breaker,
    file::Webhooks,
    line::Webhook,
    queue::QueueTask,
    state::{LastAttempt, QueueStates},
};
use crate::{
    job::{Millis, Name, QueueName},
    store::{Fault, Hint, OutboxState, Queues, Wanted},
    waiting::Waiting,
};

/// How often new queues are looked for among those in use here.
const TICK: Duration = Duration::from_millis(500);
/// Queues whose hints are subscribed to; the others are visited at their next check.
const MAX_HEARD: usize = 1_000;
/// Queues that are read at the same time.
const MAX_VISITS: usize = 16;
/// Queues read in one pipeline: few enough not to delay other calls.
const MAX_PIPELINED: usize = 32;
const LIST_EVERY: Duration = Duration::from_secs(10);
/// How often other instances learn that this one serves its webhooks, and how often it learns which were stopped.
const LEARN_EVERY: Duration = Duration::from_secs(2);

/// A webhook of the file that is known to Redis, and since when: events from then on are for it.
pub(super) type ServedWebhook = (Arc<Webhook>, Millis);

/// What the tasks of queues and the calls of operators share.
pub(super) struct WebhookContext {
    pub(super) queues: Queues,
    pub(super) waiting: Waiting,
    /// The states of the webhooks in each queue, as this instance has last read them.
    pub(super) counts: QueueStates,
    pub(super) visits: Semaphore,
    pub(super) tasks: Mutex<HashMap<QueueName, Arc<QueueTask>>>,
    wanted: Wanted,
    heard: Mutex<HashSet<QueueName>>,
    breakers: Mutex<HashMap<Name, Arc<Breaker>>>,
}

impl WebhookContext {
    pub(super) fn new(queues: Queues, waiting: Waiting) -> Self {
        let (counts, tasks, wanted, heard, breakers) = Default::default();
        Self { queues, waiting, counts, visits: Semaphore::new(MAX_VISITS), tasks, wanted, heard, breakers }
    }

    pub(super) fn breaker(&self, webhook: &Name) -> Arc<Breaker> {
        self.breakers.lock().entry(webhook.clone()).or_insert_with(|| Arc::new(Breaker::new())).clone()
    }

    /// Listens to the hints of a queue, or no longer.
    pub(super) fn hear(&self, queue: &QueueName, is_wanted: bool) {
        let mut heard = self.heard.lock();
        if !is_wanted && heard.remove(queue) {
            self.wanted.remove(queue);
        } else if is_wanted && heard.len() < MAX_HEARD && heard.insert(queue.clone()) {
            self.wanted.add(queue);
        }
    }

    /// The states of the webhooks in each of these queues, and the last known ones where a node is away.
    pub(super) async fn read_all(&self, names: &[QueueName]) -> Result<Vec<Vec<OutboxState>>, Fault> {
        let mut states = Vec::with_capacity(names.len());
        for some in names.chunks(MAX_PIPELINED) {
            let read = some.iter().map(|queue| async move {
                match self.queues.outbox(queue).await {
                    Err(Fault::Unavailable { .. }) if self.queues.is_lost(queue) => Ok(self.counts.in_queue(queue)),
                    answer => answer,
                }
            });
            states.extend(futures_util::future::try_join_all(read).await?);
        }
        Ok(states)
    }

    /// Tells other instances of the last attempt.
    pub(super) async fn note(&self, webhook: &Name, last: &LastAttempt) {
        if self.breaker(webhook).is_news(last.failures) {
            // The next attempt is noted too.
            let _ = self.queues.note_attempt(webhook, &last.to_string()).await;
        }
    }
}

pub(super) struct Dispatch {
    context: Arc<WebhookContext>,
    sender: Sender,
    file: watch::Receiver<Webhooks>,
    served: watch::Sender<Vec<ServedWebhook>>,
    running: TaskTracker,
    /// Queues that no webhook is for, as they were last listed.
    ignored: HashSet<QueueName>,
    learned: Option<Instant>,
    listed: Option<Instant>,
}

impl Dispatch {
    pub(super) fn new(context: Arc<WebhookContext>, sender: Sender, file: watch::Receiver<Webhooks>) -> Self {
        let (served, running, ignored, learned, listed) = Default::default();
        Self { context, sender, file, served, running, ignored, learned, listed }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        let (sender, mut hints) = mpsc::unbounded_channel();
        let context = self.context.clone();
        let listening = context.queues.listen(&context.wanted, sender, stop.clone());
        let rounds = async {
            let mut ticks = tokio::time::interval(TICK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => break,
                    _ = ticks.tick() => self.tick(&stop).await,
                    // A change of the file counts at once.
                    Ok(()) = self.file.changed() => {
                        (self.learned, self.listed) = (None, None);
                        self.tick(&stop).await;
                    }
                    Some(hint) = hints.recv() => self.pass_on(&hint),
                }
            }
            self.running.close();
            self.running.wait().await;
            self.context.tasks.lock().clear();
        };
        tokio::join!(listening, rounds);
    }

    async fn tick(&mut self, stop: &CancellationToken) {
        let is_due = |last: Option<Instant>, every| last.is_none_or(|last| last.elapsed() >= every);
        // While Redis is away, the next tick tries again.
        if is_due(self.learned, LEARN_EVERY) && self.learn().await.is_err() {
            return;
        }
        if is_due(self.listed, LIST_EVERY) && self.list(stop).await.is_ok() {
            self.listed = Some(Instant::now());
        }
        self.add(self.context.queues.in_use(), stop);
    }

    /// Names the webhooks of the file, and learns how they stand.
    async fn learn(&mut self) -> Result<(), Fault> {
        let (context, file) = (&self.context, self.file.borrow().clone());
        let known = context.queues.name_webhooks(file.iter().map(|webhook| webhook.named())).await?;
        self.learned = Some(Instant::now());
        for webhook in &known {
            context.breaker(&webhook.name).stop(webhook.stopped_at.is_some());
        }
        let since = |webhook: &Webhook| Some(known.iter().find(|known| known.name == webhook.name)?.since);
        let served: Vec<_> = file.iter().filter_map(|webhook| Some((webhook.clone(), since(webhook)?))).collect();
        self.served.send_if_modified(|before| {
            // The receiver of a line that changes may be another now.
            let new = served.iter().filter(|webhook| !before.contains(webhook));
            new.for_each(|(webhook, _)| context.breaker(&webhook.name).end_failing());
            let is_new = *before != served;
            *before = served;
            is_new
        });
        Ok(())
    }

    fn is_for_a_webhook(&self, queue: &QueueName) -> bool {
        self.served.borrow().iter().any(|(webhook, _)| webhook.pattern.matches(queue))
    }

    async fn list(&mut self, stop: &CancellationToken) -> Result<(), Fault> {
        let names = self.context.queues.names().await?;
        let is_there = |queue: &QueueName| names.binary_search(queue).is_ok() && self.is_for_a_webhook(queue);
        let gone = self.context.tasks.lock().extract_if(|queue, _| !is_there(queue)).collect::<Vec<_>>();
        gone.iter().for_each(|(_, task)| task.stop.cancel());
        self.ignored.clear();
        self.add(names, stop);
        let tasks = self.context.tasks.lock();
        self.context.counts.retain(|queue| tasks.contains_key(queue));
        Ok(())
    }

    /// Each of these queues that a webhook is for gets a task.
    fn add(&mut self, names: Vec<QueueName>, stop: &CancellationToken) {
        let mut tasks = self.context.tasks.lock();
        for queue in names {
            if tasks.contains_key(&queue) || self.ignored.contains(&queue) {
                continue;
            }
            if !self.is_for_a_webhook(&queue) {
                self.ignored.insert(queue);
                continue;
            }
            let task = Arc::new(QueueTask {
                context: self.context.clone(),
                sender: self.sender.clone(),
                queue: queue.clone(),
                served: self.served.subscribe(),
                stop: stop.child_token(),
                has_events: Notify::new(),
                due: Mutex::default(),
                due_changed: Notify::new(),
            });
            self.running.spawn(task.clone().run());
            tasks.insert(queue, task);
        }
    }

    fn pass_on(&self, hint: &Hint) {
        match hint {
            Hint::Ready(queue, _) | Hint::Listening(queue) => {
                if let Some(task) = self.context.tasks.lock().get(queue) {
                    task.has_events.notify_one();
                }
            }
            // The queues are subscribed to again, and visited then.
            Hint::Disconnected => {}
            // The events of the call came with a number.
            Hint::Lines(..) => {}
        }
    }
}
