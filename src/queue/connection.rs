//! A few connections that everybody shares. The pool makes, checks and replaces them; a call clones one, pays no checkout
//! and no PING, and its commands go out pipelined with everybody else's.

use std::{
    sync::{
        RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deadpool_redis::{Connection, Manager, Pool, Runtime};
use redis::{AsyncConnectionConfig, ErrorKind, IntoConnectionInfo, RedisError, Value, aio::MultiplexedConnection};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Applied, Fault, script::Script};

/// Shared by all calls; one more is left in the pool for health checks.
const SHARED: usize = 3;
/// For a connection to be there, and for an answer to come: together less than the two seconds in which a caller is
/// answered, whatever Redis does.
const CONNECT: Duration = Duration::from_millis(700);
const RESPONSE: Duration = Duration::from_millis(1_100);
/// How often the shared connections are tried, so that no caller is the one to find out that one is dead.
const TRY_EVERY: Duration = Duration::from_millis(500);
/// Codes of a server that will not be well on this connection: after a failover it still answers PING.
const DROP: [&str; 3] = ["READONLY", "MASTERDOWN", "LOADING"];
/// Codes that mean "not now", said before anything was run.
const REFUSED: [&str; 9] =
    ["READONLY", "MASTERDOWN", "LOADING", "BUSY", "MISCONF", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "NOAUTH"];

pub(super) struct Link {
    pool: Pool,
    slots: [Slot; SHARED],
    turn: AtomicUsize,
}

/// A shared connection and its number: a caller whose connection broke must not drop the one that came after it.
type Numbered = (usize, MultiplexedConnection);

#[derive(Default)]
struct Slot {
    current: RwLock<Option<Numbered>>,
    /// Held while one is made, so that a crowd makes one connection and not a crowd of them.
    making: Mutex<Option<Connection>>,
}

impl Link {
    pub(super) fn new(url: &str) -> Result<Self, RedisError> {
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT)).set_response_timeout(Some(RESPONSE));
        let manager = Manager::new_with_config(url.into_connection_info()?, config)?;
        let pool = Pool::builder(manager)
            .max_size(SHARED + 1)
            .wait_timeout(Some(CONNECT))
            .create_timeout(Some(CONNECT))
            .recycle_timeout(Some(CONNECT))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|e| RedisError::from((ErrorKind::Client, "pool", e.to_string())))?;
        Ok(Self { pool, slots: Default::default(), turn: AtomicUsize::new(0) })
    }

    /// Runs a script. NOSCRIPT never reaches a caller.
    pub(super) async fn run(&self, script: &Script, keys: &[String], args: &Args) -> Result<Value, Fault> {
        match self.send(&command("EVALSHA", &script.sha, keys, args)).await {
            Err(Sent::NoScript) => self.send(&command("EVAL", &script.code, keys, args)).await,
            other => other,
        }
        .map_err(Sent::fault)
    }

    /// A plain command.
    pub(super) async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        self.send(command).await.map_err(Sent::fault)
    }

    /// A plain command over a connection that the pool has just checked: for health, not for haste.
    pub(super) async fn checked(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        let mut connection = self.pool.get().await.map_err(|e| away(&e))?;
        let answer = command.query_async(&mut *connection).await;
        if answer.as_ref().is_err_and(is_broken) {
            drop(Connection::take(connection));
        }
        answer.map_err(|e| judge(&e))
    }

    pub(super) fn status(&self) -> deadpool_redis::Status {
        self.pool.status()
    }

    async fn send(&self, command: &redis::Cmd) -> Result<Value, Sent> {
        let slot = &self.slots[self.turn.fetch_add(1, Ordering::Relaxed) % SHARED];
        let (number, mut connection) = self.open(slot).await.map_err(Sent::Fault)?;
        match command.query_async(&mut connection).await {
            Ok(value) => Ok(value),
            Err(e) if e.code() == Some("NOSCRIPT") => Err(Sent::NoScript),
            Err(e) => {
                if is_broken(&e) {
                    self.replace(slot, number).await;
                }
                Err(Sent::Fault(judge(&e)))
            }
        }
    }

    /// Tries the shared connections again and again, and drops those that do not answer.
    pub(super) async fn mind(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(TRY_EVERY)).await.is_some() {
            let tries = self.slots.iter().map(|slot| async move {
                let Some((number, mut connection)) = slot.read() else { return };
                let pong: Result<Value, _> = redis::cmd("PING").query_async(&mut connection).await;
                if pong.as_ref().is_err_and(is_broken) {
                    self.replace(slot, number).await;
                }
            });
            futures_util::future::join_all(tries).await;
        }
    }

    async fn open(&self, slot: &Slot) -> Result<Numbered, Fault> {
        if let Some(open) = slot.read() {
            return Ok(open);
        }
        tokio::time::timeout(CONNECT, self.make(slot)).await.unwrap_or_else(|_| Err(away(&"no connection in time")))
    }

    async fn make(&self, slot: &Slot) -> Result<Numbered, Fault> {
        let mut kept = slot.making.lock().await;
        if let Some(open) = slot.read() {
            return Ok(open);
        }
        let fresh = self.pool.get().await.map_err(|e| away(&e))?;
        let shared = (self.turn.fetch_add(1, Ordering::Relaxed), MultiplexedConnection::clone(&fresh));
        *kept = Some(fresh);
        slot.write(Some(shared.clone()));
        Ok(shared)
    }

    /// Takes a connection out of the pool for good; the next call makes another.
    async fn replace(&self, slot: &Slot, number: usize) {
        let mut kept = slot.making.lock().await;
        if slot.read().is_some_and(|(current, _)| current == number) {
            slot.write(None);
            kept.take().map(Connection::take);
        }
    }
}

impl Slot {
    fn read(&self) -> Option<Numbered> {
        self.current.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn write(&self, connection: Option<Numbered>) {
        *self.current.write().unwrap_or_else(std::sync::PoisonError::into_inner) = connection;
    }
}

enum Sent {
    NoScript,
    Fault(Fault),
}

impl Sent {
    fn fault(self) -> Fault {
        match self {
            Self::NoScript => Fault::Broken("a script is unknown right after it was sent".to_owned()),
            Self::Fault(fault) => fault,
        }
    }
}

fn command(name: &str, script: &str, keys: &[String], args: &Args) -> redis::Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(keys.len()).arg(keys);
    for arg in args.iter() {
        command.arg(arg);
    }
    command
}

fn is_broken(e: &RedisError) -> bool {
    e.is_io_error() || e.is_timeout() || e.is_connection_dropped() || e.code().is_some_and(|code| DROP.contains(&code))
}

fn away(e: &dyn std::fmt::Display) -> Fault {
    Fault::Unavailable { applied: Applied::No, why: e.to_string() }
}

fn judge(e: &RedisError) -> Fault {
    match e.code() {
        Some("OOM") => Fault::Full,
        // A key of ours is something else: a program of another layout has left a text in its place.
        Some("WRONGTYPE") => away(&"the keys have another layout by now"),
        Some(code) if REFUSED.contains(&code) => away(&code),
        _ if is_broken(e) => Fault::Unavailable { applied: Applied::Unknown, why: e.to_string() },
        _ => Fault::Broken(e.to_string()),
    }
}

/// The arguments of a script, one after the other in one buffer.
#[derive(Default, Clone)]
pub(super) struct Args {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    pub(super) fn push(&mut self, arg: impl AsRef<[u8]>) -> &mut Self {
        self.bytes.extend_from_slice(arg.as_ref());
        self.ends.push(self.bytes.len());
        self
    }

    pub(super) fn number(&mut self, arg: u64) -> &mut Self {
        self.push(arg.to_string())
    }

    pub(super) fn append(&mut self, other: &Self) {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| base + end));
    }

    /// Without the last so many.
    pub(super) fn without_last(&mut self, count: usize) -> &mut Self {
        self.ends.truncate(self.ends.len() - count);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }
}
