//! The connections to one server: a few that all calls share, pipelined. A call clones one of them, so it needs no checkout and no
//! PING of its own.
//!
//! deadpool-redis creates connections within a deadline, bounds and counts them, and tests those that are checked out for
//! [`Link::checked`].

mod durability;
mod durable_connections;
mod error;
mod maintain;
mod outage;
mod primary_pool;
mod private_disk;
mod route;
mod script_mode;
mod slot;

use std::{
    fmt::Display,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deadpool_redis::Connection;
use futures_util::future::BoxFuture;
use redis::{RedisError, Value};

pub(crate) use self::error::{describe, is_cut, is_refusal};
pub use self::{
    durability::{Durability, SyncRequests},
    private_disk::DiskShortage,
};
use self::{
    durable_connections::{DURABLE_CONNECTIONS, DurableConnections},
    error::{is_broken, is_demoted, to_fault},
    outage::Outage,
    primary_pool::CurrentPool,
    route::Route,
    script_mode::ScriptMode,
    slot::Slot,
};
use crate::{
    fault::{Fault, Shortage},
    log_limiter::LogLimiter,
    script::{Library, Script, ScriptCall},
    server::Server,
    timeouts::Timeouts,
};

/// Connections that all calls share; the pool holds one more for health checks.
const SHARED_CONNECTIONS: usize = 3;
/// A connection that was opened within this time is kept after READONLY: another one would lead to the same server.
const FRESH: Duration = Duration::from_secs(1);

/// The connections to one server.
pub struct Link {
    /// For logs: no user and no password.
    name: String,
    outage: Outage,
    mode: ScriptMode,
    server: Server,
    timeouts: Timeouts,
    max_connections: usize,
    pool: CurrentPool,
    /// For a private server: why its disk has no room.
    disk: Option<DiskShortage>,
    durability: Durability,
    shared: [Slot; SHARED_CONNECTIONS],
    /// For changes that wait for a confirmation of Redis; `None` if [`Durability`] requires none.
    durable: Option<DurableConnections>,
    /// Numbers connections, and picks the next shared one.
    turn: AtomicUsize,
    /// How many shared connections were opened.
    opened: AtomicUsize,
    /// The last attempt to connect failed for a reason that only other settings remove.
    is_refused: AtomicBool,
}

impl Link {
    pub(crate) fn new(
        server: Server,
        timeouts: Timeouts,
        disk: Option<DiskShortage>,
        durability: Durability,
        (library, log_limiter): (Arc<Library>, Arc<LogLimiter>),
    ) -> Self {
        let (name, mode) = (server.name(), ScriptMode::new(library));
        let durable = durability.asks_redis().then(DurableConnections::new);
        let max_connections = SHARED_CONNECTIONS + 1 + durable.as_ref().map_or(0, |_| DURABLE_CONNECTIONS);
        let (is_refused, turn, opened, pool, shared) = Default::default();
        Self {
            name,
            outage: Outage::new(log_limiter),
            mode,
            server,
            timeouts,
            max_connections,
            pool,
            disk,
            durability,
            shared,
            durable,
            turn,
            opened,
            is_refused,
        }
    }

    /// Runs a script and, if it wrote, waits until the change is as durable as required.
    pub(crate) async fn run(&self, asking: bool, call: ScriptCall<'_>) -> Result<Value, CallError> {
        self.try_run(asking, call).await.inspect_err(|_| self.outage.count_failure())
    }

    async fn try_run(&self, asking: bool, call: ScriptCall<'_>) -> Result<Value, CallError> {
        if call.script.grows() && self.disk_shortage().is_some() {
            return Err(Fault::Full(Shortage::Disk).into());
        }
        let writes = call.script.writes();
        if writes && (self.durable.is_some() || self.server.sentinels().is_some()) {
            let guarded: BoxFuture<'_, _> = Box::pin(self.run_guarded(asking, call));
            return guarded.await;
        }
        let answer = self.call(Route { slot: None, asking }, call).await?;
        if writes && self.has_private_disk() {
            self.confirm_append().await?;
        }
        Ok(answer)
    }

    /// Runs a write where the primary may move, or where Redis must confirm it.
    async fn run_guarded(&self, asking: bool, call: ScriptCall<'_>) -> Result<Value, CallError> {
        let admitted = match self.server.sentinels() {
            Some(sentinels) => Some((sentinels, sentinels.admit().await?)),
            None => None,
        };
        let answer = match &self.durable {
            Some(connections) => self.run_durable(connections, asking, call).await?,
            None => self.call(Route { slot: None, asking }, call).await?,
        };
        admitted.map_or(Ok(()), |(sentinels, moves)| sentinels.check_unmoved(moves))?;
        Ok(answer)
    }

    /// Sends a plain command.
    ///
    /// # Errors
    /// If Redis does not answer or refuses.
    pub async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        let answer = self.send(Route::ANY, command).await.inspect_err(|_| self.outage.count_failure());
        answer.map_err(CallError::into_fault)
    }

    /// PING, after which a lost server counts as found.
    pub(crate) async fn ping(&self) {
        if self.send(Route::ANY, &redis::cmd("PING")).await.is_ok() {
            self.mark_found();
        }
    }

    /// Sends a plain command over a connection that the pool has just tested and that no call shares, so that a health check
    /// does not wait for other calls.
    ///
    /// # Errors
    /// If Redis does not answer or refuses.
    pub async fn checked(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        let mut connection = self.connect().await?;
        let answer = command.query_async(&mut *connection).await;
        if answer.as_ref().is_err_and(is_broken) {
            drop(Connection::take(connection));
        }
        if answer.as_ref().is_err_and(is_refusal) {
            self.is_refused.store(true, Ordering::Relaxed);
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

    pub fn server(&self) -> &Server {
        &self.server
    }

    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// For logs: host and port, the socket, or the primary's name at the sentinels.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many connections were opened so far: a server that was restarted gets others.
    pub fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    /// The server is there and refuses this client, or this client its certificate.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// The server did not answer the last call.
    pub(crate) fn is_lost(&self) -> bool {
        self.outage.is_lost()
    }

    async fn send(&self, route: Route<'_>, command: &redis::Cmd) -> Result<Value, CallError> {
        let slot =
            route.slot.unwrap_or_else(|| &self.shared[self.turn.fetch_add(1, Ordering::Relaxed) % SHARED_CONNECTIONS]);
        let (number, mut connection, opened) = self.open(slot).await?;
        let answer = match route.asking {
            false => command.query_async(&mut connection).await,
            true => Box::pin(route::send_asking(&mut connection, command)).await,
        };
        match answer {
            Ok(value) => Ok(value),
            Err(e) => {
                if is_cut(&e) || is_demoted(&e) && opened.elapsed() >= FRESH {
                    Box::pin(self.discard(slot, number, &e)).await;
                }
                Err(e.into())
            }
        }
    }

    fn mark_lost(&self, why: &dyn Display) -> Fault {
        let fault = Fault::unavailable(&format_args!("{}: {why}", self.name));
        self.outage.begin(&fault);
        fault
    }

    /// Only for answers that a server which still loads its data does not give.
    fn mark_found(&self) {
        self.outage.end(&self.name);
    }
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// An error reply of Redis, or an error of the connection.
    #[error(transparent)]
    Redis(#[from] RedisError),
    /// There was no connection, or the change is not as durable as required.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl CallError {
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
            fault @ (Fault::Unavailable { .. } | Fault::Full(_)) => fault,
        }
    }
}
