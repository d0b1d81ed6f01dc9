//! Keeps the connections usable, so that no call discovers a dead one.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use redis::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Link,
    durable_connections::{DurableConnection, DurableConnections},
    error::is_broken,
};

/// How often idle and shared connections are tested.
const PING_EVERY: Duration = Duration::from_millis(500);
/// How often the library is offered again to a Redis that has refused it.
const TRY_LIBRARY_EVERY: Duration = Duration::from_secs(5);

impl Link {
    /// Runs until `stop`.
    pub(crate) async fn maintain(&self, stop: CancellationToken) {
        let Some(sentinels) = self.pool.sentinels() else { return self.test_connections(stop).await };
        let follow = stop.run_until_cancelled(self.follow_primary(sentinels));
        let watch: BoxFuture<'_, _> = Box::pin(sentinels.watch(stop.clone()));
        tokio::join!(watch, follow, self.test_connections(stop.clone()));
    }

    /// Pings the connections again and again, and drops those that do not answer.
    async fn test_connections(&self, stop: CancellationToken) {
        let mut library_tried = Instant::now();
        while stop.run_until_cancelled(tokio::time::sleep(PING_EVERY)).await.is_some() {
            let idle = self.durable.as_ref().map(DurableConnections::idle).unwrap_or_default();
            let slots = self.shared.iter().chain(idle.iter().map(DurableConnection::slot));
            let tests = slots.map(|slot| async move {
                let Some((number, mut connection, _)) = slot.current() else { return };
                let pong: Result<Value, _> = redis::cmd("PING").query_async(&mut connection).await;
                match pong {
                    Ok(_) => self.mark_found(),
                    Err(e) if is_broken(&e) => {
                        self.mark_lost(&e);
                        self.drop_connection(slot, number).await;
                    }
                    Err(_) => {}
                }
            });
            futures_util::future::join_all(tests).await;
            if !self.mode.is_library() && library_tried.elapsed() >= TRY_LIBRARY_EVERY {
                library_tried = Instant::now();
                self.try_library().await;
            }
        }
    }
}
