//! Syncs the append-only file to disk in place of the server: once a second, and at once for a caller that waits for it.
//!
//! The server's own `everysec` puts off *writing* the file while a sync is under way, and answers all the same: on a slow
//! disk, what was acknowledged in those seconds is in its memory alone, and a `kill -9` loses it. Told to leave syncing to
//! others, it has written a change before it answers, always; a power cut still costs no more than about a second, and
//! nothing where each change is synced before its caller hears of it. All who come during a sync share the next.

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

use super::mend::FILES;

/// What a power cut may cost.
const EVERY: Duration = Duration::from_secs(1);
/// A rewrite replaces files while one looks at them: so often one looks again.
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
            // A waiter that has gone has answered its caller already.
            let _ = waiter.send(outcome.clone());
        }
    }
}

/// Remembers what was synced, so that an idle server costs the disk nothing.
pub(super) struct Syncer {
    files: PathBuf,
    synced: HashMap<PathBuf, (u64, SystemTime)>,
    /// One whose sync has failed: the system may have thrown away what was not yet on disk and say that all is well the
    /// next time. As long as the file is in use, nothing that it is to keep is known to be kept.
    failed: Option<(PathBuf, String)>,
    /// The watcher of the disk then asks the server for a new file.
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
                // Not there yet, or replaced by a rewrite just now.
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
            // Looked at before the sync: what is written meanwhile is synced again in the next turn.
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
