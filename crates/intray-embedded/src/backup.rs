//! `intray backup` and `intray restore`: a consistent copy of the private server's files, and its restore.
//!
//! A server that rewrites its append-only file replaces the files and their manifest, so a plain copy of the folder may hold a
//! manifest with missing files. This module reads the manifest first, then opens every file in it, and copies the files last.
//! An open file can be read to its end even if the server removes it meanwhile. The server appends to the newest file only,
//! which is cut after the last complete transaction.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufReader, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::{
    StartError,
    aof_repair::{self, Damage, FILES, MANIFEST, ManifestEntry},
    aof_scan::{self, AofEnd},
    folder::DataFolder,
};
use intray_base::sha256::{Sha256, hex};

/// The checksums of a backup, in the format of `sha256sum --check`. It is written last: a backup without it is incomplete.
const SUMS: &str = "backup.sha256";
/// The folder that a restore writes to until all files are verified.
const RESTORING: &str = "restoring";
/// Files that a folder may contain before a restore: the lock file, and those of a file system's root.
const ALLOWED: [&str; 3] = [super::folder::LOCK, RESTORING, "lost+found"];
/// A rewrite may remove files between reading the manifest and opening them. The manifest is then read again: attempts, delay.
const MAX_ATTEMPTS: usize = 100;
const RETRY_DELAY: Duration = Duration::from_millis(20);
const READ_BUFFER_BYTES: usize = 1 << 18;

/// The size of a copy.
#[derive(Debug)]
pub struct Copied {
    pub files: usize,
    pub bytes: u64,
}

/// Why a backup or restore failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("{}: {why}", path.display())]
    Io { path: PathBuf, why: io::Error },
    #[error("{} is not empty: name a new folder", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} holds no data of a private server", .0.display())]
    NoData(PathBuf),
    #[error("the files in {} are replaced again and again: try it again", .0.display())]
    Restless(PathBuf),
    #[error("{} is damaged at byte {at}: a start of the service says what to do", path.display())]
    Damaged { path: PathBuf, at: u64 },
    #[error("{} is no whole backup: {what}", path.display())]
    NotWhole { path: PathBuf, what: String },
    #[error(transparent)]
    Files(#[from] Damage),
    #[error(transparent)]
    Folder(#[from] StartError),
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> CopyError + use<> {
    let path = path.to_owned();
    move |why| CopyError::Io { path, why }
}

/// Copies the private server's files into a new folder, whether the server runs or not. The copy contains all changes that were
/// acknowledged before the call.
///
/// # Errors
/// One line for the operator. A partial copy is removed.
pub fn backup(data: &Path, to: &Path) -> Result<Copied, CopyError> {
    let (manifest, files) = opened(&data.join(FILES))?;
    new_folder(to)?;
    let copied = copy_all(&files, &manifest, to);
    if copied.is_err() {
        // The error gives the reason. A folder without checksums is not a valid backup, even if it cannot be removed.
        let _ = fs::remove_dir_all(to.join(FILES));
    }
    copied
}

/// Copies a backup into an empty data folder, after each file has been verified.
///
/// # Errors
/// One line for the operator. A partial copy is removed.
pub fn restore(from: &Path, data: &Path) -> Result<Copied, CopyError> {
    let sums = sums(from)?;
    must_be_empty(data)?;
    let folder = DataFolder::claim(data)?;
    let (begun, there) = (folder.data().join(RESTORING), folder.data().join(FILES));
    let _ = fs::remove_dir_all(&begun); // what a restore that was killed has left
    new_folder(&begun)?;
    let restored = bring_back(&sums, from, &begun);
    match &restored {
        Ok(_) => fs::rename(&begun, &there).and_then(|()| sync(folder.data())).map_err(io_at(&there))?,
        Err(_) => _ = fs::remove_dir_all(&begun),
    }
    restored
}

/// An open file of the server, with its length at that time.
struct OpenFile {
    name: String,
    file: File,
    length: u64,
    is_appended: bool,
    is_newest: bool,
}

/// The manifest and all files in it. An open file stays readable even if the server removes it.
fn opened(folder: &Path) -> Result<(String, Vec<OpenFile>), CopyError> {
    for _ in 0..MAX_ATTEMPTS {
        let named = aof_repair::named_in(&folder.join(MANIFEST))?.filter(|named| !named.is_empty());
        let Some(named) = named else { return Err(CopyError::NoData(folder.to_owned())) };
        let newest = aof_repair::newest(&named);
        let open = |(n, ManifestEntry { name, is_appended, .. }): (usize, &ManifestEntry)| {
            let file = File::open(folder.join(name))?;
            let length = file.metadata()?.len();
            Ok(OpenFile { name: name.clone(), file, length, is_appended: *is_appended, is_newest: newest == Some(n) })
        };
        match named.iter().enumerate().map(open).collect::<io::Result<Vec<_>>>() {
            Ok(files) => return Ok((named.iter().flat_map(|file| [&file.line, "\n"]).collect(), files)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => thread::sleep(RETRY_DELAY),
            Err(why) => return Err(CopyError::Io { path: folder.to_owned(), why }),
        }
    }
    Err(CopyError::Restless(folder.to_owned()))
}

fn copy_all(files: &[OpenFile], manifest: &str, to: &Path) -> Result<Copied, CopyError> {
    let folder = to.join(FILES);
    new_folder(&folder)?;
    let (mut sums, mut bytes) = (String::new(), 0);
    for source in files {
        let path = folder.join(&source.name);
        let mut copy = new_file(&path)?;
        io::copy(&mut (&source.file).take(source.length), &mut copy).map_err(io_at(&path))?;
        if source.is_appended {
            cut(&copy, &path, source.is_newest)?;
        }
        copy.sync_all().map_err(io_at(&path))?;
        let (sum, length) = digest(&path, &mut io::sink())?;
        bytes += length;
        sums += &format!("{sum}  {FILES}/{}\n", source.name);
    }
    sums += &format!("{}  {FILES}/{MANIFEST}\n", hex(Sha256::digest(manifest.as_bytes())));
    written(&folder.join(MANIFEST), manifest)?;
    sync(&folder).map_err(io_at(&folder))?;
    written(&to.join(SUMS), &sums)?;
    sync(to).map_err(io_at(to))?;
    Ok(Copied { files: files.len(), bytes })
}

/// The server was within a transaction, or was killed in one, so it has not acknowledged any of it.
fn cut(copy: &File, path: &Path, is_newest: bool) -> Result<(), CopyError> {
    let mut file = File::open(path).map_err(io_at(path))?;
    let survey = aof_scan::scan(BufReader::with_capacity(READ_BUFFER_BYTES, &file)).map_err(io_at(path))?;
    let at = match survey.end {
        AofEnd::Whole => return Ok(()),
        AofEnd::Short(at) | AofEnd::Broken { entry: at, .. } => at,
    };
    let is_short = matches!(survey.end, AofEnd::Short(_));
    if is_newest && (is_short || aof_repair::is_torn(&mut file, &survey).map_err(io_at(path))?) {
        return copy.set_len(survey.whole).map_err(io_at(path));
    }
    Err(CopyError::Damaged { path: path.to_owned(), at })
}

/// The checksum of each file in a backup, by relative path. All files of the server's manifest must be included.
fn sums(from: &Path) -> Result<BTreeMap<String, String>, CopyError> {
    let not_whole = |what: String| CopyError::NotWhole { path: from.to_owned(), what };
    let path = from.join(SUMS);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(not_whole(format!("{SUMS} is missing, which is written last")));
        }
        text => text.map_err(io_at(&path))?,
    };
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let parts = line.split_once("  ").and_then(|(sum, file)| Some((sum, file.strip_prefix(FILES)?)));
        let (sum, name) = parts.ok_or_else(|| not_whole(format!("{SUMS} has a line that is no sum")))?;
        let name = name.strip_prefix('/').filter(|name| !name.is_empty() && !name.contains('/') && *name != "..");
        let name = name.ok_or_else(|| not_whole(format!("{SUMS} names a file elsewhere")))?;
        sums.insert(name.to_owned(), sum.to_owned());
    }
    let named = aof_repair::named_in(&from.join(FILES).join(MANIFEST))?.unwrap_or_default();
    let missing =
        [MANIFEST].into_iter().chain(named.iter().map(|file| &*file.name)).find(|name| !sums.contains_key(*name));
    match missing {
        Some(missing) => Err(not_whole(format!("{SUMS} has no sum of {missing}"))),
        None => Ok(sums),
    }
}

fn bring_back(sums: &BTreeMap<String, String>, from: &Path, begun: &Path) -> Result<Copied, CopyError> {
    let mut bytes = 0;
    for (name, expected) in sums {
        let (there, here) = (from.join(FILES).join(name), begun.join(name));
        let mut file = new_file(&here)?;
        let (sum, length) = digest(&there, &mut file)?;
        if sum != *expected {
            let what = format!("{name} is not what was written; its sum is {sum}");
            return Err(CopyError::NotWhole { path: from.to_owned(), what });
        }
        file.sync_all().map_err(io_at(&here))?;
        bytes += if name == MANIFEST { 0 } else { length };
    }
    sync(begun).map_err(io_at(begun))?;
    Ok(Copied { files: sums.len() - 1, bytes })
}

/// The checksum and the length of a file, which is optionally copied at the same time.
fn digest(path: &Path, copy: &mut impl Write) -> Result<(String, u64), CopyError> {
    let mut file = File::open(path).map_err(io_at(path))?;
    let (mut sum, mut length, mut some) = (Sha256::default(), 0, vec![0; READ_BUFFER_BYTES]);
    loop {
        let read = file.read(&mut some).map_err(io_at(path))?;
        if read == 0 {
            return Ok((hex(sum.finalize()), length));
        }
        sum.update(&some[..read]);
        copy.write_all(&some[..read]).map_err(io_at(path))?;
        length += read as u64;
    }
}

/// Only the owner may read it, because it contains payloads and live reservations.
fn new_folder(path: &Path) -> Result<(), CopyError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io_at(path))?;
    match fs::read_dir(path).map_err(io_at(path))?.next() {
        None => Ok(()),
        Some(_) => Err(CopyError::NotEmpty(path.to_owned())),
    }
}

fn must_be_empty(data: &Path) -> Result<(), CopyError> {
    let there = match fs::read_dir(data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there.map_err(io_at(data))?,
    };
    let is_allowed = |entry: fs::DirEntry| ALLOWED.iter().any(|name| entry.file_name() == *name);
    match there.filter_map(Result::ok).all(is_allowed) {
        true => Ok(()),
        false => Err(CopyError::NotEmpty(data.to_owned())),
    }
}

fn new_file(path: &Path) -> Result<File, CopyError> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(io_at(path))
}

fn written(path: &Path, text: &str) -> Result<(), CopyError> {
    let mut file = new_file(path)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(io_at(path))
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
