//! Files that are reloaded when one of them changes. A file that cannot be read or parsed changes nothing.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::watch as latest,
    task::{JoinError, JoinHandle},
};
use tokio_util::sync::CancellationToken;

use super::read;

/// Time between two checks of the files.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Time until the second check of a file that has changed.
const RECHECK_AFTER_CHANGE: Duration = Duration::from_millis(200);
/// A check that takes longer is logged.
const SLOW_CHECK: Duration = Duration::from_secs(5);

/// Describes what was read, for the log.
pub trait Describe {
    /// Like `3 keys`.
    fn describe(&self) -> String;

    /// What was left out, and why.
    fn warnings(&self) -> &[String] {
        &[]
    }
}

pub struct Watched<T> {
    paths: Vec<PathBuf>,
    make: fn(&[String]) -> Result<T, String>,
    now: latest::Sender<Arc<T>>,
    last: Mutex<LastRead>,
}

/// The texts of the files, or why one cannot be read.
type Texts = Result<Vec<String>, String>;

struct LastRead {
    /// The texts that were parsed last, whether they were valid or not.
    accepted: Texts,
    /// Changed texts that one check has seen.
    pending: Option<Texts>,
}

impl<T: Describe> Watched<T> {
    /// # Errors
    /// One line that says which file is invalid.
    pub fn open(paths: Vec<PathBuf>, make: fn(&[String]) -> Result<T, String>) -> Result<Self, String> {
        let texts = read_all(&paths)?;
        let current = make(&texts).map_err(|why| format!("{}: {why}", names(&paths)))?;
        Ok(Self {
            paths,
            make,
            now: latest::Sender::new(Arc::new(current)),
            last: Mutex::new(LastRead { accepted: Ok(texts), pending: None }),
        })
    }

    pub fn now(&self) -> Arc<T> {
        self.now.borrow().clone()
    }

    /// Shows that the content has changed, from now on.
    pub fn follow(&self) -> latest::Receiver<Arc<T>> {
        self.now.subscribe()
    }

    /// The paths, for a message.
    pub fn names(&self) -> String {
        names(&self.paths)
    }

    /// What was left out of the current content, each with the path.
    pub fn warnings(&self) -> Vec<String> {
        self.now().warnings().iter().map(|line| format!("{}: {line}", self.names())).collect()
    }

    /// Compares texts, not modification times: a file may change twice within the clock's resolution, or return with an older
    /// time. A text is accepted when a second check finds it unchanged, because an editor that writes in place leaves the file
    /// empty or half-written for a moment. Returns the time until the next check.
    pub fn check(&self) -> Duration {
        let texts = read_all(&self.paths);
        let mut last = self.last.lock();
        if last.accepted == texts {
            last.pending = None;
            return CHECK_INTERVAL;
        }
        if last.pending.as_ref() != Some(&texts) {
            let is_emptied = texts.as_ref().is_ok_and(|texts| texts.iter().any(|text| text.trim().is_empty()));
            last.pending = Some(texts);
            return if is_emptied { CHECK_INTERVAL } else { RECHECK_AFTER_CHANGE };
        }
        last.pending = None;
        self.accept(&texts);
        last.accepted = texts;
        CHECK_INTERVAL
    }

    fn accept(&self, texts: &Texts) {
        let changed = format!("{} changed", names(&self.paths));
        match texts.as_ref().map_err(Clone::clone).and_then(|texts| (self.make)(texts)) {
            Ok(new) => {
                tracing::info!("{changed}: {}", new.describe());
                self.now.send_replace(Arc::new(new));
                self.warnings().iter().for_each(|line| tracing::warn!("{line}"));
            }
            Err(why) => tracing::warn!("{changed} and cannot be used; the previous content stays in use: {why}"),
        }
    }
}

/// Checks files until `stop`; each check returns the time until the next one.
pub async fn watch(of: &'static str, look: impl Fn() -> Duration + Clone + Send + 'static, stop: CancellationToken) {
    let mut wait = CHECK_INTERVAL;
    while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
        let looking = tokio::task::spawn_blocking(look.clone());
        // A dead disk may block the check: wait for this one unless the service stops.
        wait = match stop.run_until_cancelled(warn_if_slow(of, looking)).await {
            Some(Ok(wait)) => wait,
            Some(Err(_)) => {
                tracing::error!("the files of {of} cannot be looked at");
                CHECK_INTERVAL
            }
            None => return,
        };
    }
}

async fn warn_if_slow(of: &str, mut look: JoinHandle<Duration>) -> Result<Duration, JoinError> {
    if let Ok(looked) = tokio::time::timeout(SLOW_CHECK, &mut look).await {
        return looked;
    }
    tracing::warn!(
        "a look at the files of {of} takes more than {} s; what was read before stays",
        SLOW_CHECK.as_secs()
    );
    let looked = look.await;
    tracing::info!("the files of {of} can be looked at again");
    looked
}

fn read_all(paths: &[PathBuf]) -> Texts {
    let named = |path: &Path, error| format!("{}: {error}", path.display());
    paths.iter().map(|path| read(path).map_err(|error| named(path, error))).collect()
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    impl Describe for u32 {
        fn describe(&self) -> String {
            self.to_string()
        }
    }

    fn looks_twice(watched: &Watched<u32>) {
        watched.check();
        watched.check();
    }

    fn sum(texts: &[String]) -> Result<u32, String> {
        texts.iter().map(|text| text.trim().parse::<u32>().map_err(|_| "line 1: not a number".to_owned())).sum()
    }

    #[test]
    fn broken_file_changes_nothing_and_a_repaired_one_is_accepted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("n");
        let open = || Watched::open(vec![path.clone()], sum);
        assert!(open().err().expect("no file").contains("n: "));
        fs::write(&path, "x").expect("written");
        assert!(open().err().expect("no number").ends_with("n: line 1: not a number"));
        fs::write(&path, "1").expect("written");
        let watched = open().expect("a number");
        for (text, now) in [(Some("2"), 2), (Some("x"), 2), (None, 2), (Some("3"), 3), (Some(""), 3)] {
            match text {
                Some(text) => fs::write(&path, text).expect("written"),
                None => fs::remove_file(&path).expect("removed"),
            }
            looks_twice(&watched);
            assert_eq!(*watched.now(), now, "{text:?}");
        }
    }

    #[test]
    fn half_written_file_is_not_accepted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("n");
        let lines = |texts: &[String]| Ok(texts.concat().lines().count() as u32);
        fs::write(&path, "a\nb\n").expect("written");
        let watched = Watched::open(vec![path.clone()], lines).expect("lines");
        for (text, now, wait) in [
            ("", 2, CHECK_INTERVAL),
            ("a\n", 2, RECHECK_AFTER_CHANGE),
            ("a\nb\n", 2, CHECK_INTERVAL),
            ("a\n", 2, RECHECK_AFTER_CHANGE),
            ("a\nb\nc\n", 2, RECHECK_AFTER_CHANGE),
            ("a\nb\nc\n", 3, CHECK_INTERVAL),
            ("", 3, CHECK_INTERVAL),
            ("", 0, CHECK_INTERVAL),
        ] {
            fs::write(&path, text).expect("written");
            assert_eq!((watched.check(), *watched.now()), (wait, now), "{text:?}");
        }
    }

    #[test]
    fn change_of_either_file_reloads_both() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        paths.iter().for_each(|path| fs::write(path, "1").expect("written"));
        let watched = Watched::open(paths.to_vec(), sum).expect("numbers");
        for (path, text, now) in [(0, "2", 3), (1, "x", 3), (0, "4", 3), (1, "5", 9)] {
            fs::write(&paths[path], text).expect("written");
            looks_twice(&watched);
            assert_eq!(*watched.now(), now, "{text}");
        }
    }

    /// The file that the path leads to now counts; a path without a file changes nothing.
    #[test]
    fn moved_linked_and_replaced_files_are_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, other] = ["n", "other"].map(|name| folder.path().join(name));
        fs::write(&path, "1").expect("written");
        let watched = Watched::open(vec![path.clone()], sum).expect("a number");
        let now = || {
            looks_twice(&watched);
            *watched.now()
        };
        let put = |text: &str| fs::write(&other, text).expect("written");
        put("2");
        fs::rename(&other, &path).expect("renamed");
        assert_eq!(now(), 2, "another file by its name");
        fs::rename(&path, &other).expect("renamed");
        assert_eq!(now(), 2, "none by its name");
        std::os::unix::fs::symlink(&other, &path).expect("linked");
        put("3");
        assert_eq!(now(), 3, "a symbolic link, and what it leads to");
        fs::remove_file(&other).expect("removed");
        assert_eq!(now(), 3, "a link to nothing");
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("a folder");
        assert_eq!(now(), 3, "a folder by its name");
        fs::remove_dir(&path).expect("removed");
        put("4");
        fs::hard_link(&other, &path).expect("linked");
        assert_eq!(now(), 4, "a hard link");
        put("5");
        assert_eq!(now(), 5, "changed by its other name");
    }
}
