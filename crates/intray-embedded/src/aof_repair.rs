//! Checks the append-only files before a server reads them, and cuts off an end that a power cut has damaged.
//!
//! A power cut may leave zeros or garbage in place of the last second, and a server does not start with such a file. Only the
//! end of the newest file is cut, only if no complete entry follows the damage, and only after a copy of the file was made. A
//! file that ends within an entry is left to the server, which cuts it itself.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use tracing::warn;

use super::aof_scan::{self, AofEnd, AofScan};

/// The folder of the server's append-only files, and their manifest.
pub(super) const FILES: &str = "appendonlydir";
pub(super) const MANIFEST: &str = "appendonly.aof.manifest";
/// Garbage up to this length counts as a damaged end. Longer garbage is another kind of damage.
const MAX_TORN_BYTES: u64 = 64 << 10;
const READ_BUFFER_BYTES: usize = 1 << 18;

/// Damage that is not repaired. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    #[error("{} is damaged at byte {at}, and there is more after the damage; nothing was changed. Copy the folder, then cut off all from there on with: {checker} --fix {}", file.display(), quoted(manifest))]
    Broken { file: PathBuf, at: u64, checker: &'static str, manifest: PathBuf },
    #[error("{} is missing, which {} names: bring it back from a copy of the folder", file.display(), manifest.display())]
    Missing { file: PathBuf, manifest: PathBuf },
    #[error("{} is missing or empty, which names the files next to it: bring it back from a copy of the folder", .0.display())]
    NoManifest(PathBuf),
    #[error("{} cannot be looked at: {why}", file.display())]
    Io { file: PathBuf, why: io::Error },
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Checks all files, and cuts a damaged end off the newest.
pub(super) fn repair_aof(data: &Path, checker: &'static str) -> Result<(), Damage> {
    let manifest = data.join(FILES).join(MANIFEST);
    let Some(files) = named_in(&manifest)? else { return Ok(()) };
    let newest = newest(&files);
    for (n, ManifestEntry { name, is_appended, .. }) in files.iter().enumerate() {
        let file = data.join(FILES).join(name);
        if !file.exists() {
            return Err(Damage::Missing { file, manifest });
        }
        if !is_appended {
            continue;
        }
        let broken = |why| Damage::Io { file: file.clone(), why };
        let mut opened = File::open(&file).map_err(broken)?;
        let survey = aof_scan::scan(BufReader::with_capacity(READ_BUFFER_BYTES, &opened)).map_err(broken)?;
        let AofEnd::Broken { entry: at, .. } = survey.end else { continue };
        if newest != Some(n) || !is_torn(&mut opened, &survey).map_err(broken)? {
            return Err(Damage::Broken { file, at, checker, manifest });
        }
        cut(data, &file, survey.whole).map_err(broken)?;
    }
    Ok(())
}

/// A file in the server's manifest.
pub(super) struct ManifestEntry {
    pub(super) name: String,
    /// Whether a server appends to it, or has done so.
    pub(super) is_appended: bool,
    /// Its line in the manifest.
    pub(super) line: String,
}

/// The file that a server appends to.
pub(super) fn newest(files: &[ManifestEntry]) -> Option<usize> {
    files.iter().rposition(|file| file.is_appended)
}

/// The files in order, without those marked for removal. `None`: no server has ever run here.
pub(super) fn named_in(manifest: &Path) -> Result<Option<Vec<ManifestEntry>>, Damage> {
    let text = match fs::read(manifest) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if has_entries(manifest) { Err(Damage::NoManifest(manifest.to_owned())) } else { Ok(None) };
        }
        Err(why) => return Err(Damage::Io { file: manifest.to_owned(), why }),
    };
    if text.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace()) {
        return Err(Damage::NoManifest(manifest.to_owned()));
    }
    // The server rejects lines that it cannot parse.
    let text = String::from_utf8_lossy(&text);
    let line = |line: &str| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        // Newer servers append further fields.
        ["file", name, "seq", _, "type", kind @ ("b" | "i"), ..] => {
            Some(ManifestEntry { name: (*name).to_owned(), is_appended: *kind == "i", line: line.to_owned() })
        }
        _ => None,
    };
    Ok(Some(text.lines().filter_map(line).collect()))
}

/// A server that ended right after its start leaves empty files without a manifest.
fn has_entries(manifest: &Path) -> bool {
    let Some(files) = manifest.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return false };
    let is_filled = |entry: fs::DirEntry| {
        entry.file_name().to_string_lossy().ends_with(".incr.aof") && entry.metadata().is_ok_and(|meta| meta.len() > 0)
    };
    files.filter_map(Result::ok).any(is_filled)
}

/// Whether a power cut explains the damage: zeros to the end, or a little garbage without a complete entry.
pub(super) fn is_torn(file: &mut File, survey: &AofScan) -> io::Result<bool> {
    let AofEnd::Broken { entry, wrong } = survey.end else { return Ok(false) };
    let length = file.metadata()?.len();
    if length - entry < MAX_TORN_BYTES {
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(entry))?;
        file.read_to_end(&mut rest)?;
        return Ok(!aof_scan::contains_entry(&rest));
    }
    file.seek(SeekFrom::Start(wrong))?;
    let mut rest = BufReader::with_capacity(READ_BUFFER_BYTES, file);
    loop {
        match rest.fill_buf()? {
            [] => return Ok(true),
            some if some.iter().any(|byte| *byte != 0) => return Ok(false),
            some => {
                let read = some.len();
                rest.consume(read)
            }
        }
    }
}

/// The copy is on disk before the file is cut.
fn cut(data: &Path, file: &Path, whole: u64) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let aside = data.join(format!("{name}.torn-{now}"));
    fs::copy(file, &aside)?;
    File::open(&aside)?.sync_all()?;
    File::open(data)?.sync_all()?;
    let file_itself = OpenOptions::new().write(true).open(file)?;
    let bytes = file_itself.metadata()?.len() - whole;
    file_itself.set_len(whole)?;
    file_itself.sync_all()?;
    warn!(
        file = %file.display(), bytes, kept = whole, aside = %aside.display(),
        "the end of the append-only file is torn, as a power cut leaves it: it is cut off, and the file as it was is set aside"
    );
    Ok(())
}
