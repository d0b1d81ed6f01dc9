//! Keeps the connections usable, so that no call discovers a dead one.

use std::time::{Duration, Instant};

use deadpool_redis::Connection;
use futures_util::future::BoxFuture;
use redis::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Link,
    durable_connections::{DurableConnection, DurableConnections},
    error::{is_broken, to_fault},
};
use crate::fault::Fault;

/// How often idle and shared connections are tested.
const PING_EVERY: Duration = Duration::from_millis(500);
/// How often the library is offered again to a Redis that has refused it.
const TRY_LIBRARY_EVERY: Duration = Duration::from_secs(5);

impl Link {
    /// Sends a plain command over a connection that the pool has just tested and that no call shares, so that a health check
    /// does not wait behind calls.
    ///
    /// # Errors
    /// If Redis does not answer or refuses.
    pub async fn checked(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        let mut connection = self.connect().await?;
        let answer = command.query_async(&mut *connection).await;
        if answer.as_ref().is_err_and(is_broken) {
            drop(Connection::take(connection));
        }
        answer.map_err(|e| to_fault(&e))
    }

    /// Whether the user has the right to run a command. Errors other than a missing right count as yes.
    ///
    /// # Errors
    /// If Redis cannot be asked.
    pub async fn may(&self, command: &redis::Cmd) -> Result<bool, Fault> {
        let (_, mut connection, _) = self.open(&self.shared[0]).await?;
        match command.query_async::<Value>(&mut connection).await {
            Err(e) if e.code() == Some("NOPERM") => Ok(false),
            Err(e) if e.code().is_none() || e.code() == Some("NOAUTH") => Err(to_fault(&e)),
            Ok(_) | Err(_) => Ok(true),
        }
    }

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
