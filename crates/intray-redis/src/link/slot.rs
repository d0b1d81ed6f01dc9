//! A place for one open connection, which is established on demand and replaced when it breaks.
//!
//! `redis::aio::ConnectionManager` (1.8) was tried and is not used. After a cut the same handle leads to another connection
//! unnoticed, so that WAIT could be sent on another one than the change was. To a frozen server it keeps its connection, and it
//! has no call that drops one to a demoted primary. It reconnects to the address and user that it was created with.

use std::{sync::atomic::Ordering, time::Instant};

use deadpool_redis::{Connection, PoolError};
use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use redis::{ErrorKind, RedisError, Value, aio::MultiplexedConnection};
use tokio::sync::Mutex;

use super::{
    Link,
    error::{NO_PASSWORD, describe, is_cut, is_refusal},
};
use crate::{fault::Fault, sentinel::is_of_sentinels};

/// A connection, its number and when it was opened. By the number, a caller whose connection broke does not drop its successor.
pub(super) type OpenConnection = (usize, MultiplexedConnection, Instant);

#[derive(Default)]
pub(super) struct Slot {
    current: RwLock<Option<OpenConnection>>,
    /// Locked while connecting, so that concurrent callers open one connection together.
    pooled: Mutex<Option<Connection>>,
}

impl Link {
    pub(super) async fn open(&self, slot: &Slot) -> Result<OpenConnection, Fault> {
        if let Some(open) = slot.current() {
            return Ok(open);
        }
        // Boxed, to keep the common future small.
        let opening: BoxFuture<'_, _> = Box::pin(tokio::time::timeout(self.timeouts.connect(), self.fill(slot)));
        opening.await.unwrap_or_else(|_| Err(self.mark_lost(&"no connection in time")))
    }

    pub(super) async fn connect(&self) -> Result<Connection, Fault> {
        let pool = self.current_pool().await.map_err(|e| self.mark_unconnected(&e))?;
        let connection = pool.get().await.map_err(|e| match e {
            PoolError::Backend(e) => self.mark_unconnected(&e),
            PoolError::Timeout(_) => self.mark_lost(&"no connection in time"),
            e @ (PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_)) => {
                self.mark_lost(&e)
            }
        })?;
        self.is_refused.store(false, Ordering::Relaxed);
        Box::pin(self.expect_primary(connection)).await
    }

    fn mark_unconnected(&self, e: &RedisError) -> Fault {
        self.is_refused.store(is_refusal(e), Ordering::Relaxed);
        match e.kind() == ErrorKind::AuthenticationFailed && !is_of_sentinels(e) {
            true => self.mark_lost(&"the user or the password in its URL is wrong"),
            false => self.mark_lost(&describe(e)),
        }
    }

    /// Drops a connection that has failed a call.
    pub(super) async fn discard(&self, slot: &Slot, number: usize, e: &RedisError) {
        // A server that refuses is not lost.
        if is_cut(e) {
            self.mark_lost(e);
        }
        self.drop_connection(slot, number).await;
    }

    async fn fill(&self, slot: &Slot) -> Result<OpenConnection, Fault> {
        let mut pooled = slot.pooled.lock().await;
        if let Some(open) = slot.current() {
            return Ok(open);
        }
        let mut fresh = self.connect().await?;
        // PING reveals a missing password: for a long script Redis would only report that the request is too long.
        match redis::cmd("PING").query_async::<Value>(&mut fresh).await {
            Err(e) if is_cut(&e) || e.code() == Some("NOAUTH") => {
                drop(Connection::take(fresh));
                self.is_refused.store(is_refusal(&e), Ordering::Relaxed);
                return Err(if is_cut(&e) { self.mark_lost(&e) } else { self.mark_lost(&NO_PASSWORD) });
            }
            Ok(_) | Err(_) => {}
        }
        let open = (self.turn.fetch_add(1, Ordering::Relaxed), MultiplexedConnection::clone(&fresh), Instant::now());
        self.opened.fetch_add(1, Ordering::Relaxed);
        *pooled = Some(fresh);
        slot.set(Some(open.clone()));
        Ok(open)
    }

    /// Takes a connection out of the pool for good; the next call opens another.
    pub(super) async fn drop_connection(&self, slot: &Slot, number: usize) {
        let mut pooled = slot.pooled.lock().await;
        if slot.current().is_some_and(|(current, ..)| current == number) {
            slot.set(None);
            pooled.take().map(Connection::take);
        }
    }
}

impl Slot {
    pub(super) fn current(&self) -> Option<OpenConnection> {
        self.current.read().clone()
    }

    /// Closes the connection, also one that is being opened.
    pub(super) async fn close(&self) {
        let mut pooled = self.pooled.lock().await;
        self.set(None);
        pooled.take().map(Connection::take);
    }

    fn set(&self, connection: Option<OpenConnection>) {
        *self.current.write() = connection;
    }
}
