//! Files that are read again when one of them changes. What cannot be read, or is not what it should be, changes nothing.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::read;

/// How often files are looked at for changes.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// And how soon again when one has changed.
const RECHECK_AFTER_CHANGE: Duration = Duration::from_millis(200);
/// A look that takes longer is said.
const SLOW_CHECK: Duration = Duration::from_secs(5);

/// For the line in the log that says what was read.
pub trait Describe {
    /// How much of what.
    fn describe(&self) -> String;
}

pub struct Watched<T> {
    paths: Vec<PathBuf>,
    make: fn(&[String]) -> Result<T, String>,
    now: RwLock<Arc<T>>,
    last: Mutex<LastRead>,
}

/// What the files hold, or why they cannot be read.
type Texts = Result<Vec<String>, String>;

struct LastRead {
    /// What was looked into: the same is not looked into twice.
    accepted: Texts,
    /// Something else, which was there once.
    pending: Option<Texts>,
}

impl<T: Describe> Watched<T> {
    /// # Errors
    /// One line: which file is not what it should be.
    pub fn open(paths: Vec<PathBuf>, make: fn(&[String]) -> Result<T, String>) -> Result<Self, String> {
        let texts = read_all(&paths)?;
        let current = make(&texts).map_err(|why| format!("{}: {why}", names(&paths)))?;
        Ok(Self {
            paths,
            make,
            now: RwLock::new(Arc::new(current)),
            last: Mutex::new(LastRead { accepted: Ok(texts), pending: None }),
        })
    }

    pub fn now(&self) -> Arc<T> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Which files they are, for a message.
    pub fn names(&self) -> String {
        names(&self.paths)
    }

    /// Compares texts, not times: a file may change twice within the grain of a clock, or come back with an older time. A text
    /// is taken when it is there at a second look, because who writes a file in its place first empties it, and for a moment it
    /// has half of its lines. Answers how long after this look that is.
    pub fn check(&self) -> Duration {
        let texts = read_all(&self.paths);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
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
                *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
            }
            Err(why) => tracing::warn!("{changed} and cannot be used, what was read before stays: {why}"),
        }
    }
}

/// Looks at files of something again and again, each time as long after the last one as that says, until `stop`.
pub async fn watch(of: &'static str, look: impl Fn() -> Duration + Clone + Send + 'static, stop: CancellationToken) {
    let mut wait = CHECK_INTERVAL;
    while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
        let looking = tokio::task::spawn_blocking(look.clone());
        // A file can be on a disk that does not answer: then this one look is waited for, unless we are to end.
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
    fn what_is_broken_changes_nothing_and_what_is_mended_is_taken() {
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
    fn what_is_there_for_a_moment_while_a_file_is_written_is_not_taken() {
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
    fn two_files_make_one_thing_whichever_of_them_changes() {
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

    /// Whatever the name leads to now is what counts, and what is no file changes nothing.
    #[test]
    fn a_file_that_is_moved_linked_or_replaced_is_noticed() {
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
