//! Redis's clock, which tests move instead of sleeping.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use super::shim;

/// The clock of one Redis server.
pub struct Clock {
    file: fs::File,
    path: PathBuf,
}

impl Clock {
    pub fn new(folder: &Path) -> Self {
        let path = folder.join("clock");
        fs::write(&path, [0; 16]).expect("a file for the clock");
        let file = fs::File::options().read(true).write(true).open(&path).expect("the clock's file");
        Self { file, path }
    }

    /// Makes a program see this clock.
    pub fn apply_to(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &*shim::CLOCK).env("INTRAY_CLOCK", &self.path);
    }

    pub fn advance(&self, ms: i64) {
        self.write(0, self.read(0) + ms);
        if self.read(1) != 0 {
            self.write(1, self.read(1) + ms);
        }
    }

    /// From now on time passes only by [`Self::advance`]. No time that the server has seen is later: what was due then would never be
    /// due again.
    pub fn stop(&self) {
        if self.read(1) == 0 {
            self.stop_at(self.now());
            // The server may have seen a later time before the first call had its effect, and has not since.
            self.stop_at(self.now());
        }
    }

    /// The time of a clock that runs.
    fn now(&self) -> u64 {
        let since = SystemTime::UNIX_EPOCH.elapsed().expect("a time after 1970");
        u64::try_from(since.as_millis()).expect("a time").saturating_add_signed(self.read(0))
    }

    pub fn stop_at(&self, ms: u64) {
        self.write(1, i64::try_from(ms).expect("a time"));
    }

    /// The real time, as at the start.
    pub fn reset(&self) {
        self.write(1, 0);
        self.write(0, 0);
    }

    fn read(&self, field: u64) -> i64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, field * 8).expect("the clock's file");
        i64::from_ne_bytes(bytes)
    }

    fn write(&self, field: u64, ms: i64) {
        self.file.write_all_at(&ms.to_ne_bytes(), field * 8).expect("the clock's file");
    }
}
