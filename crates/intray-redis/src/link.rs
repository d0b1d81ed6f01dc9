//! The connections to one server: a few that all calls share, pipelined. A call clones one of them, so it needs no checkout and no
//! PING of its own.
//!
//! deadpool-redis creates connections within a deadline, bounds and counts them, and tests those that are checked out for
//! [`Link::checked`].

mod durability;
mod durable_connections;
mod error;
mod maintain;
mod primary_pool;
mod private_disk;
mod route;
mod script_mode;

use std::{
    fmt::Display,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use deadpool_redis::{Connection, PoolError};
use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use redis::{ErrorKind, RedisError, Value, aio::MultiplexedConnection};
use tokio::sync::Mutex;

pub use self::{
    durability::{Durability, SyncRequests},
    private_disk::DiskShortage,
};
use self::{
    durable_connections::{DURABLE_CONNECTIONS, DurableConnections},
    error::{NO_PASSWORD, is_cut, is_demoted, to_fault},
    primary_pool::PrimaryPool,
    route::Route,
};
pub(crate) use self::{error::describe, script_mode::ScriptMode};
use crate::{
    fault::Fault,
    script::{Script, ScriptCall},
    server::Server,
    timeouts::CONNECT_TIMEOUT,
};

/// Connections that all calls share; the pool holds one more for health checks.
const SHARED_CONNECTIONS: usize = 3;
/// A connection that was opened within this time is kept after READONLY: another one would lead to the same server.
const FRESH: Duration = Duration::from_secs(1);

/// A connection, its number and when it was opened. By the number, a caller whose connection broke does not drop its successor.
type OpenConnection = (usize, MultiplexedConnection, Instant);

/// A place for one open connection, which is established on demand and replaced when it breaks.
///
/// `redis::aio::ConnectionManager` is not used. It reconnects to the address and user that it was created with, which change
/// after a failover and a new login. It reconnects unnoticed, so that WAIT could be sent on another connection than the change
/// was, and it cannot be told to drop a connection to a demoted primary.
#[derive(Default)]
struct Slot {
    current: RwLock<Option<OpenConnection>>,
    /// Locked while connecting, so that concurrent callers open one connection together.
    pooled: Mutex<Option<Connection>>,
}

/// The connections to one server.
pub struct Link {
    /// For logs: no user and no password.
    name: String,
    /// The server did not answer the last call.
    is_lost: AtomicBool,
    mode: ScriptMode,
    pool: PrimaryPool,
    /// For a private server: why its disk has no room.
    disk: Option<DiskShortage>,
    durability: Durability,
    shared: [Slot; SHARED_CONNECTIONS],
    /// For changes that wait for a confirmation of Redis; `None` if [`Durability`] requires none.
    durable: Option<DurableConnections>,
    /// Numbers connections, and picks the next shared one.
    turn: AtomicUsize,
}

impl Link {
    pub(crate) fn new(server: Server, disk: Option<DiskShortage>, durability: Durability, mode: ScriptMode) -> Self {
        let (name, durable) = (server.name(), durability.asks_redis().then(DurableConnections::new));
        let size = SHARED_CONNECTIONS + 1 + durable.as_ref().map_or(0, |_| DURABLE_CONNECTIONS);
        let pool = PrimaryPool::new(server, size);
        let (is_lost, turn) = (AtomicBool::new(false), AtomicUsize::new(0));
        Self { name, is_lost, mode, pool, disk, durability, shared: Default::default(), durable, turn }
    }

    /// Runs a script and, if it wrote, waits until the change is as durable as required.
    pub(crate) async fn run(&self, asking: bool, call: ScriptCall<'_>) -> Result<Value, CallError> {
        if call.script.grows() && self.disk_shortage().is_some() {
            return Err(CallError::Fault(Fault::Full));
        }
        let writes = call.script.writes();
        if writes && (self.durable.is_some() || self.pool.sentinels().is_some()) {
            let guarded: BoxFuture<'_, _> = Box::pin(self.run_guarded(asking, call));
            return guarded.await;
        }
        let answer = self.call(Route { slot: None, asking }, call).await?;
        if writes && self.has_private_disk() {
            self.confirm_append().await.map_err(CallError::Fault)?;
        }
        Ok(answer)
    }

    /// Runs a write where the primary may move, or where Redis must confirm it.
    async fn run_guarded(&self, asking: bool, call: ScriptCall<'_>) -> Result<Value, CallError> {
        let admitted = match self.pool.sentinels() {
            Some(sentinels) => Some((sentinels, sentinels.admit().await.map_err(CallError::Fault)?)),
            None => None,
        };
        let answer = match &self.durable {
            Some(connections) => self.run_durable(connections, asking, call).await?,
            None => self.call(Route { slot: None, asking }, call).await?,
        };
        admitted.map_or(Ok(()), |(sentinels, moves)| sentinels.check_unmoved(moves)).map_err(CallError::Fault)?;
        Ok(answer)
    }

    /// Sends a plain command.
    ///
    /// # Errors
    /// If Redis does not answer or refuses.
    pub async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        self.send(Route::ANY, command).await.map_err(CallError::into_fault)
    }

    /// The number of open connections, and their maximum.
    pub(crate) fn connections(&self) -> (usize, usize) {
        self.pool.connections()
    }

    pub fn server(&self) -> &Server {
        self.pool.server()
    }

    /// For logs: host and port, the socket, or the primary's name at the sentinels.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server did not answer the last call.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    async fn send(&self, route: Route<'_>, command: &redis::Cmd) -> Result<Value, CallError> {
        let slot =
            route.slot.unwrap_or_else(|| &self.shared[self.turn.fetch_add(1, Ordering::Relaxed) % SHARED_CONNECTIONS]);
        let (number, mut connection, opened) = self.open(slot).await.map_err(CallError::Fault)?;
        let answer = match route.asking {
            false => command.query_async(&mut connection).await,
            true => Box::pin(route::send_asking(&mut connection, command)).await,
        };
        match answer {
            Ok(value) => {
                self.mark_found();
                Ok(value)
            }
            Err(e) => {
                if is_cut(&e) || is_demoted(&e) && opened.elapsed() >= FRESH {
                    Box::pin(self.discard(slot, number, &e)).await;
                }
                Err(CallError::Redis(e))
            }
        }
    }

    async fn open(&self, slot: &Slot) -> Result<OpenConnection, Fault> {
        if let Some(open) = slot.current() {
            return Ok(open);
        }
        // Boxed, to keep the common future small.
        let opening: BoxFuture<'_, _> = Box::pin(tokio::time::timeout(CONNECT_TIMEOUT, self.fill(slot)));
        opening.await.unwrap_or_else(|_| Err(self.mark_lost(&"no connection in time")))
    }

    async fn connect(&self) -> Result<Connection, Fault> {
        let pool = self.pool.current().await.map_err(|e| self.mark_lost(&describe(&e)))?;
        let connection = pool.get().await.map_err(|e| match e {
            PoolError::Backend(e) if e.kind() == ErrorKind::AuthenticationFailed => {
                self.mark_lost(&"the user or the password in its URL is wrong")
            }
            PoolError::Backend(e) => self.mark_lost(&describe(&e)),
            PoolError::Timeout(_) => self.mark_lost(&"no connection in time"),
            e @ (PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_)) => {
                self.mark_lost(&e)
            }
        })?;
        Box::pin(self.expect_primary(connection)).await
    }

    /// Drops a connection that has failed a call.
    async fn discard(&self, slot: &Slot, number: usize, e: &RedisError) {
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
                return Err(if is_cut(&e) { self.mark_lost(&e) } else { self.mark_lost(&NO_PASSWORD) });
            }
            Ok(_) | Err(_) => {}
        }
        let open = (self.turn.fetch_add(1, Ordering::Relaxed), MultiplexedConnection::clone(&fresh), Instant::now());
        *pooled = Some(fresh);
        slot.set(Some(open.clone()));
        Ok(open)
    }

    /// Takes a connection out of the pool for good; the next call opens another.
    async fn drop_connection(&self, slot: &Slot, number: usize) {
        let mut pooled = slot.pooled.lock().await;
        if slot.current().is_some_and(|(current, ..)| current == number) {
            slot.set(None);
            pooled.take().map(Connection::take);
        }
    }

    /// Logs the loss once, however many calls notice it.
    fn mark_lost(&self, why: &dyn Display) -> Fault {
        let fault = Fault::unavailable(&format_args!("{}: {why}", self.name));
        if !self.is_lost.swap(true, Ordering::Relaxed) {
            tracing::warn!(%fault, "Redis is lost");
        }
        fault
    }

    fn mark_found(&self) {
        if self.is_lost.load(Ordering::Relaxed) && self.is_lost.swap(false, Ordering::Relaxed) {
            tracing::info!(redis = self.name, "Redis is back");
        }
    }
}

/// Why a call has no answer.
pub(crate) enum CallError {
    /// An error reply of Redis, or an error of the connection.
    Redis(RedisError),
    /// There was no connection, or the change is not as durable as required.
    Fault(Fault),
}

impl CallError {
    pub(crate) fn is_cut(e: &RedisError) -> bool {
        is_cut(e)
    }

    pub(crate) fn into_fault(self) -> Fault {
        match self {
            Self::Redis(e) => to_fault(&e),
            Self::Fault(fault) => fault,
        }
    }

    /// The fault of a script, with the file and line where it failed.
    pub(crate) fn into_script_fault(self, script: &dyn Script) -> Fault {
        match self.into_fault() {
            Fault::Broken(why) => Fault::Broken(script.explain(&why)),
            fault @ (Fault::Unavailable { .. } | Fault::Full) => fault,
        }
    }
}

impl Slot {
    fn current(&self) -> Option<OpenConnection> {
        self.current.read().clone()
    }

    /// Closes the connection, also one that is being opened.
    async fn close(&self) {
        let mut pooled = self.pooled.lock().await;
        self.set(None);
        pooled.take().map(Connection::take);
    }

    fn set(&self, connection: Option<OpenConnection>) {
        *self.current.write() = connection;
    }
}
