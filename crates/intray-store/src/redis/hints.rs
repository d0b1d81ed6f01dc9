//! Hints: one connection per instance, which learns by pub/sub when jobs become ready. A hint is only a reason to read the
//! queue; after every subscription it is read too, because earlier hints were missed.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use parking_lot::Mutex;
use redis::{
    AsyncConnectionConfig, Client, ProtocolVersion, PushInfo, PushKind, RedisError, Value, aio::MultiplexedConnection,
};
use tokio::{
    sync::{Notify, mpsc},
    time::MissedTickBehavior,
};
use tokio_util::sync::CancellationToken;

use intray_redis::{Link, Links, LogLimiter, Server, Timeouts};

use super::gate_mark::{GateMark, OpenedGates};
use crate::{
    job::{Line, QueueName},
    keys::{HINTS, KeyNames},
    record_fields::event_fields::GATE,
};

/// How often the connection is tested: a dead one looks like one without hints.
const PING_EVERY: Duration = Duration::from_secs(1);
/// The pause before the next try to connect.
const RECONNECT_AFTER: Duration = Duration::from_millis(100);

/// An event of the listener.
#[derive(Debug)]
pub enum Hint {
    /// Something happened in a queue, and this number of jobs became ready.
    Ready(QueueName, u64),
    /// In each of these lines that number of jobs became ready, and these gates got room, which jobs in lines may need.
    Lines(QueueName, Vec<(Line, u64)>, OpenedGates),
    /// The queue is subscribed to from now on; earlier hints may have been missed.
    Listening(QueueName),
    /// The connection is lost: no hints arrive until there is another.
    Disconnected,
}

/// The queues whose hints are wanted, with the number of callers that want them.
#[derive(Default)]
pub struct Wanted {
    queues: Mutex<HashMap<QueueName, usize>>,
    changed: Notify,
}

impl Wanted {
    pub fn add(&self, queue: &QueueName) {
        let mut queues = self.queues.lock();
        *queues.entry(queue.clone()).or_default() += 1;
        self.changed.notify_one();
    }

    pub fn remove(&self, queue: &QueueName) {
        let mut queues = self.queues.lock();
        if let Some(times) = queues.get_mut(queue) {
            *times -= 1;
            if *times == 0 {
                queues.remove(queue);
                self.changed.notify_one();
            }
        }
    }

    fn now(&self) -> HashSet<QueueName> {
        self.queues.lock().keys().cloned().collect()
    }
}

/// Whether the user may subscribe and unsubscribe. Other errors count as yes; other checks report them.
pub(crate) async fn may_listen(link: &Link, channel: &str) -> bool {
    let config = config(link.timeouts());
    let tried = async {
        let (client, _) = client(link.server()).await?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        connection.subscribe(channel).await?;
        connection.unsubscribe(channel).await
    };
    tried.await.map_or_else(|e: RedisError| e.code() != Some("NOPERM"), |()| true)
}

/// A client for the server's current address, and the address's version.
async fn client(server: &Server) -> Result<(Client, u64), RedisError> {
    let (info, version) = server.address().await?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Ok((Client::open(info.set_redis_settings(settings))?, version))
}

/// The source of hints. In a cluster any node will do: messages are passed on to all nodes.
pub(crate) struct HintSource<'s> {
    pub(crate) links: &'s Links,
    pub(crate) keys: &'s KeyNames,
    pub(crate) log_limiter: &'s LogLimiter,
}

impl HintSource<'_> {
    /// Receives the hints of the wanted queues until `stop`, and reconnects as often as necessary.
    pub(crate) async fn listen(&self, wanted: &Wanted, hints: mpsc::UnboundedSender<Hint>, stop: CancellationToken) {
        let listening = async {
            loop {
                for server in self.links.pubsub_nodes() {
                    let mut was_connected = false;
                    if let Err(error) = self.listen_once(&server, wanted, &hints, &mut was_connected).await {
                        self.log_limiter.log(log_reconnect, "hints", error.to_string());
                    }
                    if was_connected {
                        let _ = hints.send(Hint::Disconnected);
                    }
                    tokio::time::sleep(RECONNECT_AFTER).await;
                    if was_connected {
                        break;
                    }
                }
            }
        };
        stop.run_until_cancelled(listening).await;
    }

    /// Returns when the connection ends.
    async fn listen_once(
        &self,
        server: &Server,
        wanted: &Wanted,
        hints: &mpsc::UnboundedSender<Hint>,
        was_connected: &mut bool,
    ) -> Result<(), RedisError> {
        let (sender, mut pushes) = mpsc::unbounded_channel();
        let config = config(self.links.timeouts()).set_push_sender(sender);
        let (client, version) = client(server).await?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        *was_connected = true;
        let mut subscription = Subscription { keys: self.keys, channels: HashMap::new() };
        let mut tries = tokio::time::interval(PING_EVERY);
        tries.set_missed_tick_behavior(MissedTickBehavior::Delay);
        wanted.changed.notify_one(); // the new connection has no subscription yet
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

fn config(timeouts: Timeouts) -> AsyncConnectionConfig {
    let limit = Some(timeouts.response());
    AsyncConnectionConfig::new().set_connection_timeout(limit).set_response_timeout(limit)
}

fn log_reconnect(what: &'static str, error: &str, times: u64) {
    tracing::debug!(what, error, times, "the listener connects again");
}

/// The channels that one connection is subscribed to, and their queues.
struct Subscription<'k> {
    keys: &'k KeyNames,
    channels: HashMap<String, QueueName>,
}

impl Subscription<'_> {
    fn receive(&self, data: &[Value], hints: &mpsc::UnboundedSender<Hint>) {
        let [Value::BulkString(channel), Value::BulkString(message)] = data else { return };
        let queue = std::str::from_utf8(channel).ok().and_then(|channel| self.channels.get(channel));
        let message = std::str::from_utf8(message).ok();
        if let Some(hint) = queue.zip(message).and_then(|(queue, message)| hint_of(queue, message)) {
            let _ = hints.send(hint);
        }
    }

    async fn follow(
        &mut self,
        connection: &mut MultiplexedConnection,
        wanted: HashSet<QueueName>,
        hints: &mpsc::UnboundedSender<Hint>,
    ) -> Result<(), RedisError> {
        let gone: Vec<String> =
            self.channels.iter().filter(|(_, queue)| !wanted.contains(queue)).map(|(name, _)| name.clone()).collect();
        let channel = |queue: QueueName| (self.keys.of(&queue, HINTS), queue);
        let new: Vec<_> =
            wanted.into_iter().map(channel).filter(|(channel, _)| !self.channels.contains_key(channel)).collect();
        if !gone.is_empty() {
            connection.unsubscribe(&gone).await?;
            self.channels.retain(|channel, _| !gone.contains(channel));
        }
        if !new.is_empty() {
            let channels: Vec<_> = new.iter().map(|(channel, _)| channel.as_str()).collect();
            connection.subscribe(&channels).await?;
            for (channel, queue) in new {
                self.channels.insert(channel, queue.clone());
                let _ = hints.send(Hint::Listening(queue));
            }
        }
        Ok(())
    }
}

/// Reads a message of `lua/base/hint.lua`: a number, or entries of lines, of which broken ones are dropped.
fn hint_of(queue: &QueueName, message: &str) -> Option<Hint> {
    if let Ok(ready) = message.parse() {
        return Some(Hint::Ready(queue.clone(), ready));
    }
    let (mut lines, mut gates) = (Vec::new(), OpenedGates::default());
    for row in message.split('\n') {
        match row.split_once(' ') {
            None => gates.any |= row == GATE,
            Some((GATE, mark)) => gates.marks.extend(GateMark::parse(mark)),
            Some((n, line)) => lines.extend(Line::parse(line).ok().zip(n.parse().ok())),
        }
    }
    (!gates.is_empty() || !lines.is_empty()).then(|| Hint::Lines(queue.clone(), lines, gates))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str) -> Option<String> {
        let hint = hint_of(&QueueName::default(), message)?;
        Some(match hint {
            Hint::Ready(_, n) => n.to_string(),
            Hint::Lines(_, lines, OpenedGates { any, marks }) => {
                let lines: Vec<_> = lines.iter().map(|(line, n)| format!("{line}={n}")).collect();
                format!("{}{}{}", lines.join(","), if any { ",gate" } else { "" }, ",mark".repeat(marks.len()))
            }
            Hint::Listening(_) | Hint::Disconnected => unreachable!("{message}"),
        })
    }

    #[test]
    fn message_is_a_number_or_entries_of_lines() {
        let rows = [
            ("0", "0"),
            ("17", "17"),
            ("1 @bob", "@bob=1"),
            ("2 @Bob B. Smith\n3 +C1 German", "@Bob B. Smith=2,+C1 German=3"),
            ("gate", ",gate"),
            ("2 +de\ngate", "+de=2,gate"),
            ("gate 0123abcd\n2 +de\ngate 0123abce\ngate 0123abcd", "+de=2,mark,mark"),
        ];
        for (message, read_as) in rows {
            assert_eq!(read(message).as_deref(), Some(read_as), "{message:?}");
        }
    }

    #[test]
    fn broken_entries_are_dropped_and_others_kept() {
        let broken =
            ["", "-1", "gates", "@bob 1", "1 bob", "1  @bob", "x @bob", "-1 @bob", "1 @", "1 + de", "1@bob", "gate x"];
        for entry in broken {
            assert_eq!(read(entry), None, "{entry:?}");
            assert_eq!(read(&format!("{entry}\n1 @bob\n{entry}")).as_deref(), Some("@bob=1"), "{entry:?}");
        }
    }
}
