//! The size of a data folder, and the room on its disk.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tokio::{sync::watch, task::spawn_blocking};

use super::{
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

/// Reads the sizes by the rule of the running server, which may be asked for its memory. Nothing is claimed or changed.
///
/// # Errors
/// When the folder cannot be read.
pub async fn usage(data_dir: &Path) -> io::Result<FolderUsage> {
    let asked = data_dir.to_owned();
    spawn_blocking(move || look(&asked)).await.map_err(io::Error::other)?
}

fn look(asked: &Path) -> io::Result<FolderUsage> {
    let folder = fs::canonicalize(asked)?;
    let socket = folder::kept_socket(&folder).unwrap_or_default();
    let space = DiskSpace::new(&folder, &socket, watch::channel(None).0);
    let sizes = space.sizes()?;
    let shortage = shortage(sizes.free, space.rewrite(&sizes));
    Ok(FolderUsage { folder, data: sizes.files, free: sizes.free, shortage })
}
