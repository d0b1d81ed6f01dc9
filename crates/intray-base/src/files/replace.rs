//! Replaces an operator's file by renaming a new one over it, so that a reader, and a crash, finds either the old or the new text.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::Path,
};

use tempfile::NamedTempFile;

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
    // Readable by us alone, until it has the owner and mode of the other file. It is removed unless it is renamed.
    let mut beside = NamedTempFile::new_in(folder)?;
    let own = beside.as_file().metadata()?;
    if (own.uid(), own.gid()) != (about.uid(), about.gid()) {
        fchown(&beside, Some(about.uid()), Some(about.gid()))?;
    }
    beside.as_file().set_permissions(Permissions::from_mode(about.mode() & 0o777))?;
    beside.write_all(after.as_bytes())?;
    beside.as_file().sync_all()?;
    if read(path)? != before {
        return Err(io::Error::other("another process has just changed it"));
    }
    beside.persist(path)?;
    File::open(folder)?.sync_all()
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
