//! Revokes a key: removes its lines from the file and leaves every other byte as it was.

use std::path::Path;

use super::{
    HashStart, KeyName,
    keys::{self, ApiKeys},
};
use crate::files;

/// Removes all keys of a name from a file, or only the one whose hash begins with `hash`. Returns the first digits of each hash.
///
/// # Errors
/// One line that names the file and says why it was not changed.
pub fn revoke(name: &KeyName, hash: Option<&HashStart>, path: &Path) -> Result<Vec<String>, String> {
    files::change(path, |before| {
        let is_of = |line: &&str| keys::is_line_of(line, name, hash);
        let kept: String = before.split_inclusive('\n').filter(|line| !is_of(line)).collect();
        let gone: Vec<String> = before.lines().filter(is_of).map(keys::shown_hash).collect();
        match (gone.len(), hash) {
            (0, None) => return Err(format!("no key is called {}", name.as_str())),
            (0, Some(_)) => return Err(format!("no key called {} has this hash", name.as_str())),
            (2.., Some(_)) => return Err("several hashes begin with these digits: give more of them".to_owned()),
            (_, _) => {}
        }
        // A service refuses an invalid file and keeps the keys it has read before, the revoked one among them.
        ApiKeys::parse(&kept).map_err(|why| format!("without it the file could not be used: {why}"))?;
        Ok((kept, gone))
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
        path::PathBuf,
    };

    use super::*;
    use crate::access::{Pattern, Role, make};

    fn line(name: &str) -> String {
        make(&name.parse().expect("a name"), Role::Worker, &Pattern::all(), None).line
    }

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        fs::write(&path, text).expect("written");
        (folder, path)
    }

    fn revoked(name: &str, path: &Path) -> Result<usize, String> {
        revoke(&name.parse().expect("a name"), None, path).map(|gone| gone.len())
    }

    fn names_in(folder: &Path) -> usize {
        fs::read_dir(folder).expect("a folder").count()
    }

    #[test]
    fn revoke_removes_all_lines_of_a_name_and_no_other_byte() {
        let (web, other) = (line("web"), line("web2"));
        let (folder, path) =
            file(&format!("# web: ours\r\n\n  {web}\n{other}\r\n{} until 2030-01-01\n#end", line("web")));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        assert_eq!(revoked("web", &path), Ok(2));
        assert_eq!(fs::read_to_string(&path).expect("a file"), format!("# web: ours\r\n\n{other}\r\n#end"));
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o640);
        assert_eq!(names_in(folder.path()), 1, "nothing is left next to it");
        let again = revoked("web", &path).expect_err("it is gone");
        assert!(again.contains("no key is called web"), "{again}");
    }

    #[test]
    fn revoke_leaves_a_file_that_would_be_invalid_and_says_where() {
        let (web, text) = (line("web"), format!("{}\nsecret\n{}\n", line("web"), line("a")));
        let (_folder, path) = file(&text);
        let message = revoked("web", &path).expect_err("a broken line");
        assert!(
            message.contains("line 1") && message.contains("nothing was changed") && !message.contains("secret"),
            "{message}"
        );
        assert_eq!(fs::read_to_string(&path).expect("a file"), text);
        // A broken line of the revoked key itself is removed.
        fs::write(&path, format!("{web} until soon\n{}\n", line("a"))).expect("written");
        assert_eq!(revoked("web", &path), Ok(1));
    }

    #[test]
    fn revoke_refuses_symbolic_links_and_folders() {
        let text = line("web");
        let (folder, path) = file(&text);
        let link = folder.path().join("link");
        symlink(&path, &link).expect("a link");
        let message = revoked("web", &link).expect_err("a link");
        assert!(message.contains("symbolic link") && message.contains("nothing was changed"), "{message}");
        assert!(revoked("web", folder.path()).is_err());
        assert!(revoked("web", &folder.path().join("none")).is_err());
        assert_eq!(fs::read_to_string(&path).expect("a file"), text);
        assert_eq!(names_in(folder.path()), 2);
    }
}
