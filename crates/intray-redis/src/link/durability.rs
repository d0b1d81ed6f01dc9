//! When a change is acknowledged: when Redis has applied it, when replicas have it, or when it is on disk.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use redis::Value;
use tokio::sync::oneshot;

use super::{CallError, Link, durable_connections::DurableConnections, route::Route, slot::Slot};
use crate::{
    fault::{Fault, UNCONFIRMED, UNSYNCED},
    script::ScriptCall,
    timeouts::Timeouts,
};

/// Requests to sync the file of a private server; each is answered when everything that was in the file is on disk.
pub type SyncRequests = mpsc::Sender<oneshot::Sender<Result<(), String>>>;

/// When a change is acknowledged.
#[derive(Clone)]
pub enum Durability {
    /// When Redis has applied it.
    Async,
    /// When this number of replicas has it.
    Replicated(u32),
    /// When Redis confirms that it is on its disk.
    Synced,
    /// When the file of the private server has been synced.
    SyncedHere(SyncRequests),
}

/// WAIT or WAITAOF, sent after a change on the same connection.
struct Confirmation {
    command: redis::Cmd,
    required: i64,
    timeout: Duration,
    unmet: &'static str,
}

impl Durability {
    fn confirmation(&self, timeouts: Timeouts) -> Option<Confirmation> {
        let (name, copies, timeout, unmet): (_, &[u32], _, _) = match self {
            Self::Async | Self::SyncedHere(_) => return None,
            Self::Replicated(replicas) => ("WAIT", &[*replicas], timeouts.ahead_of_response(), UNCONFIRMED),
            Self::Synced => ("WAITAOF", &[1, 0], timeouts.sync(), UNSYNCED),
        };
        let mut command = redis::cmd(name);
        command.arg(copies).arg(timeout.as_millis().to_string());
        Some(Confirmation { command, required: copies.first().copied().unwrap_or_default().into(), timeout, unmet })
    }

    pub fn is_more_than_async(&self) -> bool {
        !matches!(self, Self::Async)
    }

    /// Redis must confirm each change, which needs connections that carry nothing else meanwhile.
    pub(super) fn asks_redis(&self) -> bool {
        matches!(self, Self::Replicated(_) | Self::Synced)
    }
}

impl Link {
    /// Runs a script on a connection of its own, and answers when Redis has confirmed the change.
    pub(super) async fn run_durable(
        &self,
        connections: &DurableConnections,
        asking: bool,
        call: ScriptCall<'_>,
    ) -> Result<Value, CallError> {
        let connection = connections.acquire(self.timeouts.connect()).await;
        let connection = connection.ok_or_else(|| Fault::unavailable(&"too many changes wait to be confirmed"))?;
        let answer = self.call(Route { slot: Some(&connection), asking }, call).await?;
        if !call.script.gives_nothing(&answer) {
            let start = Instant::now();
            let confirmed = self.confirm_change(&connection).await;
            record_wait(start.elapsed());
            confirmed?;
        }
        Ok(answer)
    }

    /// Uses only the connection that carried the change: on a new one Redis would answer for other changes.
    async fn confirm_change(&self, slot: &Slot) -> Result<(), Fault> {
        let Some(Confirmation { command, required, timeout, unmet }) = self.durability.confirmation(self.timeouts)
        else {
            return Ok(());
        };
        let Some((number, mut connection, _)) = slot.current() else { return Err(Fault::unknown(unmet)) };
        connection.set_response_timeout(timeout + self.timeouts.margin());
        match command.query_async::<Value>(&mut connection).await {
            Ok(answer) if confirmed_copies(&answer) >= required => Ok(()),
            Ok(_) => Err(Fault::unknown(unmet)),
            Err(e) => {
                Box::pin(self.discard(slot, number, &e)).await;
                Err(match CallError::Redis(e).into_fault() {
                    Fault::Unavailable { why, .. } => Fault::unknown(&why),
                    Fault::Full(_) | Fault::Broken(_) => Fault::unknown(unmet),
                })
            }
        }
    }

    /// Waits until everything that is in the private server's file now is on disk.
    pub(super) async fn sync(&self, requests: &SyncRequests) -> Result<(), Fault> {
        let start = Instant::now();
        let (answer, synced) = oneshot::channel();
        let synced = match requests.send(answer) {
            Ok(()) => tokio::time::timeout(self.timeouts.response(), synced).await,
            Err(mpsc::SendError(_)) => return Err(Fault::unknown(UNSYNCED)),
        };
        record_wait(start.elapsed());
        match synced {
            Ok(Ok(Ok(()))) => Ok(()),
            // The syncer itself logs the error of the disk.
            Ok(Ok(Err(_)) | Err(_)) | Err(_) => Err(Fault::unknown(UNSYNCED)),
        }
    }

    /// Why this Redis can never confirm a change, in a sentence.
    pub async fn unconfirmable(&self) -> Option<String> {
        let (mut trial, need) = match self.durability {
            Durability::Async | Durability::SyncedHere(_) => return None,
            Durability::Replicated(_) => (redis::cmd("WAIT"), "--durability replicated needs WAIT"),
            Durability::Synced => (
                redis::cmd("WAITAOF"),
                "--durability synced needs WAITAOF, so Redis 7.2 or newer, and `appendonly yes`",
            ),
        };
        trial.arg(if matches!(self.durability, Durability::Synced) { &[1, 0][..] } else { &[0][..] }).arg(1);
        match self.plain(&trial).await {
            Ok(_) | Err(Fault::Full(_)) => None,
            Err(Fault::Unavailable { why, .. } | Fault::Broken(why)) => Some(format!("{need}: {why}")),
        }
    }

    pub fn durability(&self) -> &Durability {
        &self.durability
    }
}

fn record_wait(duration: Duration) {
    intray_metrics::DURABILITY_WAIT_SECONDS.of(&[]).observe(duration.as_secs_f64());
}

/// `WAIT` answers a number, `WAITAOF` that of this server and that of its replicas.
fn confirmed_copies(answer: &Value) -> i64 {
    match answer {
        Value::Int(n) => *n,
        Value::Array(parts) => match parts.first() {
            Some(Value::Int(n)) => *n,
            _ => 0,
        },
        _ => 0,
    }
}
