//! Syncs the append-only file to disk in place of the server: once a second, and at once for a caller that waits for it.
//!
//! With the server's own `everysec`, a server delays *writing* the file during a sync, but still answers. On a slow disk,
//! changes acknowledged in those seconds are only in its memory, and `kill -9` loses them. With `appendfsync no`, the server
//! always writes a change before it answers. A power cut still loses at most about a second, and nothing if each change is
//! synced before its caller gets the answer. All callers that arrive during a sync share the next one.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant, SystemTime},
};

use tokio::sync::oneshot;
use tracing::error;

use super::aof_repair::FILES;

/// What a power cut may lose.
const EVERY: Duration = Duration::from_secs(1);
/// How often the files are read again if a rewrite replaces them meanwhile.
const LOOKS: usize = 10;

/// Gets `Ok` once everything written so far is on disk, or the error of the sync.
type SyncWaiter = oneshot::Sender<Result<(), String>>;
pub(super) type Asked = Receiver<SyncWaiter>;
pub(super) type Disk = Sender<SyncWaiter>;

/// Runs until the stop, and until no caller waits.
pub(super) fn run(mut files: Syncer, asked: &Asked, is_over: impl Fn() -> bool) {
    let mut next = Instant::now() + EVERY;
    loop {
        let first = match asked.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(waiter) => Some(waiter),
            Err(RecvTimeoutError::Timeout) if is_over() => return,
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let waiters: Vec<_> = first.into_iter().chain(asked.try_iter()).collect();
        let outcome = files.sync();
        next = Instant::now() + EVERY;
        for waiter in waiters {
            // A caller that no longer waits has already been answered.
            let _ = waiter.send(outcome.clone());
        }
    }
}

/// Remembers what was synced, so that an idle server costs the disk nothing.
pub(super) struct Syncer {
    files: PathBuf,
    synced: HashMap<PathBuf, (u64, SystemTime)>,
    /// The file whose sync has failed. The system may have dropped unwritten data and report success the next time, so this
    /// file is not trusted again while it is in use.
    failed: Option<(PathBuf, String)>,
    /// The space watcher then requests a new file from the server.
    wants_rewrite: Arc<AtomicBool>,
}

impl Syncer {
    pub(super) fn new(data: &Path, wants_rewrite: Arc<AtomicBool>) -> Self {
        Self { files: data.join(FILES), synced: HashMap::new(), failed: None, wants_rewrite }
    }

    fn sync(&mut self) -> Result<(), String> {
        for _ in 0..LOOKS {
            match self.try_sync() {
                Ok(()) => return self.verdict(),
                // The file does not exist yet, or a rewrite has just replaced it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    error!(%error, "the append-only file cannot be synced: a power cut would lose jobs");
                    return Err(error.to_string());
                }
            }
        }
        Err("the append-only files are replaced again and again".to_owned())
    }

    fn verdict(&self) -> Result<(), String> {
        let Some((_, why)) = &self.failed else { return Ok(()) };
        self.wants_rewrite.store(true, Ordering::Relaxed);
        Err(why.clone())
    }

    fn try_sync(&mut self) -> io::Result<()> {
        let (mut found, mut is_new) = (HashMap::new(), false);
        for entry in fs::read_dir(&self.files)? {
            let (path, meta) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
            // The length is read before the sync, so data written meanwhile is synced in the next turn.
            let now = (meta.len(), meta.modified()?);
            let before = self.synced.get(&path).copied();
            is_new |= before.is_none();
            if before != Some(now) {
                let synced = File::open(&path)?.sync_data();
                synced.inspect_err(|error| self.failed = Some((path.clone(), error.to_string())))?;
            }
            found.insert(path, now);
        }
        if is_new {
            File::open(&self.files)?.sync_all()?;
        }
        self.failed.take_if(|(path, _)| !found.contains_key(path));
        self.synced = found;
        Ok(())
    }
}
