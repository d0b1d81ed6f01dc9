//! The size of a data folder, and the room on its disk.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use tokio::{sync::watch, task::spawn_blocking};

use rustix::fs::{Access, access};

use super::{
    aof_repair::FILES,
    folder,
    space::{DiskSpace, shortage},
};

/// A data folder, in bytes.
#[derive(Debug)]
pub struct FolderUsage {
    pub folder: PathBuf,
    /// The append-only files.
    pub data: u64,
    /// Free space of the disk.
    pub free: u64,
    /// Why nothing new is stored, if there is too little of it.
    pub shortage: Option<String>,
}

/// Whether a private server has no files there yet, and could make them. A folder that it may not look into counts as in use.
pub fn is_new(data_dir: &Path) -> bool {
    let has_none = matches!(data_dir.join(FILES).try_exists(), Ok(false));
    let is_open_to_all = fs::metadata(data_dir).is_ok_and(|folder| folder.mode() & 0o002 != 0);
    has_none && !is_open_to_all && existing(data_dir).is_ok_and(|folder| check_writable(&folder).is_ok())
}

/// The folder itself, or the one in which it would be made.
fn existing(data_dir: &Path) -> io::Result<PathBuf> {
    let folder = std::path::absolute(data_dir)?;
    Ok(folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/")).to_owned())
}

fn check_writable(folder: &Path) -> io::Result<()> {
    access(folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| io::Error::new(error.kind(), format!("{} cannot be written: {error}", folder.display())))
}

/// Reads the sizes by the rule of the running server, which may be asked for its memory. Nothing is claimed or changed.
///
/// # Errors
/// When the folder cannot be read, or cannot be made where it is not there yet.
pub async fn usage(data_dir: &Path) -> io::Result<FolderUsage> {
    let asked = data_dir.to_owned();
    spawn_blocking(move || look(&asked)).await.map_err(io::Error::other)?
}

fn look(asked: &Path) -> io::Result<FolderUsage> {
    let folder = match fs::canonicalize(asked) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return look_around(asked),
        folder => folder?,
    };
    let socket = folder::kept_socket(&folder).unwrap_or_default();
    let space = DiskSpace::new(&folder, &socket, watch::channel(None).0);
    let sizes = space.sizes()?;
    let shortage = shortage(sizes.free, space.rewrite(&sizes));
    Ok(FolderUsage { folder, data: sizes.files, free: sizes.free, shortage })
}

/// The same for a folder that is still to be made.
fn look_around(asked: &Path) -> io::Result<FolderUsage> {
    let (folder, existing) = (std::path::absolute(asked)?, existing(asked)?);
    check_writable(&existing)?;
    let free = DiskSpace::new(&existing, Path::new(""), watch::channel(None).0).sizes()?.free;
    Ok(FolderUsage { folder, data: 0, free, shortage: shortage(free, 0) })
}
