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
const LOOK: Duration = Duration::from_secs(1);
/// A look that takes longer is said.
const SLOW: Duration = Duration::from_secs(5);

/// For the line in the log that says what was read.
pub trait Described {
    /// How much of what.
    fn described(&self) -> String;
}

pub struct Watched<T> {
    paths: Vec<PathBuf>,
    make: fn(&[String]) -> Result<T, String>,
    now: RwLock<Arc<T>>,
    /// What the files last held, or why they could not be read: the same is not looked into twice.
    last: Mutex<Result<Vec<String>, String>>,
}

impl<T: Described> Watched<T> {
    /// # Errors
    /// One line: which file is not what it should be.
    pub fn open(paths: Vec<PathBuf>, make: fn(&[String]) -> Result<T, String>) -> Result<Self, String> {
        let texts = read_all(&paths)?;
        let now = make(&texts).map_err(|why| format!("{}: {why}", names(&paths)))?;
        Ok(Self { paths, make, now: RwLock::new(Arc::new(now)), last: Mutex::new(Ok(texts)) })
    }

    pub fn now(&self) -> Arc<T> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Compares texts, not times: a file may change twice within the grain of a clock, or come back with an older time.
    pub fn look(&self) {
        let texts = read_all(&self.paths);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == texts {
            return;
        }
        *last = texts;
        let changed = format!("{} changed", names(&self.paths));
        match last.as_ref().map_err(Clone::clone).and_then(|texts| (self.make)(texts)) {
            Ok(new) => {
                tracing::info!("{changed}: {}", new.described());
                *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
            }
            Err(why) => tracing::warn!("{changed} and cannot be used, what was read before stays: {why}"),
        }
    }
}

/// Looks at files of something again and again, until `stop`.
pub async fn keep_looking(of: &'static str, look: impl Fn() + Clone + Send + 'static, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
        let looking = tokio::task::spawn_blocking(look.clone());
        // A file can be on a disk that does not answer: then this one look is waited for, unless we are to end.
        if let Some(Err(_)) = stop.run_until_cancelled(patiently(of, looking)).await {
            tracing::error!("the files of {of} cannot be looked at");
        }
    }
}

async fn patiently(of: &str, mut look: JoinHandle<()>) -> Result<(), JoinError> {
    if let Ok(looked) = tokio::time::timeout(SLOW, &mut look).await {
        return looked;
    }
    tracing::warn!("a look at the files of {of} takes more than {} s; what was read before stays", SLOW.as_secs());
    let looked = look.await;
    tracing::info!("the files of {of} can be looked at again");
    looked
}

fn read_all(paths: &[PathBuf]) -> Result<Vec<String>, String> {
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

    impl Described for u32 {
        fn described(&self) -> String {
            self.to_string()
        }
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
            watched.look();
            assert_eq!(*watched.now(), now, "{text:?}");
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
            watched.look();
            assert_eq!(*watched.now(), now, "{text}");
        }
    }
}
