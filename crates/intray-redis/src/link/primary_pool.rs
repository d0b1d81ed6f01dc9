//! The pool of connections to the current address of the server; after a move of the primary or a change of the login it is
//! replaced by another.

use deadpool_redis::{Connection, Manager, Pool, Runtime};
use parking_lot::Mutex;
use redis::{AsyncConnectionConfig, ConnectionInfo, ErrorKind, RedisError};

use super::Link;
use crate::{
    fault::Fault,
    sentinel::{Sentinels, is_primary},
    timeouts::Timeouts,
};

/// The pool, and the version of the address that it leads to.
pub(super) type CurrentPool = Mutex<Option<(u64, Pool)>>;

impl Link {
    pub(super) async fn current_pool(&self) -> Result<Pool, RedisError> {
        let (info, version) = self.server.address().await?;
        let mut kept = self.pool.lock();
        if let Some((_, pool)) = kept.as_ref().filter(|(of, _)| *of == version) {
            return Ok(pool.clone());
        }
        let pool = pool(info, self.max_connections, self.timeouts)?;
        *kept = Some((version, pool.clone()));
        Ok(pool)
    }

    /// The number of open connections, and their maximum.
    pub(crate) fn connections(&self) -> (usize, usize) {
        let kept = self.pool.lock();
        (kept.as_ref().map_or(0, |(_, pool)| pool.status().size), self.max_connections)
    }

    /// Refuses a replica: during a failover sentinels may name a server before it is promoted or after it is demoted.
    pub(super) async fn expect_primary(&self, mut connection: Connection) -> Result<Connection, Fault> {
        if self.server.sentinels().is_none() {
            return Ok(connection);
        }
        let info = redis::cmd("INFO").arg("replication").query_async(&mut connection).await;
        // Any other error shows in the caller's own command.
        if info.is_err() || is_primary(&info) {
            return Ok(connection);
        }
        drop(Connection::take(connection));
        Err(self.mark_lost(&"the server that the sentinels name is a replica"))
    }

    /// Closes all connections as soon as the primary has moved.
    pub(super) async fn follow_primary(&self, sentinels: &Sentinels) {
        let mut moves = sentinels.moves();
        loop {
            sentinels.moved_since(moves).await;
            moves = sentinels.moves();
            let durable = self.durable.iter().flat_map(|connections| &connections.slots);
            for slot in self.shared.iter().chain(durable.map(|slot| &**slot)) {
                slot.close().await;
            }
        }
    }

    /// What the primary lacks of the previous one's changes; `None` for a server that has no sentinels.
    pub(crate) fn replication_gap(&self) -> Option<Option<String>> {
        self.server.sentinels().map(Sentinels::replication_gap)
    }
}

fn pool(info: ConnectionInfo, size: usize, timeouts: Timeouts) -> Result<Pool, RedisError> {
    let connect = Some(timeouts.connect());
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(connect).set_response_timeout(Some(timeouts.response()));
    Pool::builder(Manager::new_with_config(info, config)?)
        .max_size(size)
        .wait_timeout(connect)
        .create_timeout(connect)
        .recycle_timeout(connect)
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|e| RedisError::from((ErrorKind::Client, "pool", e.to_string())))
}
