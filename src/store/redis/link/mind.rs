//! What looks after the connections, so that no caller finds out that one is dead.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use redis::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Link,
    faults::is_broken,
    lines::{Line, Lines},
};

/// How often the shared connections are tried.
const TRY_EVERY: Duration = Duration::from_millis(500);
/// How often a Redis that has refused the library is asked again.
const TRY_LIBRARY_EVERY: Duration = Duration::from_secs(5);

impl Link {
    /// Looks after the connections until it is stopped.
    pub(crate) async fn mind(&self, stop: CancellationToken) {
        let Some(sentinels) = self.home.sentinels() else { return self.try_all(stop).await };
        let follow = stop.run_until_cancelled(self.follow(sentinels));
        let watch: BoxFuture<'_, _> = Box::pin(sentinels.run(stop.clone()));
        tokio::join!(watch, follow, self.try_all(stop.clone()));
    }

    /// Tries the connections again and again, and drops those that do not answer.
    async fn try_all(&self, stop: CancellationToken) {
        let mut library_tried = Instant::now();
        while stop.run_until_cancelled(tokio::time::sleep(TRY_EVERY)).await.is_some() {
            let idle = self.lines.as_ref().map(Lines::idle).unwrap_or_default();
            let tries = self.slots.iter().chain(idle.iter().map(Line::slot)).map(|slot| async move {
                let Some((number, mut connection, _)) = slot.read() else { return };
                let pong: Result<Value, _> = redis::cmd("PING").query_async(&mut connection).await;
                match pong {
                    Ok(_) => self.found(),
                    Err(e) if is_broken(&e) => {
                        self.lose(&e);
                        self.replace(slot, number).await;
                    }
                    Err(_) => {}
                }
            });
            futures_util::future::join_all(tries).await;
            if !self.form.is_library() && library_tried.elapsed() >= TRY_LIBRARY_EVERY {
                library_tried = Instant::now();
                self.try_library().await;
            }
        }
    }
}
