//! The size of a data folder, and the room on its disk.

use std::{
    fs, io,
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

/// Whether a private server has its files there.
pub fn has_data(data_dir: &Path) -> bool {
    data_dir.join(FILES).exists()
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
    let folder = std::path::absolute(asked)?;
    let existing = folder.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    access(existing, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| io::Error::new(error.kind(), format!("{} cannot be written: {error}", existing.display())))?;
    let free = DiskSpace::new(existing, Path::new(""), watch::channel(None).0).sizes()?.free;
    Ok(FolderUsage { folder, data: 0, free, shortage: shortage(free, 0) })
}
