//! hints: one connection an instance that hears when jobs became ready. State is the truth: whoever hears a hint looks,
//! and after every subscription everybody looks, for what was said before it was not heard.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, ProtocolVersion, PushInfo, PushKind, RedisError, Value, aio::MultiplexedConnection,
};
use tokio::{
    sync::{Notify, mpsc},
    time::MissedTickBehavior,
};
use tokio_util::sync::CancellationToken;

use intray_redis::{Links, LogLimiter, RESPONSE_TIMEOUT, Server};

use crate::{
    job::QueueName,
    store::keys::{HINTS, KeyNames},
};

/// A connection that says nothing may be dead without a word: it is asked so often.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// Between tries to connect.
const PAUSE: Duration = Duration::from_millis(100);

/// What the listener says.
#[derive(Debug)]
pub enum Hint {
    /// Something happened in a queue, and so many jobs became ready.
    Ready(QueueName, u64),
    /// From now on hints of the queue are heard; what was said before may have been missed.
    Listening(QueueName),
    /// The connection is gone: nothing is heard until there is another.
    Disconnected,
}

/// The queues whose hints are wanted.
#[derive(Default)]
pub struct Wanted {
    /// Each as often as it is wanted.
    queues: Mutex<HashMap<QueueName, usize>>,
    changed: Notify,
}

impl Wanted {
    pub fn add(&self, queue: &QueueName) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        *queues.entry(queue.clone()).or_default() += 1;
        self.changed.notify_one();
    }

    pub fn remove(&self, queue: &QueueName) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(times) = queues.get_mut(queue) {
            *times -= 1;
            if *times == 0 {
                queues.remove(queue);
                self.changed.notify_one();
            }
        }
    }

    fn now(&self) -> HashSet<QueueName> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

/// Whether Redis lets us listen there and leave again; what is wrong beside that, others say.
pub(crate) async fn may_listen(server: &Server, channel: &str) -> bool {
    let config = config();
    let tried = async {
        let (client, _) = client(server).await?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        connection.subscribe(channel).await?;
        connection.unsubscribe(channel).await
    };
    tried.await.map_or_else(|e: RedisError| e.code() != Some("NOPERM"), |()| true)
}

/// To where a server is now, and the number of that place.
async fn client(server: &Server) -> Result<(Client, u64), RedisError> {
    let (info, version) = server.address().await?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Ok((Client::open(info.set_redis_settings(settings))?, version))
}

/// Where the hints come from. On a cluster it is all the same which node is listened at: each passes on what was published
/// at any other, whoever has the slot.
pub(crate) struct Source<'s> {
    pub(crate) links: &'s Links,
    pub(crate) keys: &'s KeyNames,
    pub(crate) log_limiter: &'s LogLimiter,
}

impl Source<'_> {
    /// Hears the hints of the wanted queues until it is stopped, whatever becomes of its connection.
    pub(crate) async fn listen(&self, wanted: &Wanted, hints: mpsc::UnboundedSender<Hint>, stop: CancellationToken) {
        let listening = async {
            loop {
                for server in self.links.pubsub_nodes() {
                    let mut heard = false;
                    if let Err(error) = self.listen_once(&server, wanted, &hints, &mut heard).await {
                        self.log_limiter.log(log_reconnect, "hints", error.to_string());
                    }
                    if heard {
                        let _ = hints.send(Hint::Disconnected);
                    }
                    tokio::time::sleep(PAUSE).await;
                    if heard {
                        break;
                    }
                }
            }
        };
        stop.run_until_cancelled(listening).await;
    }

    /// As long as one connection lives.
    async fn listen_once(
        &self,
        server: &Server,
        wanted: &Wanted,
        hints: &mpsc::UnboundedSender<Hint>,
        heard: &mut bool,
    ) -> Result<(), RedisError> {
        let (sender, mut pushes) = mpsc::unbounded_channel();
        let config = config().set_push_sender(sender);
        let (client, version) = client(server).await?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        *heard = true;
        let mut subscription = Subscription { keys: self.keys, heard: HashMap::new() };
        let mut tries = tokio::time::interval(TRY_EVERY);
        tries.set_missed_tick_behavior(MissedTickBehavior::Delay);
        wanted.changed.notify_one(); // nothing is subscribed to yet
        loop {
            tokio::select! {
                push = pushes.recv() => match push {
                    Some(PushInfo { kind: PushKind::Message, data }) => subscription.receive(&data, hints),
                    Some(PushInfo { kind: PushKind::Disconnection, .. }) | None => return Ok(()),
                    Some(_) => {}
                },
                () = wanted.changed.notified() => subscription.follow(&mut connection, wanted.now(), hints).await?,
                () = server.moved_since(version) => return Ok(()),
                _ = tries.tick() => {
                    redis::cmd("PING").query_async::<()>(&mut connection).await?;
                    if !self.links.is_pubsub_node(server) {
                        return Ok(());
                    }
                }
            }
        }
    }
}

fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(RESPONSE_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
}

fn log_reconnect(what: &'static str, error: &str, times: u64) {
    tracing::debug!(what, error, times, "the listener connects again");
}

/// What one connection is subscribed to.
struct Subscription<'k> {
    keys: &'k KeyNames,
    heard: HashMap<String, QueueName>,
}

impl Subscription<'_> {
    fn receive(&self, data: &[Value], hints: &mpsc::UnboundedSender<Hint>) {
        let [Value::BulkString(channel), Value::BulkString(ready)] = data else { return };
        let queue = std::str::from_utf8(channel).ok().and_then(|channel| self.heard.get(channel));
        let ready = std::str::from_utf8(ready).ok().and_then(|ready| ready.parse().ok());
        if let (Some(queue), Some(ready)) = (queue, ready) {
            let _ = hints.send(Hint::Ready(queue.clone(), ready));
        }
    }

    async fn follow(
        &mut self,
        connection: &mut MultiplexedConnection,
        wanted: HashSet<QueueName>,
        hints: &mpsc::UnboundedSender<Hint>,
    ) -> Result<(), RedisError> {
        let gone: Vec<String> =
            self.heard.iter().filter(|(_, queue)| !wanted.contains(queue)).map(|(name, _)| name.clone()).collect();
        let channel = |queue: QueueName| (self.keys.of(&queue, HINTS), queue);
        let new: Vec<_> =
            wanted.into_iter().map(channel).filter(|(channel, _)| !self.heard.contains_key(channel)).collect();
        if !gone.is_empty() {
            connection.unsubscribe(&gone).await?;
            self.heard.retain(|channel, _| !gone.contains(channel));
        }
        if !new.is_empty() {
            let channels: Vec<_> = new.iter().map(|(channel, _)| channel.as_str()).collect();
            connection.subscribe(&channels).await?;
            for (channel, queue) in new {
                self.heard.insert(channel, queue.clone());
                let _ = hints.send(Hint::Listening(queue));
            }
        }
        Ok(())
    }
}
