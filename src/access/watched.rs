//! A file that is read again when it changes. One that cannot be read, or is not what it should be, changes nothing.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use crate::files;

/// For the line in the log that says what was read.
pub(super) trait Counted {
    fn count(&self) -> usize;
}

pub(super) struct Watched<T> {
    path: PathBuf,
    read: fn(&str) -> Result<T, String>,
    now: RwLock<Arc<T>>,
    /// What the file last held, or why it could not be read: the same is not looked into twice.
    last: Mutex<Result<String, String>>,
}

impl<T: Counted> Watched<T> {
    pub(super) fn open(path: PathBuf, read: fn(&str) -> Result<T, String>) -> Result<Self, String> {
        let named = |why: String| format!("{}: {why}", path.display());
        let text = files::read(&path).map_err(|error| named(error.to_string()))?;
        let now = RwLock::new(Arc::new(read(&text).map_err(named)?));
        Ok(Self { path, read, now, last: Mutex::new(Ok(text)) })
    }

    pub(super) fn now(&self) -> Arc<T> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Compares texts, not times: a file may change twice within the grain of a clock, or come back with an older time.
    pub(super) fn look(&self) {
        let text = files::read(&self.path).map_err(|error| error.to_string());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == text {
            return;
        }
        *last = text;
        let file = self.path.display();
        match last.as_ref().map_err(Clone::clone).and_then(|text| (self.read)(text)) {
            Ok(new) => {
                tracing::info!("{file} has changed: {} keys", new.count());
                *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
            }
            Err(why) => tracing::warn!("{file} has changed and is not used, the keys read before stay: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    impl Counted for u32 {
        fn count(&self) -> usize {
            1
        }
    }

    fn number(text: &str) -> Result<u32, String> {
        text.trim().parse().map_err(|_| "line 1: not a number".to_owned())
    }

    #[test]
    fn what_is_broken_changes_nothing_and_what_is_mended_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("n");
        assert!(Watched::open(path.clone(), number).err().expect("no file").contains("n: "));
        fs::write(&path, "x").expect("written");
        assert!(Watched::open(path.clone(), number).err().expect("no number").ends_with("n: line 1: not a number"));
        fs::write(&path, "1").expect("written");
        let watched = Watched::open(path.clone(), number).expect("a number");
        for (text, now) in [(Some("2"), 2), (Some("x"), 2), (None, 2), (Some("3"), 3), (Some(""), 3)] {
            match text {
                Some(text) => fs::write(&path, text).expect("written"),
                None => fs::remove_file(&path).expect("removed"),
            }
            watched.look();
            assert_eq!(*watched.now(), now, "{text:?}");
        }
    }
}
