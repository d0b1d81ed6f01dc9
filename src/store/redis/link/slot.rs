//! Connections that are kept open, one in a slot: made when somebody needs one, replaced when it breaks.

use std::{
    sync::{RwLock, atomic::Ordering},
    time::Instant,
};

use deadpool_redis::{Connection, PoolError};
use futures_util::future::BoxFuture;
use redis::{ErrorKind, RedisError, Value, aio::MultiplexedConnection};
use tokio::sync::Mutex;

use super::{
    Link,
    faults::{NO_PASSWORD, in_words, is_cut},
};
use crate::{job::budget::CONNECT, store::fault::Fault};

/// A shared connection, its number and its birth: a caller whose connection broke must not drop the one that came after it.
pub(super) type Numbered = (usize, MultiplexedConnection, Instant);

#[derive(Default)]
pub(super) struct Slot {
    current: RwLock<Option<Numbered>>,
    /// Held while one is made, so that a crowd makes one connection and not a crowd of them.
    making: Mutex<Option<Connection>>,
}

impl Link {
    pub(super) async fn open(&self, slot: &Slot) -> Result<Numbered, Fault> {
        if let Some(open) = slot.read() {
            return Ok(open);
        }
        // What is rare lies apart, lest every call is as large.
        let made: BoxFuture<'_, _> = Box::pin(tokio::time::timeout(CONNECT, self.make(slot)));
        made.await.unwrap_or_else(|_| Err(self.lose(&"no connection in time")))
    }

    pub(super) async fn connect(&self) -> Result<Connection, Fault> {
        let pool = self.home.pool().await.map_err(|e| self.lose(&in_words(&e)))?;
        let connection = pool.get().await.map_err(|e| match e {
            PoolError::Backend(e) if e.kind() == ErrorKind::AuthenticationFailed => {
                self.lose(&"the user or the password in its URL is wrong")
            }
            PoolError::Backend(e) => self.lose(&in_words(&e)),
            PoolError::Timeout(_) => self.lose(&"no connection in time"),
            e @ (PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_)) => self.lose(&e),
        })?;
        Box::pin(self.expect_primary(connection)).await
    }

    /// Drops a connection that has failed a call.
    pub(super) async fn refused(&self, slot: &Slot, number: usize, e: &RedisError) {
        // One that answers with a refusal is there.
        if is_cut(e) {
            self.lose(e);
        }
        self.replace(slot, number).await;
    }

    async fn make(&self, slot: &Slot) -> Result<Numbered, Fault> {
        let mut kept = slot.making.lock().await;
        if let Some(open) = slot.read() {
            return Ok(open);
        }
        let mut fresh = self.connect().await?;
        // Who is not let in must hear of it here: to a long script Redis would only say that it is too long.
        match redis::cmd("PING").query_async::<Value>(&mut fresh).await {
            Err(e) if is_cut(&e) || e.code() == Some("NOAUTH") => {
                drop(Connection::take(fresh));
                return Err(if is_cut(&e) { self.lose(&e) } else { self.lose(&NO_PASSWORD) });
            }
            Ok(_) | Err(_) => {}
        }
        let shared = (self.turn.fetch_add(1, Ordering::Relaxed), MultiplexedConnection::clone(&fresh), Instant::now());
        *kept = Some(fresh);
        slot.write(Some(shared.clone()));
        Ok(shared)
    }

    /// Takes a connection out of the pool for good; the next call makes another.
    pub(super) async fn replace(&self, slot: &Slot, number: usize) {
        let mut kept = slot.making.lock().await;
        if slot.read().is_some_and(|(current, ..)| current == number) {
            slot.write(None);
            kept.take().map(Connection::take);
        }
    }
}

impl Slot {
    pub(super) fn read(&self) -> Option<Numbered> {
        self.current.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Also of one that is being made.
    pub(super) async fn close(&self) {
        let mut kept = self.making.lock().await;
        self.write(None);
        kept.take().map(Connection::take);
    }

    fn write(&self, connection: Option<Numbered>) {
        *self.current.write().unwrap_or_else(std::sync::PoisonError::into_inner) = connection;
    }
}
