//! Changes an operator's file: what was read is replaced by renaming a new file over it, so that a reader, and a crash, finds either the
//! old or the new text. Two changes at once take turns.

use std::{
    fmt::Display,
    fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

use super::read;

/// How long a change waits for others.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two attempts to lock a file.
const LOCK_RETRY: Duration = Duration::from_millis(10);
const CHANGED: &str = "another process has just changed it";

/// Replaces a file's text with the one that `next` returns, and returns the other value of `next`. Owner and mode of the file stay.
///
/// # Errors
/// One line that names the file and says whether it was changed: it cannot be read, locked or written, `next` refuses, or a process
/// that takes no lock changed the file too.
pub fn change<T>(path: &Path, next: impl FnOnce(&str) -> Result<(String, T), String>) -> Result<T, String> {
    let unchanged = |why: &dyn Display| format!("{}: {why}; nothing was changed", path.display());
    let locked = lock(path).map_err(|error| unchanged(&error))?;
    let before = read(path).map_err(|error| unchanged(&error))?;
    let (after, made) = next(&before).map_err(|why| unchanged(&why))?;
    let new = replace(path, &locked, &before, &after).map_err(|error| unchanged(&error))?;
    let unsure = |why: &dyn Display| format!("{}: it was changed, but {why}: look at it", path.display());
    if !is_at(path, &new).map_err(|error| unsure(&error))? {
        return Err(unsure(&"another process has replaced it at the same time"));
    }
    File::open(folder_of(path)).and_then(|folder| folder.sync_all()).map_err(|error| unsure(&error))?;
    Ok(made)
}

/// Locks the file that is there, until the answer is dropped. Not its folder, which the private server may hold for as long as it runs.
fn lock(path: &Path) -> io::Result<File> {
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        let file = open(path)?;
        match file.try_lock() {
            // A lock on a file that was replaced meanwhile keeps no one out.
            Ok(()) if is_at(path, &file)? => return Ok(file),
            Ok(()) => continue,
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(LOCK_RETRY),
            Err(TryLockError::WouldBlock) => return Err(io::Error::other("another process holds its lock")),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// For writing too, where that is allowed: NFS gives no other file a lock of its own. No waiting for the writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let how = || {
        let mut how = OpenOptions::new();
        how.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        how
    };
    how().write(true).open(path).or_else(|_| how().open(path))
}

fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let id = |about: Metadata| (about.dev(), about.ino());
    Ok(id(fs::metadata(path)?) == id(file.metadata()?))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Replaces the text `before` with `after`, and returns the new file. After an error the file is unchanged.
fn replace(path: &Path, locked: &File, before: &str, after: &str) -> io::Result<File> {
    let about = fs::symlink_metadata(path)?;
    if about.nlink() > 1 {
        // The other name would keep the old text, and a service may read that one.
        return Err(io::Error::other(
            "it has a second name (a hard link), which would keep what it was: remove that one",
        ));
    }
    if about.is_symlink() {
        // A file of a mounted ConfigMap or Secret is a link too: the next update of the mount would undo the change.
        return Err(io::Error::other("it is a symbolic link, as a mounted ConfigMap has: change it where it leads"));
    }
    // Readable by us alone, until it has the owner and mode of the other file. It is removed unless it is renamed.
    let mut temporary = NamedTempFile::new_in(folder_of(path))?;
    let own = temporary.as_file().metadata()?;
    if (own.uid(), own.gid()) != (about.uid(), about.gid()) {
        fchown(&temporary, Some(about.uid()), Some(about.gid()))?;
    }
    temporary.as_file().set_permissions(Permissions::from_mode(about.mode() & 0o777))?;
    temporary.write_all(after.as_bytes())?;
    temporary.as_file().sync_all()?;
    // Locked before it has the name: else another change may replace it before it is seen there.
    temporary.as_file().try_lock()?;
    if !is_at(path, locked)? || read(path)? != before {
        return Err(io::Error::other(CHANGED));
    }
    Ok(temporary.persist(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(path: &Path, text: &str) -> Result<(), String> {
        change(path, |_| Ok((text.to_owned(), ())))
    }

    #[test]
    fn change_refuses_a_file_that_changed_meanwhile() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, other] = ["keys", "other"].map(|name| folder.path().join(name));
        fs::write(&path, "before").expect("written");
        let in_place = |_: &str| fs::write(&path, "theirs").expect("written");
        let renamed = |before: &str| {
            fs::write(&other, before).expect("written");
            fs::rename(&other, &path).expect("renamed");
        };
        for theirs in [&in_place as &dyn Fn(&str), &renamed] {
            let refused = change(&path, |before| {
                theirs(before);
                Ok(("after".to_owned(), ()))
            });
            let why = refused.expect_err("another text");
            assert!(why.contains("another process") && why.ends_with("nothing was changed"), "{why}");
        }
        assert_eq!(fs::read_to_string(&path).expect("a file"), "theirs");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        set(&path, "after").expect("changed");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "after");
    }

    #[test]
    fn changes_at_once_all_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        fs::write(&path, "").expect("written");
        let more = |before: &str| Ok((format!("{before}x"), before.len()));
        let add = || (0..10).map(|_| change(&path, more).expect("changed")).collect::<Vec<_>>();
        let mut found: Vec<_> = thread::scope(|scope| {
            let adding: Vec<_> = (0..8).map(|_| scope.spawn(add)).collect();
            adding.into_iter().flat_map(|one| one.join().expect("no panic")).collect()
        });
        found.sort_unstable();
        assert_eq!(found, (0..80).collect::<Vec<_>>(), "each began with what the one before wrote");
        assert_eq!(fs::read_to_string(&path).expect("a file").len(), 80);
    }

    #[test]
    fn change_refuses_files_with_a_second_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, other] = ["keys", "other"].map(|name| folder.path().join(name));
        fs::write(&path, "before").expect("written");
        fs::hard_link(&path, &other).expect("linked");
        for name in [&path, &other] {
            assert!(set(name, "after").expect_err("two names").contains("second name"));
        }
        assert_eq!(fs::read_to_string(&path).expect("a file"), "before");
        fs::remove_file(&other).expect("removed");
        set(&path, "after").expect("changed");
        std::os::unix::fs::symlink(&path, &other).expect("linked");
        assert!(set(&other, "x").expect_err("a link").contains("symbolic link"));
    }
}
