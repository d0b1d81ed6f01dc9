//! Replaces an operator's file by renaming a new one over it, so that a reader, and a crash, finds either the old or the new text.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use super::read;

/// Replaces the text `before` with `after`. Owner and mode of the file stay.
///
/// # Errors
/// When the file cannot be written, or no longer holds `before`: then it is unchanged.
pub fn replace(path: &Path, before: &str, after: &str) -> io::Result<()> {
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
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let beside = beside(folder, path);
    let done = write(&beside, path, after).and_then(|()| put(&beside, path, before));
    if done.is_err() {
        // `create_new` made this file, so it is ours to remove.
        drop(fs::remove_file(&beside));
    }
    done.and_then(|()| File::open(folder)?.sync_all())
}

fn beside(folder: &Path, path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    folder.join(name)
}

/// Writes the text readable by us alone, and then gives it the owner and mode of the other file.
fn write(beside: &Path, like: &Path, text: &str) -> io::Result<()> {
    let meta = fs::metadata(like)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside)?;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (meta.uid(), meta.gid()) {
        fchown(&file, Some(meta.uid()), Some(meta.gid()))?;
    }
    file.set_permissions(Permissions::from_mode(meta.mode() & 0o777))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn put(beside: &Path, path: &Path, before: &str) -> io::Result<()> {
    if read(path)? != before {
        return Err(io::Error::other("another process has just changed it"));
    }
    fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_refuses_a_file_that_changed_meanwhile() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        fs::write(&path, "theirs").expect("written");
        assert!(replace(&path, "before", "after").expect_err("another text").to_string().contains("another process"));
        assert_eq!(fs::read_to_string(&path).expect("a file"), "theirs");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        replace(&path, "theirs", "after").expect("replaced");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "after");
    }

    #[test]
    fn replace_refuses_files_with_a_second_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, other] = ["keys", "other"].map(|name| folder.path().join(name));
        fs::write(&path, "before").expect("written");
        fs::hard_link(&path, &other).expect("linked");
        for name in [&path, &other] {
            assert!(replace(name, "before", "after").expect_err("two names").to_string().contains("second name"));
        }
        assert_eq!(fs::read_to_string(&path).expect("a file"), "before");
        fs::remove_file(&other).expect("removed");
        replace(&path, "before", "after").expect("replaced");
        std::os::unix::fs::symlink(&path, &other).expect("linked");
        assert!(replace(&other, "after", "x").expect_err("a link").to_string().contains("symbolic link"));
    }
}
