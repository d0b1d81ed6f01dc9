//! Redis's clock, which tests move instead of sleeping.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::shim;

/// The clock of one Redis server.
pub struct Clock {
    offset: fs::File,
    path: PathBuf,
}

impl Clock {
    pub fn new(folder: &Path) -> Self {
        let path = folder.join("clock");
        fs::write(&path, 0_i64.to_ne_bytes()).expect("a file for the clock");
        let offset = fs::File::options().read(true).write(true).open(&path).expect("the clock's file");
        Self { offset, path }
    }

    /// Makes a program see this clock.
    pub fn rule(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &*shim::CLOCK).env("INTRAY_CLOCK", &self.path);
    }

    pub fn advance(&self, ms: i64) {
        self.set(self.offset() + ms);
    }

    fn offset(&self) -> i64 {
        let mut bytes = [0; 8];
        self.offset.read_exact_at(&mut bytes, 0).expect("the clock's file");
        i64::from_ne_bytes(bytes)
    }

    fn set(&self, ms: i64) {
        self.offset.write_all_at(&ms.to_ne_bytes(), 0).expect("the clock's file");
    }
}
