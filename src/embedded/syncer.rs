//! Syncs the append-only file to disk once a second, in the server's stead.
//!
//! The server's own `everysec` puts off *writing* the file while a sync is under way, and answers all the same: on a slow
//! disk, what was acknowledged in those seconds is in its memory alone, and a `kill -9` loses it. Told to leave syncing to
//! others, it has written a change before it answers, always; a power cut still costs no more than about a second.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tracing::error;

use super::mend::FILES;

/// What a power cut may cost.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// Remembers what was synced, so that an idle server costs the disk nothing.
#[derive(Default)]
pub(super) struct Syncer {
    synced: HashMap<PathBuf, (u64, SystemTime)>,
}

impl Syncer {
    pub(super) fn sync(&mut self, data: &Path) {
        match self.try_sync(&data.join(FILES)) {
            Ok(()) => {}
            // Not there yet, or replaced by a rewrite just now: the next turn sees the new ones.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => error!(%error, "the append-only file cannot be synced: a power cut would lose jobs"),
        }
    }

    fn try_sync(&mut self, files: &Path) -> io::Result<()> {
        let mut found = HashMap::new();
        for entry in fs::read_dir(files)? {
            let entry = entry?;
            // Looked at before the sync: what is written meanwhile is synced again in the next turn.
            let now = entry.metadata().and_then(|meta| Ok((meta.len(), meta.modified()?)))?;
            if self.synced.get(&entry.path()) != Some(&now) {
                File::open(entry.path())?.sync_data()?;
            }
            found.insert(entry.path(), now);
        }
        self.synced = found;
        Ok(())
    }
}
