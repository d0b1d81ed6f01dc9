//! The tasks of the watcher: listening to every sentinel, polling it, and waiting until the old primary has stepped down.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use redis::{PushInfo, PushKind, RedisError, Value};
use tokio::{sync::mpsc, time::MissedTickBehavior};

use super::{
    HostPort, Sentinels,
    query::{NamedPrimary, newest},
};

/// How often each sentinel is polled: a published event may be lost.
const POLL_EVERY: Duration = Duration::from_millis(250);
/// How often the old primary is asked whether it still claims to be one.
const FENCE_EVERY: Duration = Duration::from_millis(50);
/// A failover that was announced this long ago has failed.
const MAX_FAILOVER: Duration = Duration::from_secs(10);

const SWITCHED: &str = "+switch-master";
const STARTED: &str = "+try-failover";
const ABORTED: [&str; 3] =
    ["-failover-abort-not-elected", "-failover-abort-no-good-slave", "-failover-abort-slave-timeout"];

/// The latest answer of each sentinel.
type Answers = Mutex<Vec<Option<NamedPrimary>>>;

impl Sentinels {
    /// Runs for ever.
    pub(crate) async fn watch(&self) {
        let answers = Mutex::new(vec![None; self.clients.len()]);
        let listening = (0..self.clients.len()).map(|n| self.listen(n, &answers));
        let listening = futures_util::future::join_all(listening);
        tokio::join!(listening, self.fence_old_primary(), self.follow_offsets());
    }

    /// Reconnects for ever.
    async fn listen(&self, n: usize, answers: &Answers) {
        let mut was_reached = true;
        loop {
            let Err(error) = self.listen_once(n, answers, &mut was_reached).await else { continue };
            if was_reached {
                was_reached = false;
                tracing::warn!(sentinel = self.clients[n].0, %error, "a sentinel is lost");
            }
            self.record(answers, n, None);
            tokio::time::sleep(POLL_EVERY).await;
        }
    }

    async fn listen_once(&self, n: usize, answers: &Answers, was_reached: &mut bool) -> Result<(), RedisError> {
        let (sender, mut pushes) = mpsc::unbounded_channel();
        let (sentinel, client) = &self.clients[n];
        let mut connection =
            client.get_multiplexed_async_connection_with_config(&self.config().set_push_sender(sender)).await?;
        connection.subscribe(&[&[SWITCHED, STARTED], &ABORTED[..]].concat()).await?;
        if !*was_reached {
            *was_reached = true;
            tracing::info!(sentinel, "a sentinel is back");
        }
        let mut ticks = tokio::time::interval(POLL_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                push = pushes.recv() => match push {
                    Some(PushInfo { kind: PushKind::Message, data }) => self.handle_event(&data),
                    Some(PushInfo { kind: PushKind::Disconnection, .. }) | None => {
                        return Err(super::error("the connection is gone".to_owned()));
                    }
                    Some(_) => continue,
                },
                _ = ticks.tick() => {}
            }
            let answer = self.ask(&mut connection).await?;
            self.record(answers, n, answer);
        }
    }

    /// `+try-failover` carries `master NAME host port`. `+switch-master` needs no handling, because the caller asks the
    /// sentinel after each event.
    fn handle_event(&self, data: &[Value]) {
        let [Value::BulkString(channel), Value::BulkString(event)] = data else { return };
        let (channel, event) = (String::from_utf8_lossy(channel), String::from_utf8_lossy(event));
        if event.split(' ').nth(1) != Some(self.name()) {
            return;
        }
        if channel == STARTED {
            tracing::warn!(primary = self.name(), "a failover has begun: changes wait");
            let until = Instant::now() + MAX_FAILOVER;
            self.state.send_modify(|state| state.held = Some((until, "the primary moves")));
        } else if ABORTED.iter().any(|name| channel == *name) {
            self.state.send_modify(|state| state.held = None);
        }
    }

    fn record(&self, answers: &Answers, n: usize, answer: Option<NamedPrimary>) {
        let mut answers = answers.lock();
        answers[n] = answer;
        let Some(address) = newest(answers.iter().flatten()) else { return };
        let earlier = self.moves();
        self.move_to(address.clone());
        if earlier != 0 && self.moves() != earlier {
            intray_metrics::REDIS_FAILOVERS_TOTAL.of(&[]).inc();
            let redis = format!("{}:{}", address.0, address.1);
            tracing::warn!(primary = self.name(), redis, "the primary has moved");
        }
    }

    /// Holds changes back while the old primary claims to be one: an instance that has not heard of the failover could give
    /// out there what this one gives out at the new primary.
    async fn fence_old_primary(&self) {
        loop {
            let (held, previous) = {
                let state = self.state.borrow();
                (state.held, state.previous.clone())
            };
            let Some((until, why)) = held else {
                let mut state = self.state.subscribe();
                // The sender lives in `self`, so waiting cannot fail.
                let _ = state.wait_for(|state| state.held.is_some()).await;
                continue;
            };
            let is_late = Instant::now() >= until;
            let must_wait = match &previous {
                Some(address) if !is_late => self.claims_primary(address).await,
                Some(_) | None => previous.is_none() && !is_late,
            };
            if must_wait {
                tokio::time::sleep(FENCE_EVERY).await;
                continue;
            }
            if is_late {
                tracing::warn!(primary = self.name(), why, "changes have waited long enough");
            }
            self.state.send_if_modified(|state| {
                // Another failover may have started meanwhile.
                let is_same = state.held == held && state.previous == previous;
                if is_same {
                    (state.held, state.previous) = (None, None);
                }
                is_same
            });
        }
    }

    /// False for a server that cannot be reached.
    async fn claims_primary(&self, address: &HostPort) -> bool {
        let Ok(client) = self.info(address).and_then(redis::Client::open) else { return false };
        let Ok(mut connection) = client.get_multiplexed_async_connection_with_config(&self.config()).await else {
            return false;
        };
        is_primary(&redis::cmd("INFO").arg("replication").query_async(&mut connection).await)
    }
}

/// By the server's own `INFO`. `ROLE` returns the same, but is one more command that the user must be allowed to run.
pub(crate) fn is_primary(info: &Result<String, RedisError>) -> bool {
    info.as_ref().is_ok_and(|info| info.lines().any(|line| line.trim_end() == "role:master"))
}
