//! When a change may be acknowledged: as soon as Redis has made it, or when others have it too, or when it is on disk.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use redis::Value;
use tokio::sync::oneshot;

use super::{Args, Link, Sent, faults::away, lines::Line, lines::Lines, node::Way};
use crate::{
    job::budget::RESPONSE,
    store::{UNCONFIRMED, UNSYNCED, fault::Fault, redis::meter, script::Script},
};

/// Who syncs the file of a private server: asked by whoever wants all that is in the file by now on disk.
pub type Disk = mpsc::Sender<oneshot::Sender<Result<(), String>>>;

/// When a change is acknowledged.
#[derive(Clone)]
pub enum Durability {
    /// When Redis has made it.
    Async,
    /// When so many replicas have it.
    Replicated(u32),
    /// When Redis says that it is on its disk.
    Synced,
    /// When the private server's file is on disk.
    SyncedHere(Disk),
}

/// What Redis is asked behind a change, on the connection that carried it: how many have it?
struct Question {
    command: redis::Cmd,
    enough: i64,
    patience: Duration,
    unmet: &'static str,
}

/// A server that syncs its file once a second takes about that long; and whoever waits has an answer within two.
const SYNC: Duration = Duration::from_millis(1_300);
const REPLICAS: Duration = Duration::from_millis(1_000);

impl Durability {
    fn question(&self) -> Option<Question> {
        let (name, copies, patience, unmet): (_, &[u32], _, _) = match self {
            Self::Async | Self::SyncedHere(_) => return None,
            Self::Replicated(enough) => ("WAIT", &[*enough], REPLICAS, UNCONFIRMED),
            Self::Synced => ("WAITAOF", &[1, 0], SYNC, UNSYNCED),
        };
        let mut command = redis::cmd(name);
        command.arg(copies).arg(patience.as_millis().to_string());
        Some(Question { command, enough: copies.first().copied().unwrap_or_default().into(), patience, unmet })
    }

    pub(crate) fn is_more_than_async(&self) -> bool {
        !matches!(self, Self::Async)
    }

    /// Redis is asked behind each change, which needs connections that carry nothing else meanwhile.
    pub(super) fn asks(&self) -> bool {
        matches!(self, Self::Replicated(_) | Self::Synced)
    }
}

impl Link {
    /// Runs a script, and answers when what it wrote is known to be kept.
    pub(super) async fn run_on_a_line(
        &self,
        lines: &Lines,
        asking: bool,
        script: &Script,
        keys: &Args,
        items: &[&Args],
    ) -> Result<Value, Sent> {
        let line = lines.take().await;
        let line = line.ok_or_else(|| Sent::Fault(away(&"too many changes wait to be confirmed")))?;
        let answer = self.call(Way { slot: Some(line.slot()), asking }, script, keys, items).await?;
        if !script.hands_out_nothing(&answer) {
            let asked = Instant::now();
            let kept = self.ask(&line).await;
            meter::waited(asked.elapsed());
            kept.map_err(Sent::Fault)?;
        }
        Ok(answer)
    }

    /// Whoever asks on another connection than the one that carried the change is told of other changes.
    async fn ask(&self, line: &Line<'_>) -> Result<(), Fault> {
        let Some(Question { command, enough, patience, unmet }) = self.durability.question() else { return Ok(()) };
        let Some((number, mut connection, _)) = line.slot().read() else { return Err(Fault::unknown(unmet)) };
        connection.set_response_timeout(patience + (RESPONSE - REPLICAS));
        match command.query_async::<Value>(&mut connection).await {
            Ok(answer) if confirmed(&answer) >= enough => Ok(()),
            Ok(_) => Err(Fault::unknown(unmet)),
            Err(e) => {
                Box::pin(self.refused(line.slot(), number, &e)).await;
                Err(match Sent::Error(e).fault() {
                    Fault::Unavailable { why, .. } => Fault::unknown(&why),
                    Fault::Full | Fault::Broken(_) => Fault::unknown(unmet),
                })
            }
        }
    }

    /// Waits until the private server's file is on disk, with all that was in it when this was called.
    pub(super) async fn sync(&self, disk: &Disk) -> Result<(), Fault> {
        let begin = Instant::now();
        let (answer, synced) = oneshot::channel();
        let asked = disk.send(answer);
        let synced = match asked {
            Ok(()) => tokio::time::timeout(RESPONSE, synced).await,
            Err(mpsc::SendError(_)) => return Err(Fault::unknown(UNSYNCED)),
        };
        meter::waited(begin.elapsed());
        match synced {
            Ok(Ok(Ok(()))) => Ok(()),
            // The syncer itself says what is wrong with the disk.
            Ok(Ok(Err(_)) | Err(_)) | Err(_) => Err(Fault::unknown(UNSYNCED)),
        }
    }

    /// What keeps this Redis from ever confirming a change, in a sentence.
    pub(crate) async fn unconfirmable(&self) -> Option<String> {
        let (mut trial, what) = match self.durability {
            Durability::Async | Durability::SyncedHere(_) => return None,
            Durability::Replicated(_) => (redis::cmd("WAIT"), "--durability replicated needs WAIT"),
            Durability::Synced => (
                redis::cmd("WAITAOF"),
                "--durability synced needs WAITAOF, so Redis 7.2 or newer, and `appendonly yes`",
            ),
        };
        trial.arg(if matches!(self.durability, Durability::Synced) { &[1, 0][..] } else { &[0][..] }).arg(1);
        match self.plain(&trial).await {
            Ok(_) | Err(Fault::Full) => None,
            Err(Fault::Unavailable { why, .. } | Fault::Broken(why)) => Some(format!("{what}: {why}")),
        }
    }

    pub(crate) fn durability(&self) -> &Durability {
        &self.durability
    }
}

/// `WAIT` answers a number, `WAITAOF` that of this server and that of its replicas.
fn confirmed(answer: &Value) -> i64 {
    match answer {
        Value::Int(n) => *n,
        Value::Array(parts) => match parts.first() {
            Some(Value::Int(n)) => *n,
            _ => 0,
        },
        _ => 0,
    }
}
