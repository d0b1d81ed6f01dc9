//! The queues that webhooks are for, each with a task on this instance.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use intray_webhook::Sender;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    context::{QueueTask, ServedWebhook, WebhookContext},
    file::Webhooks,
    line::Webhook,
    queue,
};
use crate::{
    job::QueueName,
    store::{Fault, Hint},
};

/// How often new queues are looked for among those in use here.
const TICK: Duration = Duration::from_millis(500);
const LIST_EVERY: Duration = Duration::from_secs(10);
/// How often other instances learn that this one serves its webhooks, and how often it learns which were stopped.
const LEARN_EVERY: Duration = Duration::from_secs(2);

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
                shutdown: stop.clone(),
                has_events: Notify::new(),
                due: Mutex::default(),
                due_changed: Notify::new(),
            });
            self.running.spawn(queue::serve(task.clone()));
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
