//! Keeps the connections usable, so that no call discovers a dead one.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use redis::Value;

use super::{Link, durable_connections::DurableConnections, error::is_broken};

/// How often idle and shared connections are tested.
const PING_EVERY: Duration = Duration::from_millis(500);
/// How often the library is offered again to a Redis that has refused it.
const TRY_LIBRARY_EVERY: Duration = Duration::from_secs(5);

impl Link {
    /// Runs for ever.
    pub(crate) async fn maintain(&self) {
        let Some(sentinels) = self.server.sentinels() else { return self.test_connections().await };
        let watch: BoxFuture<'_, _> = Box::pin(sentinels.watch());
        tokio::join!(watch, self.follow_primary(sentinels), self.test_connections());
    }

    /// Pings the connections again and again, and drops those that do not answer.
    async fn test_connections(&self) {
        let mut library_tried = Instant::now();
        loop {
            tokio::time::sleep(PING_EVERY).await;
            let idle = self.durable.as_ref().map(DurableConnections::idle).unwrap_or_default();
            let slots = self.shared.iter().chain(idle.iter().map(|slot| &***slot));
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
