//! The rounds of this instance over the queues that webhooks are for, and its couriers.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use intray_webhook::Sender;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{courier::Courier, file::Webhooks, line::Webhook, reader::QueueReader, shared::Shared};
use crate::{
    job::{Name, QueueName},
    store::{Fault, Hint, KnownWebhook, Wanted},
};

/// How often due visits are looked for.
const TICK: Duration = Duration::from_millis(500);
/// Queues whose hints are subscribed to; the others are visited at their next check.
const MAX_HEARD: usize = 1_000;
/// Visits at the same time.
const MAX_VISITS: usize = 16;
const LIST_EVERY: Duration = Duration::from_secs(10);
/// How often other instances learn that this one serves its webhooks, and how often it learns which were stopped.
const LEARN_EVERY: Duration = Duration::from_secs(2);
/// The pause of a queue whose visit failed.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(super) struct Dispatch {
    shared: Arc<Shared>,
    sender: Sender,
    file: watch::Receiver<Webhooks>,
    /// Grows with each change of the file.
    version: u64,
    /// The webhooks of the file that are known to Redis.
    webhooks: Vec<(Arc<Webhook>, KnownWebhook)>,
    couriers: HashMap<Name, (watch::Sender<Arc<Webhook>>, CancellationToken)>,
    tasks: TaskTracker,
    queues: HashMap<QueueName, QueueVisits>,
    /// To be visited now, in the order in which their news came.
    due: VecDeque<QueueName>,
    /// Queues that no webhook is for, as they were last listed.
    ignored: HashSet<QueueName>,
    visits: JoinSet<(QueueReader, Result<(), Fault>)>,
    heard: HashSet<QueueName>,
    learned: Option<Instant>,
    listed: Option<Instant>,
}

/// A queue that a webhook is for.
struct QueueVisits {
    /// `None` during a visit.
    reader: Option<QueueReader>,
    /// It is to be visited, now or at the end of a visit.
    is_due: bool,
    not_before: Option<Instant>,
}

impl Dispatch {
    pub(super) fn new(shared: Arc<Shared>, sender: Sender, file: watch::Receiver<Webhooks>) -> Self {
        Self {
            shared,
            sender,
            file,
            version: 0,
            webhooks: Vec::new(),
            couriers: HashMap::new(),
            tasks: TaskTracker::new(),
            queues: HashMap::new(),
            due: VecDeque::new(),
            ignored: HashSet::new(),
            visits: JoinSet::new(),
            heard: HashSet::new(),
            learned: None,
            listed: None,
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        let (wanted, (sender, mut hints)) = (Wanted::default(), mpsc::unbounded_channel());
        let queues = self.shared.queues.clone();
        let listening = queues.listen(&wanted, sender, stop.clone());
        let rounds = async {
            let mut ticks = tokio::time::interval(TICK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => break,
                    _ = ticks.tick() => self.tick(&wanted, &stop).await,
                    // A change of the file counts at once.
                    Ok(()) = self.file.changed() => self.tick_after_change(&wanted, &stop).await,
                    Some(hint) = hints.recv() => self.hear(hint),
                    Some(done) = self.visits.join_next(), if !self.visits.is_empty() => self.end_visit(done.ok(), &wanted),
                }
                self.begin_visits();
            }
            self.visits.abort_all();
            self.tasks.close();
            self.tasks.wait().await;
        };
        tokio::join!(listening, rounds);
    }

    async fn tick_after_change(&mut self, wanted: &Wanted, stop: &CancellationToken) {
        (self.version, self.learned, self.listed) = (self.version + 1, None, None);
        self.tick(wanted, stop).await;
    }

    async fn tick(&mut self, wanted: &Wanted, stop: &CancellationToken) {
        let is_due = |last: Option<Instant>, every| last.is_none_or(|last| last.elapsed() >= every);
        // While Redis is away, the next tick tries again.
        if is_due(self.learned, LEARN_EVERY) && self.learn(stop).await.is_err() {
            return;
        }
        if is_due(self.listed, LIST_EVERY) && self.list(wanted).await.is_ok() {
            self.listed = Some(Instant::now());
        }
        let in_use = self.shared.queues.in_use();
        self.add(in_use, wanted);
        self.mark_overdue();
    }

    /// Names the webhooks of the file, and learns how they stand.
    async fn learn(&mut self, stop: &CancellationToken) -> Result<(), Fault> {
        let file = self.file.borrow().clone();
        let known = self.shared.queues.name_webhooks(file.iter().map(|webhook| webhook.named())).await?;
        self.learned = Some(Instant::now());
        self.shared.learn(&known);
        let of = |webhook: &Arc<Webhook>| {
            let known = known.iter().find(|known| known.name == webhook.name)?.clone();
            Some((webhook.clone(), known))
        };
        self.webhooks = file.iter().filter_map(of).collect();
        self.staff(&file, stop);
        Ok(())
    }

    /// A courier for each webhook of the file, and none for others.
    fn staff(&mut self, file: &Webhooks, stop: &CancellationToken) {
        self.couriers.retain(|name, (_, leaving)| {
            let stays = file.iter().any(|webhook| webhook.name == *name);
            if !stays {
                leaving.cancel();
            }
            stays
        });
        for webhook in file.iter() {
            if let Some((current, _)) = self.couriers.get(&webhook.name) {
                current.send_if_modified(|before| {
                    let is_new = before != webhook;
                    *before = webhook.clone();
                    is_new
                });
                continue;
            }
            let (current, webhook_of) = watch::channel(webhook.clone());
            let leaving = stop.child_token();
            self.tasks.spawn(Courier::new(self.shared.clone(), self.sender.clone(), webhook_of).run(leaving.clone()));
            self.couriers.insert(webhook.name.clone(), (current, leaving));
        }
    }

    fn is_for_a_webhook(&self, queue: &QueueName) -> bool {
        self.webhooks.iter().any(|(webhook, _)| webhook.pattern.matches(queue))
    }

    async fn list(&mut self, wanted: &Wanted) -> Result<(), Fault> {
        let names = self.shared.queues.names().await?;
        let is_there = |queue: &QueueName| names.binary_search(queue).is_ok() && self.is_for_a_webhook(queue);
        let gone: Vec<_> = self.queues.keys().filter(|queue| !is_there(queue)).cloned().collect();
        for queue in gone {
            self.queues.remove(&queue);
            self.listen_to(&queue, false, wanted);
        }
        self.ignored.clear();
        self.add(names, wanted);
        self.shared.counts.retain(|queue| self.queues.contains_key(queue));
        Ok(())
    }

    fn add(&mut self, names: Vec<QueueName>, wanted: &Wanted) {
        for queue in names {
            if self.queues.contains_key(&queue) || self.ignored.contains(&queue) {
                continue;
            }
            if !self.is_for_a_webhook(&queue) {
                self.ignored.insert(queue);
                continue;
            }
            self.listen_to(&queue, true, wanted);
            let reader = Some(QueueReader::new(queue.clone()));
            self.queues.insert(queue.clone(), QueueVisits { reader, is_due: false, not_before: None });
            self.mark_due(&queue);
        }
    }

    /// Listens to the hints of a queue, or no longer.
    fn listen_to(&mut self, queue: &QueueName, is_wanted: bool, wanted: &Wanted) {
        if !is_wanted && self.heard.remove(queue) {
            wanted.remove(queue);
        } else if is_wanted && self.heard.len() < MAX_HEARD && self.heard.insert(queue.clone()) {
            wanted.add(queue);
        }
    }

    fn hear(&mut self, hint: Hint) {
        match hint {
            Hint::Ready(queue, _) | Hint::Listening(queue) => {
                self.mark_due(&queue);
            }
            // The queues are subscribed to again, and visited then.
            Hint::Disconnected => {}
            // The events of the call came with a number.
            Hint::Lines(..) => {}
        }
    }

    fn mark_due(&mut self, queue: &QueueName) {
        let Some(visits) = self.queues.get_mut(queue).filter(|visits| !visits.is_due) else { return };
        visits.is_due = true;
        if visits.reader.is_some() && visits.not_before.is_none() {
            self.due.push_back(queue.clone());
        }
    }

    /// Queues that were not checked for a while, and those whose pause is over.
    fn mark_overdue(&mut self) {
        let (now, version) = (Instant::now(), self.version);
        for (queue, visits) in &mut self.queues {
            let Some(reader) = &visits.reader else { continue };
            let was_paused = visits.not_before.take_if(|at| *at <= now).is_some();
            if visits.not_before.is_none() && (was_paused || !visits.is_due && reader.is_due(version)) {
                visits.is_due = true;
                self.due.push_back(queue.clone());
            }
        }
    }

    fn begin_visits(&mut self) {
        while self.visits.len() < MAX_VISITS
            && let Some(queue) = self.due.pop_front()
        {
            let Some(visits) = self.queues.get_mut(&queue) else { continue };
            let Some(mut reader) = visits.reader.take() else { continue };
            visits.is_due = false;
            let is_for_it = |(webhook, _): &&(Arc<Webhook>, KnownWebhook)| webhook.pattern.matches(&queue);
            let webhooks: Vec<_> = self.webhooks.iter().filter(is_for_it).cloned().collect();
            let (shared, version) = (self.shared.clone(), self.version);
            self.visits.spawn(async move {
                let outcome = reader.visit(&shared, &webhooks, version).await;
                (reader, outcome)
            });
        }
    }

    fn end_visit(&mut self, done: Option<(QueueReader, Result<(), Fault>)>, wanted: &Wanted) {
        let Some((reader, outcome)) = done else { return };
        let Some(visits) = self.queues.get_mut(&reader.queue) else { return };
        let (has_room, queue) = (reader.has_room(), reader.queue.clone());
        visits.reader = Some(reader);
        if outcome.is_err() {
            (visits.is_due, visits.not_before) = (true, Some(Instant::now() + RETRY_AFTER));
        } else if visits.is_due {
            // There was news during the visit.
            self.due.push_back(queue.clone());
        }
        self.listen_to(&queue, has_room, wanted);
    }
}
