//! The pool of connections to where Redis is now, which is another pool when that has moved.

use std::sync::{PoisonError, RwLock};

use deadpool_redis::{Connection, Manager, Pool, Runtime};
use redis::{AsyncConnectionConfig, ConnectionInfo, ErrorKind, RedisError};

use super::Link;
use crate::{
    job::budget::{CONNECT, RESPONSE},
    store::{
        fault::Fault,
        redis::{
            sentinel::{Sentinels, is_primary},
            server::Server,
        },
    },
};

pub(super) struct Home {
    server: Server,
    size: usize,
    /// And the number of the place that it leads to.
    pool: RwLock<Option<(u64, Pool)>>,
}

impl Home {
    pub(super) fn new(server: Server, size: usize) -> Self {
        Self { server, size, pool: RwLock::default() }
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn sentinels(&self) -> Option<&Sentinels> {
        self.server.sentinels()
    }

    pub(super) async fn pool(&self) -> Result<Pool, RedisError> {
        let (info, number) = self.server.now().await?;
        let is_there = |kept: &Option<(u64, Pool)>| kept.as_ref().filter(|(of, _)| *of == number).cloned();
        if let Some((_, pool)) = is_there(&self.pool.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(pool);
        }
        let mut kept = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = is_there(&kept) {
            return Ok(pool);
        }
        let pool = pool(info, self.size)?;
        *kept = Some((number, pool.clone()));
        Ok(pool)
    }

    /// Open connections, and how many there may be.
    pub(super) fn connections(&self) -> (usize, usize) {
        let kept = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        (kept.as_ref().map_or(0, |(_, pool)| pool.status().size), self.size)
    }
}

fn pool(info: ConnectionInfo, size: usize) -> Result<Pool, RedisError> {
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT)).set_response_timeout(Some(RESPONSE));
    Pool::builder(Manager::new_with_config(info, config)?)
        .max_size(size)
        .wait_timeout(Some(CONNECT))
        .create_timeout(Some(CONNECT))
        .recycle_timeout(Some(CONNECT))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|e| RedisError::from((ErrorKind::Client, "pool", e.to_string())))
}

impl Link {
    /// Sentinels may name one that does not know yet that it is primary, or does not know that it is none any more.
    pub(super) async fn expect_primary(&self, mut connection: Connection) -> Result<Connection, Fault> {
        if self.home.sentinels().is_none() {
            return Ok(connection);
        }
        let info = redis::cmd("INFO").arg("replication").query_async(&mut connection).await;
        // What else is wrong with it, the caller finds out.
        if info.is_err() || is_primary(&info) {
            return Ok(connection);
        }
        drop(Connection::take(connection));
        Err(self.lose(&"the server that the sentinels name is a replica"))
    }

    /// Follows the primary: drops all connections as soon as it has moved.
    pub(super) async fn follow(&self, sentinels: &Sentinels) {
        let mut number = sentinels.number();
        loop {
            sentinels.moved_from(number).await;
            number = sentinels.number();
            let lines = self.lines.iter().flat_map(|lines| lines.all());
            for slot in self.slots.iter().chain(lines) {
                slot.close().await;
            }
        }
    }

    /// What the primary lacks of what the one before it had; nothing at all of one that never moves.
    pub(crate) fn lacks(&self) -> Option<Option<String>> {
        self.home.sentinels().map(Sentinels::lacks)
    }
}
