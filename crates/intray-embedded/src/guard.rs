//! Checks whether the paths of a claimed folder still lead to the claimed files. The claim is on the files themselves, and
//! remains valid if the paths change.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use tracing::{info, warn};

/// A server that is being restarted has no socket for a moment.
const LOOKS_WITHOUT_SOCKET: u32 = 5;

/// The identity of a file or folder, independent of its path: its device and inode.
type Identity = (u64, u64);

pub(super) struct FolderGuard {
    data: (PathBuf, Option<Identity>),
    lock: (PathBuf, Option<Identity>),
    socket: PathBuf,
    without_socket: u32,
    reported: Option<String>,
}

impl FolderGuard {
    pub(super) fn new(data: &Path, lock: &Path, socket: &Path) -> Self {
        Self {
            data: (data.to_owned(), identity(fs::symlink_metadata(data))),
            lock: (lock.to_owned(), identity(fs::symlink_metadata(lock))),
            socket: socket.to_owned(),
            without_socket: 0,
            reported: None,
        }
    }

    /// One check. A change is logged once.
    pub(super) fn look(&mut self) {
        let is_there = fs::symlink_metadata(&self.socket).is_ok();
        self.without_socket = if is_there { 0 } else { self.without_socket + 1 };
        let problem = self.problem();
        match &problem {
            Some(problem) if self.reported.as_ref() != Some(problem) => warn!("{problem}"),
            None if self.reported.is_some() => {
                info!("the data folder {} is as it was claimed again", self.data.0.display())
            }
            Some(_) | None => {}
        }
        self.reported = problem;
    }

    fn problem(&self) -> Option<String> {
        let (data, claimed) = &self.data;
        if identity(fs::symlink_metadata(data)) != *claimed {
            return Some(format!(
                "the data folder {} was removed, renamed or replaced under the running service, which continues in the one \
                 that it has claimed: put that back, or stop the service",
                data.display()
            ));
        }
        let (lock, claimed) = &self.lock;
        let now = fs::symlink_metadata(lock);
        if now.as_ref().is_ok_and(|now| now.nlink() > 1) {
            return Some(format!("the lock {} has a second name: remove that one", lock.display()));
        }
        if identity(now) != *claimed {
            return Some(format!(
                "the lock {} was removed, renamed or replaced under the running service: the folder stays claimed, but leave \
                 the lock alone",
                lock.display()
            ));
        }
        (self.without_socket >= LOOKS_WITHOUT_SOCKET).then(|| {
            format!(
                "the private server's socket {} was removed or renamed: new connections fail; start the service again",
                self.socket.display()
            )
        })
    }
}

fn identity(metadata: io::Result<Metadata>) -> Option<Identity> {
    metadata.ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
