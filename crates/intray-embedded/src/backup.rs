//! `intray backup` and `intray restore`: a copy of the private server's files that is right at any time, and the way back.
//!
//! A server that rewrites its append-only file replaces the files and the list of them, so a copy that walks the folder may
//! hold a list that names what is not there. Here the list is read first, then every file that it names is opened, and only
//! then are they copied: what is open is read to its end even when the server has removed it meanwhile. The server appends to
//! the newest file only, which is cut behind the last whole transaction.

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
    entries::{self, AofEnd},
    folder::DataFolder,
    mend::{self, Damage, FILES, MANIFEST, ManifestEntry},
};
use intray_base::sha256::{Sha256, hex};

/// The list of what is in a backup, as `sha256sum --check` reads it. It is written last: a backup without it is not whole.
const SUMS: &str = "backup.sha256";
/// What a restore writes to before all of it is known to be whole.
const RESTORING: &str = "restoring";
/// What a folder may hold that is to be restored into: our lock, and what a file system puts at its root.
const ALLOWED: [&str; 3] = [super::folder::LOCK, RESTORING, "lost+found"];
/// A rewrite that ends between two looks removes files: so often, and after so long, the list is read again.
const MAX_ATTEMPTS: usize = 100;
const RETRY_DELAY: Duration = Duration::from_millis(20);
const READ_BUFFER_BYTES: usize = 1 << 18;

/// What was copied.
#[derive(Debug)]
pub struct Copied {
    pub files: usize,
    pub bytes: u64,
}

/// Why there is no copy.
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

/// Copies the private server's files into a new folder, whether the server runs or not. All that was acknowledged before the
/// call is in the copy.
///
/// # Errors
/// One line for the operator. What was begun is removed.
pub fn backup(data: &Path, to: &Path) -> Result<Copied, CopyError> {
    let (manifest, files) = opened(&data.join(FILES))?;
    new_folder(to)?;
    let copied = copy_all(&files, &manifest, to);
    if copied.is_err() {
        // The reason is the error; a folder without its list of sums is no backup in any case.
        let _ = fs::remove_dir_all(to.join(FILES));
    }
    copied
}

/// Copies a backup into a data folder that has nothing in it yet, after each file was found to be whole.
///
/// # Errors
/// One line for the operator. What was begun is removed.
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

/// A file of the server, open, with its length when it was opened.
struct OpenFile {
    name: String,
    file: File,
    length: u64,
    is_appended: bool,
    is_newest: bool,
}

/// The list of the files, and all that it names. What is open stays readable whatever the server does.
fn opened(folder: &Path) -> Result<(String, Vec<OpenFile>), CopyError> {
    for _ in 0..MAX_ATTEMPTS {
        let named = mend::named_in(&folder.join(MANIFEST))?.filter(|named| !named.is_empty());
        let Some(named) = named else { return Err(CopyError::NoData(folder.to_owned())) };
        let newest = mend::newest(&named);
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
    sums += &format!("{}  {FILES}/{MANIFEST}\n", hex(&Sha256::digest(manifest.as_bytes())));
    written(&folder.join(MANIFEST), manifest)?;
    sync(&folder).map_err(io_at(&folder))?;
    written(&to.join(SUMS), &sums)?;
    sync(to).map_err(io_at(to))?;
    Ok(Copied { files: files.len(), bytes })
}

/// The server was in the middle of a transaction, or was killed in one: it has answered none of it.
fn cut(copy: &File, path: &Path, is_newest: bool) -> Result<(), CopyError> {
    let mut file = File::open(path).map_err(io_at(path))?;
    let survey = entries::scan(BufReader::with_capacity(READ_BUFFER_BYTES, &file)).map_err(io_at(path))?;
    let at = match survey.end {
        AofEnd::Whole => return Ok(()),
        AofEnd::Short(at) | AofEnd::Broken { entry: at, .. } => at,
    };
    let is_short = matches!(survey.end, AofEnd::Short(_));
    if is_newest && (is_short || mend::is_torn(&mut file, &survey).map_err(io_at(path))?) {
        return copy.set_len(survey.whole).map_err(io_at(path));
    }
    Err(CopyError::Damaged { path: path.to_owned(), at })
}

/// Each file of a backup by its path in it, with its sum. All that the list of the server names is among them.
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
    let named = mend::named_in(&from.join(FILES).join(MANIFEST))?.unwrap_or_default();
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

/// The sum and the length of a file, which is written to another on the way.
fn digest(path: &Path, copy: &mut impl Write) -> Result<(String, u64), CopyError> {
    let mut file = File::open(path).map_err(io_at(path))?;
    let (mut sum, mut length, mut some) = (Sha256::default(), 0, vec![0; READ_BUFFER_BYTES]);
    loop {
        let read = file.read(&mut some).map_err(io_at(path))?;
        if read == 0 {
            return Ok((hex(&sum.finalize()), length));
        }
        sum.update(&some[..read]);
        copy.write_all(&some[..read]).map_err(io_at(path))?;
        length += read as u64;
    }
}

/// What is in it is for its owner alone: payloads, and reservations that are live.
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
