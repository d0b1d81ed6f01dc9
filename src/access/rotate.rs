//! Rotates a key: adds a new key of the same name, role and pattern at once, and lets the old one expire after an overlap.

use std::{path::Path, time::Duration};

use super::{
    CredentialExpiry, HashStart, KeyName, MadeKey, Role,
    keys::{self, ApiKey, ApiKeys},
};
use crate::files;

/// The outcome of a rotation.
pub struct Rotated {
    pub made: MadeKey,
    /// The first digits of the hash of each old key, and its expiry.
    pub old: Vec<(String, CredentialExpiry)>,
}

/// Replaces the keys of a name, or the one whose hash begins with `hash`; the replaced keys expire after `overlap`.
///
/// # Errors
/// One line that names the file and says why it was not changed.
pub fn rotate(
    name: &KeyName,
    hash: Option<&HashStart>,
    until: Option<CredentialExpiry>,
    overlap: Duration,
    path: &Path,
) -> Result<Rotated, String> {
    files::change(path, |before| {
        ApiKeys::parse(before)?;
        let is_of = |line: &str| keys::is_line_of(line, name, hash);
        let live_keys: Vec<_> = before.lines().filter(|line| is_of(line)).filter_map(live).collect();
        let (role, pattern) = shared_role_and_pattern(name, &live_keys)?;
        let end = CredentialExpiry::after(overlap);
        let until = until.or_else(|| live_keys.iter().filter_map(|key| key.caller.until).max());
        if let Some(until) = until.filter(|until| *until <= end) {
            return Err(format!("the new key would end with the old one, at {until}: give it an --until"));
        }
        let made = keys::make(name, role, &pattern, until);
        let (after, old) = rewritten(before, &made.line, end, is_of);
        ApiKeys::parse(&after)?;
        Ok((after, Rotated { made, old }))
    })
}

fn live(line: &str) -> Option<ApiKey> {
    keys::parse_line(line.trim()).ok().filter(|key| !key.caller.has_expired())
}

/// The role and pattern that all of these keys share.
fn shared_role_and_pattern(name: &KeyName, live: &[ApiKey]) -> Result<(Role, super::Pattern), String> {
    let [first, rest @ ..] = live else {
        return Err(format!("no valid key is called {}", name.as_str()));
    };
    let is_same =
        |key: &ApiKey| (key.caller.role, key.caller.patterns()) == (first.caller.role, first.caller.patterns());
    match first.caller.patterns() {
        [pattern] if rest.iter().all(is_same) => Ok((first.caller.role, pattern.clone())),
        _ => Err(format!("the keys called {} are for different things: say which by --hash", name.as_str())),
    }
}

/// Returns the file's text with the new line after the last old key, and each old key with its new expiry.
fn rewritten(
    before: &str,
    new: &str,
    end: CredentialExpiry,
    is_of: impl Fn(&str) -> bool,
) -> (String, Vec<(String, CredentialExpiry)>) {
    let (mut after, mut old, mut place) = (String::new(), Vec::new(), 0);
    for line in before.split_inclusive('\n') {
        let text = line.trim_end();
        match live(text).filter(|_| is_of(text)) {
            None => after.push_str(line),
            Some(key) => {
                let ends = key.caller.until.map_or(end, |own| own.min(end));
                let hash = text.split_whitespace().nth(3).unwrap_or_default();
                let begin = text.rfind(hash).map_or(text, |at| &text[..at + hash.len()]);
                let ending = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
                after.push_str(&format!("{begin} until {ends}{ending}"));
                old.push((keys::shown_hash(text), ends));
                place = after.len();
            }
        }
    }
    after.insert_str(place, &format!("{new}\n"));
    (after, old)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::access::{Pattern, make, revoke};

    const DAY: Duration = Duration::from_secs(86_400);

    fn line(name: &str, role: Role, until: Option<&str>) -> String {
        let until = until.map(|date| date.parse().expect("a date"));
        make(&name.parse().expect("a name"), role, &Pattern::parse("a*").expect("a pattern"), until).line
    }

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        fs::write(&path, text).expect("written");
        (folder, path)
    }

    fn start(line: &str) -> HashStart {
        line.split_whitespace().nth(3).expect("a hash")[..8].parse().expect("digits")
    }

    #[test]
    fn rotated_keys_overlap_and_the_rest_stays() {
        let (web, other) = (line("web", Role::Producer, None), line("web2", Role::Worker, None));
        let (_folder, path) = file(&format!("# ours\r\n  {web}\r\n{other}"));
        let Rotated { made, old } = rotate(&"web".parse().expect("a name"), None, None, DAY, &path).expect("rotated");
        let [(_, ends)] = old.as_slice() else { panic!("{old:?}") };
        let after = fs::read_to_string(&path).expect("a file");
        assert_eq!(after, format!("# ours\r\n  {web} until {ends}\r\n{}\n{other}", made.line));
        let keys = ApiKeys::parse(&after).expect("a file");
        let caller = keys.find(&made.key).expect("known").expect("not over");
        assert_eq!((caller.role, caller.until, caller.patterns()[0].as_str()), (Role::Producer, None, "a*"));
        assert!(
            !ends.has_expired() && *ends <= CredentialExpiry::after(DAY) && *ends > CredentialExpiry::after(DAY / 2)
        );
        let again = rotate(&"web".parse().expect("a name"), None, None, Duration::ZERO, &path).expect("rotated");
        assert_eq!(again.old.len(), 2, "both end now");
        assert!(again.old.iter().all(|(_, until)| until.has_expired()));
    }

    #[test]
    fn one_of_several_keys_is_rotated_or_revoked() {
        let (one, two) = (line("web", Role::Producer, None), line("web", Role::Viewer, None));
        let text = format!("{one}\n{two}\n");
        let (_folder, path) = file(&text);
        let name: KeyName = "web".parse().expect("a name");
        let message = rotate(&name, None, None, DAY, &path).err().expect("which?");
        assert!(message.contains("--hash") && message.contains("nothing was changed"), "{message}");
        let rotated = rotate(&name, Some(&start(&two)), None, DAY, &path).expect("rotated");
        assert!(rotated.made.line.starts_with("web viewer a* "), "{}", rotated.made.line);
        assert_eq!(revoke(&name, Some(&start(&one)), &path).map(|gone| gone.len()), Ok(1));
        let left = fs::read_to_string(&path).expect("a file");
        assert!(left.starts_with(&two) && left.ends_with(&format!("{}\n", rotated.made.line)), "{left}");
        assert!(revoke(&name, Some(&start(&one)), &path).is_err(), "it is gone");
    }

    #[test]
    fn ends_of_keys_are_kept_or_asked_for() {
        let name: KeyName = "web".parse().expect("a name");
        let (_folder, path) = file(&line("web", Role::Worker, Some("2999-12-31")));
        let made = rotate(&name, None, None, DAY, &path).expect("rotated").made;
        assert!(made.line.ends_with(" until 3000-01-01T00:00:00Z"), "{}", made.line);
        let soon = CredentialExpiry::after(Duration::from_secs(60));
        let (_folder, path) = file(&format!("{} until {soon}\n", line("web", Role::Worker, None)));
        assert!(rotate(&name, None, None, DAY, &path).err().expect("no gain").contains("--until"));
        let later = "2999-12-31".parse().ok();
        assert_eq!(rotate(&name, None, later, DAY, &path).expect("rotated").old[0].1, soon, "it ends no later");
        let (_folder, path) = file(&line("web", Role::Worker, Some("1999-12-31")));
        assert!(rotate(&name, None, None, DAY, &path).err().expect("over").contains("no valid key is called web"));
    }
}
