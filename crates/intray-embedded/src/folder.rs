//! The private server's data folder: claimed while this process runs, readable by its user only.

use std::{
    env,
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, io::Errno};
use tracing::warn;

use super::{StartError, guard::FolderGuard};
use intray_base::sha256::{Sha256, hex};

pub(super) const LOCK: &str = "intray.lock";
const SOCKET: &str = "redis.sock";
/// The maximum length of a path in `sockaddr_un`, without the closing zero.
const MAX_SOCKET_PATH_BYTES: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// A claimed data folder. No other process can claim it until this value is dropped.
pub(super) struct DataFolder {
    data: PathBuf,
    socket: PathBuf,
    /// The files that hold the locks. They are closed in every program that this process starts.
    _locks: (Option<File>, File),
}

impl DataFolder {
    pub(super) fn claim(asked: &Path) -> Result<Self, StartError> {
        let broken = |source| StartError::Folder { path: asked.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(asked).map_err(broken)?;
        let data = fs::canonicalize(asked).map_err(broken)?;
        let mode = fs::metadata(&data).map_err(broken)?.mode();
        if mode & 0o002 != 0 {
            return Err(StartError::OpenToAll(data));
        }
        if mode & 0o020 != 0 {
            warn!("the data folder {} can be written by its group: chmod g-w", data.display());
        }
        let fresh = fs::read_dir(&data).map_err(broken)?.next().is_none();
        if fresh || data.join(LOCK).exists() {
            // An existing folder with other files keeps its mode, and a new one is private. A volume's root may belong to another
            // user, who then chooses its mode. The files inside are private in any case.
            let closed = fs::set_permissions(&data, Permissions::from_mode(0o700));
            closed.or_else(forgive_foreign_owner).map_err(broken)?;
        }
        let locks = (lock_folder(&data)?, lock(&data)?);
        let socket = socket_path(&data).map_err(broken)?;
        Ok(Self { data, socket, _locks: locks })
    }

    pub(super) fn guard(&self) -> FolderGuard {
        FolderGuard::new(&self.data, &self.data.join(LOCK), &self.socket)
    }

    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Removes unfinished rewrites of a killed server before a start, because the next server does not use them.
    pub(super) fn remove_partial_rewrites(&self) {
        for begun in partial_rewrites(&self.data).into_iter().flatten() {
            if let Err(error) = fs::remove_file(&begun) {
                warn!(%error, "{} is of no use, and stays", begun.display());
            }
        }
    }

    /// Removes the socket after the server's end, because a killed server leaves it.
    pub(super) fn tidy(&self) {
        let _ = fs::remove_file(&self.socket);
        if let Some(short) = self.socket.parent().filter(|parent| *parent != self.data) {
            let _ = fs::remove_dir(short);
        }
    }
}

/// Temporary files of a rewrite.
pub(super) fn partial_rewrites(data: &Path) -> io::Result<Vec<PathBuf>> {
    let is_begun = |name: &str| name.starts_with("temp-") && [".aof", ".rdb"].iter().any(|end| name.ends_with(end));
    let files = fs::read_dir(data)?.filter_map(Result::ok);
    Ok(files.filter(|file| file.file_name().to_str().is_some_and(is_begun)).map(|file| file.path()).collect())
}

fn forgive_foreign_owner(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::PermissionDenied { Ok(()) } else { Err(error) }
}

/// Locks the folder itself, so it stays claimed if the lock file is removed, renamed or replaced. Some network file systems
/// cannot lock folders; the lock file is the only lock there.
fn lock_folder(data: &Path) -> Result<Option<File>, StartError> {
    let folder = File::open(data).map_err(|source| StartError::Folder { path: data.to_owned(), source })?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(data.to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// The lock file that earlier versions use.
fn lock(data: &Path) -> Result<File, StartError> {
    let broken = |source| StartError::Folder { path: data.to_owned(), source };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let file = options.open(data.join(LOCK)).map_err(|source| match source.raw_os_error() {
        Some(code) if code == Errno::LOOP.raw_os_error() => StartError::LinkedLock(data.join(LOCK)),
        _ => broken(source),
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(data.to_owned())),
        Err(TryLockError::Error(source)) => Err(broken(source)),
    }
}

/// The socket is in the data folder, where it is as safe as the data. If that path is too long for a socket, it is in a short
/// folder of its own, which a later run finds again.
fn socket_path(data: &Path) -> io::Result<PathBuf> {
    let socket = socket_place(data);
    let Some(short) = socket.parent().filter(|parent| *parent != data) else { return Ok(socket) };
    match DirBuilder::new().mode(0o700).create(short) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    if !is_private(&fs::symlink_metadata(short)?, fs::metadata(data.join(LOCK))?.uid()) {
        return Err(io::Error::other(format!("{} is not a private folder of ours", short.display())));
    }
    if socket.as_os_str().len() > MAX_SOCKET_PATH_BYTES {
        return Err(io::Error::other("its path is too long for a socket, and so is the temporary folder's"));
    }
    Ok(socket)
}

fn socket_place(data: &Path) -> PathBuf {
    let local = data.join(SOCKET);
    if local.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
        return local;
    }
    let digest = Sha256::digest(data.as_os_str().as_bytes());
    env::temp_dir().join(format!("intray-{}", hex(&digest[..8]))).join(SOCKET)
}

/// The socket of a server on this folder, if a private server has ever run here.
pub(super) fn kept_socket(asked: &Path) -> Option<PathBuf> {
    let data = fs::canonicalize(asked).ok()?;
    let owner = fs::metadata(data.join(LOCK)).ok()?.uid();
    let socket = socket_place(&data);
    let short = socket.parent().filter(|parent| *parent != data);
    let is_ours = short.is_none_or(|short| fs::symlink_metadata(short).is_ok_and(|folder| is_private(&folder, owner)));
    is_ours.then_some(socket)
}

/// A folder in a public place is trusted only if no other user can have created or changed it.
fn is_private(folder: &Metadata, owner: u32) -> bool {
    folder.is_dir() && folder.uid() == owner && folder.mode() & 0o077 == 0
}
