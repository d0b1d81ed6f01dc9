//! What goes on as long as the service runs: listening to every sentinel, asking it, seeing off the primary of before.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use redis::{PushInfo, PushKind, RedisError, Value};
use tokio::{sync::mpsc, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::{
    Place, Sentinels,
    ask::{Answer, config, newest},
};

/// How often each sentinel is asked: what it was to say may not have come.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// How often one looks whether changes need not wait any more.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A failover that has begun takes no longer, or is none.
const FAILOVER: Duration = Duration::from_secs(10);

const MOVED: &str = "+switch-master";
const BEGUN: &str = "+try-failover";
const GIVEN_UP: [&str; 3] =
    ["-failover-abort-not-elected", "-failover-abort-no-good-slave", "-failover-abort-slave-timeout"];

type Answers = Mutex<Vec<Option<Answer>>>;

impl Sentinels {
    /// Until it is stopped.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        let answers = Mutex::new(vec![None; self.clients.len()]);
        let listening = (0..self.clients.len()).map(|n| self.listen(n, &answers));
        let all =
            async { tokio::join!(futures_util::future::join_all(listening), self.see_off(), self.follow_offsets()) };
        stop.run_until_cancelled(all).await;
    }

    /// Whatever becomes of the connection.
    async fn listen(&self, n: usize, answers: &Answers) {
        let mut was_reached = true;
        loop {
            let Err(error) = self.listen_once(n, answers, &mut was_reached).await else { continue };
            if was_reached {
                was_reached = false;
                tracing::warn!(sentinel = self.clients[n].0, %error, "a sentinel is lost");
            }
            self.note(answers, n, None);
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    async fn listen_once(&self, n: usize, answers: &Answers, was_reached: &mut bool) -> Result<(), RedisError> {
        let (sender, mut pushes) = mpsc::unbounded_channel();
        let (place, client) = &self.clients[n];
        let mut connection =
            client.get_multiplexed_async_connection_with_config(&config().set_push_sender(sender)).await?;
        connection.subscribe(&[&[MOVED, BEGUN], &GIVEN_UP[..]].concat()).await?;
        if !*was_reached {
            *was_reached = true;
            tracing::info!(sentinel = place, "a sentinel is back");
        }
        let mut ticks = tokio::time::interval(ASK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                push = pushes.recv() => match push {
                    Some(PushInfo { kind: PushKind::Message, data }) => self.hear(&data),
                    Some(PushInfo { kind: PushKind::Disconnection, .. }) | None => {
                        return Err(super::error("the connection is gone".to_owned()));
                    }
                    Some(_) => continue,
                },
                _ = ticks.tick() => {}
            }
            let answer = self.ask(&mut connection).await?;
            self.note(answers, n, answer);
        }
    }

    /// `+try-failover`: `master NAME host port`; `+switch-master`: `NAME host port host port`, after which it is asked.
    fn hear(&self, data: &[Value]) {
        let [Value::BulkString(channel), Value::BulkString(said)] = data else { return };
        let (channel, said) = (String::from_utf8_lossy(channel), String::from_utf8_lossy(said));
        if said.split(' ').nth(1) != Some(self.name()) {
            return;
        }
        if channel == BEGUN {
            tracing::warn!(primary = self.name(), "a failover has begun: changes wait");
            self.now.send_modify(|now| now.held = Some((Instant::now() + FAILOVER, "the primary moves")));
        } else if GIVEN_UP.iter().any(|word| channel == *word) {
            self.now.send_modify(|now| now.held = None);
        }
    }

    fn note(&self, answers: &Answers, n: usize, answer: Option<Answer>) {
        let mut answers = answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        answers[n] = answer;
        let Some(place) = newest(answers.iter().flatten()) else { return };
        let before = self.number();
        self.move_to(place.clone());
        if before != 0 && self.number() != before {
            metrics::counter!("intray_redis_failovers_total").increment(1);
            tracing::warn!(primary = self.name(), redis = format!("{}:{}", place.0, place.1), "the primary has moved");
        }
    }

    /// Changes wait as long as the primary of before claims to be one, lest somebody who has not heard of the move gives out
    /// there what is given out here.
    async fn see_off(&self) {
        loop {
            let (held, before) = {
                let now = self.now.borrow();
                (now.held, now.before.clone())
            };
            let Some((until, why)) = held else {
                let mut now = self.now.subscribe();
                // It ends with its sender, which is here.
                let _ = now.wait_for(|now| now.held.is_some()).await;
                continue;
            };
            let is_over = Instant::now() >= until;
            let claims = match &before {
                Some(place) if !is_over => self.claims(place).await,
                Some(_) | None => before.is_none() && !is_over,
            };
            if claims {
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            }
            if is_over {
                tracing::warn!(primary = self.name(), why, "changes have waited long enough");
            }
            self.now.send_if_modified(|now| {
                // Another move may have begun meanwhile.
                let is_same = now.held == held && now.before == before;
                if is_same {
                    (now.held, now.before) = (None, None);
                }
                is_same
            });
        }
    }

    /// One that is not reached claims nothing.
    async fn claims(&self, place: &Place) -> bool {
        let Ok(client) = self.info(place).and_then(redis::Client::open) else { return false };
        let Ok(mut connection) = client.get_multiplexed_async_connection_with_config(&config()).await else {
            return false;
        };
        is_primary(&redis::cmd("INFO").arg("replication").query_async(&mut connection).await)
    }
}

/// By what a server says of itself. `ROLE` says the same, and is a right more.
pub(crate) fn is_primary(info: &Result<String, RedisError>) -> bool {
    info.as_ref().is_ok_and(|info| info.lines().any(|line| line.trim_end() == "role:master"))
}
