//! Watches the free space of the private server's disk, and requests rewrites of its append-only file.
//!
//! Growth is refused below a minimum of free space, long before the server cannot write, so that existing jobs can still be
//! completed. A rewrite needs as much space again as the jobs, so the server never begins one by itself: it is requested when the
//! file has doubled, or when it would free space, and only while there is space for it. A rewrite takes a processor and makes the
//! server copy the pages that change meanwhile, so it waits until the file stops growing fast, unless the file is so large that
//! the next start would take long. The server's `auto-aof-rewrite-percentage` looks neither at the disk nor at the growth, and
//! would replace `has_outgrown` only: rewrites that make room or follow a failed sync are requested in any case.

use std::{
    ffi::CString,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::{aof_repair::FILES, folder::partial_rewrites, probe};

/// Growth is refused with less free space than this beyond the next rewrite.
const MIN_FREE_BYTES: u64 = 64 << 20;
/// No rewrite is requested with less free space than this beyond it.
const MIN_FREE_FOR_REWRITE_BYTES: u64 = MIN_FREE_BYTES / 8;
/// The intervals between checks: normal, and while little space is left.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const NEAR_FULL_CHECK_INTERVAL: Duration = Duration::from_millis(100);
const NEAR_FULL_BYTES: u64 = 1 << 30;
/// A smaller file is not rewritten, as in Redis (`auto-aof-rewrite-min-size`).
const MIN_REWRITE_BYTES: u64 = 64 << 20;
/// A larger file is rewritten even while it grows fast: a start reads some 100 MiB a second.
const ALWAYS_REWRITE_BYTES: u64 = 512 << 20;
/// Growth between two checks that counts as fast.
const FAST_GROWTH_BYTES: u64 = 1 << 20;
/// The minimum interval between rewrites.
const REWRITE_INTERVAL: Duration = Duration::from_secs(30);

pub(super) struct DiskSpace {
    data: PathBuf,
    socket: PathBuf,
    /// Bytes of the files at the last check.
    last: u64,
    /// The earliest time of the next rewrite.
    next: Option<Instant>,
    /// A sync of the file has failed: only a rewrite makes it trustworthy again.
    is_untrusted: Arc<AtomicBool>,
    reports: watch::Sender<Option<String>>,
}

/// In bytes: free space, the append-only files, the part that the last rewrite wrote, and unfinished rewrites.
pub(super) struct Sizes {
    pub(super) free: u64,
    pub(super) files: u64,
    base: u64,
    begun: u64,
}

impl Sizes {
    /// Whether a rewrite is due. `last`: bytes of the files at the last check.
    fn has_outgrown(&self, last: u64) -> bool {
        let grows_fast = self.files.saturating_sub(last) > FAST_GROWTH_BYTES;
        self.files >= 2 * self.base && self.files >= if grows_fast { ALWAYS_REWRITE_BYTES } else { MIN_REWRITE_BYTES }
    }
}

impl DiskSpace {
    pub(super) fn new(data: &Path, socket: &Path, reports: watch::Sender<Option<String>>) -> Self {
        let (data, socket) = (data.to_owned(), socket.to_owned());
        Self { data, socket, last: u64::MAX, next: None, is_untrusted: Arc::default(), reports }
    }

    /// Set by the syncer when a sync has failed.
    pub(super) fn wants_rewrite(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_untrusted)
    }

    /// One check. Returns the time until the next.
    pub(super) fn look(&mut self) -> Duration {
        let sizes = match self.sizes() {
            Ok(sizes) => sizes,
            Err(error) => {
                debug!(%error, "cannot read the free space of the disk");
                return CHECK_INTERVAL;
            }
        };
        let rewrite = self.rewrite(&sizes);
        let would_make_room = sizes.free < MIN_FREE_BYTES + sizes.files && sizes.files > 2 * rewrite.max(1 << 20);
        let is_needed = would_make_room || self.is_untrusted.swap(false, Ordering::Relaxed);
        if (is_needed || sizes.has_outgrown(self.last)) && sizes.free >= rewrite + MIN_FREE_FOR_REWRITE_BYTES {
            self.ask_for_rewrite(is_needed);
        }
        self.last = sizes.files;
        self.report(sizes.free, rewrite);
        if sizes.free < NEAR_FULL_BYTES { NEAR_FULL_CHECK_INTERVAL } else { CHECK_INTERVAL }
    }

    pub(super) fn sizes(&self) -> io::Result<Sizes> {
        let appended: Vec<_> = match fs::read_dir(self.data.join(FILES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            files => files?.filter_map(Result::ok).map(|file| file.path()).collect(),
        };
        let is_base = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".base."));
        Ok(Sizes {
            free: free(&self.data)?,
            files: sum(appended.iter()),
            base: sum(appended.iter().filter(is_base)),
            begun: sum(partial_rewrites(&self.data)?.iter()),
        })
    }

    /// Upper bound of the next rewrite in bytes: the files now, or the memory that it writes.
    pub(super) fn rewrite(&self, sizes: &Sizes) -> u64 {
        // The server is asked only while space is short.
        let near = sizes.free < MIN_FREE_BYTES + sizes.files;
        let memory = if near { self.used_memory() } else { None };
        memory.map_or(sizes.files, |memory| memory.min(sizes.files)).saturating_sub(sizes.begun)
    }

    fn used_memory(&self) -> Option<u64> {
        let info: String = self.command(redis::cmd("INFO").arg("memory"))?;
        info.lines().find_map(|line| line.strip_prefix("used_memory:"))?.trim().parse().ok()
    }

    /// A server that is starting or busy is asked again at a later check.
    fn ask_for_rewrite(&mut self, is_needed: bool) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        let is_done = self.command::<String>(&redis::cmd("BGREWRITEAOF")).is_some();
        self.next = Some(now + if is_done { REWRITE_INTERVAL } else { CHECK_INTERVAL });
        if is_done && is_needed {
            info!("the append-only file is rewritten, to make room on the disk or because it could not be synced");
        }
    }

    fn command<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Option<T> {
        let answer = probe::run(&self.socket, command);
        answer.inspect_err(|error| debug!(%error, "the private server refused a command")).ok()
    }

    fn report(&self, free: u64, rewrite: u64) {
        intray_metrics::DATA_ROOM_BYTES.of(&[]).set(free as f64 - (MIN_FREE_BYTES + rewrite) as f64);
        self.reports.send_if_modified(|report| {
            let (was_short, now) = (report.is_some(), shortage(free, rewrite));
            match &now {
                Some(line) if !was_short => warn!("{line}"),
                None if was_short => info!("there is room on the disk again"),
                _ => {}
            }
            let is_new = *report != now;
            *report = now;
            is_new
        });
    }
}

/// Why nothing new is stored, if there is too little free space beyond the next rewrite.
pub(super) fn shortage(free: u64, rewrite: u64) -> Option<String> {
    let line = || {
        format!(
            "{} MiB are free on the disk; nothing new is stored below {} MiB, of which the next rewrite of the file takes {}",
            free >> 20,
            (MIN_FREE_BYTES + rewrite) >> 20,
            rewrite >> 20
        )
    };
    (free < MIN_FREE_BYTES + rewrite).then(line)
}

/// Files that were removed meanwhile count 0.
fn sum<'p>(files: impl Iterator<Item = &'p PathBuf>) -> u64 {
    files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Asks the C library and not rustix, whose direct system call a test cannot replace with a full disk.
#[expect(unsafe_code, reason = "the standard library has no call for free space")]
fn free(folder: &Path) -> io::Result<u64> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: `path` ends with a zero, and an all-zero `statvfs` is a valid value.
    let disk = unsafe {
        let mut disk: libc::statvfs = std::mem::zeroed();
        if libc::statvfs(path.as_ptr(), &raw mut disk) != 0 {
            return Err(io::Error::last_os_error());
        }
        disk
    };
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "these numbers are narrower on some systems"
    )]
    Ok(disk.f_bavail as u64 * disk.f_frsize as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn has_outgrown(base: u64, last: u64, files: u64) -> bool {
        Sizes { free: 0, files: files * MIB, base: base * MIB, begun: 0 }.has_outgrown(last * MIB)
    }

    #[test]
    fn a_file_that_has_doubled_is_rewritten_when_the_rush_is_over() {
        assert!(!has_outgrown(0, 63, 63), "it is small");
        assert!(has_outgrown(0, 64, 64));
        assert!(has_outgrown(32, 63, 64));
        assert!(!has_outgrown(33, 65, 65), "it has not doubled");
        assert!(!has_outgrown(20, 400, 402), "it grows");
        assert!(has_outgrown(20, 402, 402));
        assert!(has_outgrown(20, 500, 512), "it is large");
        assert!(!has_outgrown(257, 500, 513));
    }
}
