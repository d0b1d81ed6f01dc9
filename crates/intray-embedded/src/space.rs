//! Watches the room on the disk of the private server's data, and has the server's file rewritten.
//!
//! Below a mark growth is to be refused, long before the server cannot write any more, so that what is there can still be
//! worked off. A rewrite takes as much room again as the jobs need, so the server never begins one by itself: it is told to
//! when the file has doubled, or when that would make room, and only while there is room for it. A rewrite takes a processor
//! and makes the server copy what it changes meanwhile, so it waits for the end of a rush, as long as the file is not so
//! large that the next start would take long.

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

use super::{folder::begun, mend::FILES};

/// With less than this beyond the next rewrite, nothing new is stored.
const MARK: u64 = 64 << 20;
/// With less than this beyond it, no rewrite is begun.
const REWRITE_MARK: u64 = MARK / 8;
/// How often one looks, and how often when the end may be near.
const EVERY: Duration = Duration::from_secs(1);
const NEAR: Duration = Duration::from_millis(100);
const NEAR_BYTES: u64 = 1 << 30;
/// A smaller file is left as it is, as Redis does it (`auto-aof-rewrite-min-size`).
const SMALL: u64 = 64 << 20;
/// A larger one is rewritten in a rush, too: a start reads some 100 MiB a second of it.
const LARGE: u64 = 512 << 20;
/// What grows by more between two looks is in a rush.
const RUSH: u64 = 1 << 20;
/// From one rewrite to the next.
const REWRITE: Duration = Duration::from_secs(30);
/// The server answers at once, or it is not there.
const ANSWER: Duration = Duration::from_secs(1);

pub(super) struct Space {
    data: PathBuf,
    server: redis::Client,
    /// What the files took at the last look.
    last: u64,
    /// When the server may be asked for a rewrite again.
    next: Option<Instant>,
    /// Another reason for a rewrite: the file cannot be trusted any more.
    is_spoilt: Arc<AtomicBool>,
    problem: watch::Sender<Option<String>>,
}

/// What is free, what the append-only files take, what of it the last rewrite wrote, and what is written of the next ones.
struct Sizes {
    free: u64,
    files: u64,
    base: u64,
    begun: u64,
}

impl Sizes {
    /// Whether a rewrite is worth it, since there was so much at the last look.
    fn has_outgrown(&self, last: u64) -> bool {
        let is_in_a_rush = self.files.saturating_sub(last) > RUSH;
        self.files >= 2 * self.base && self.files >= if is_in_a_rush { LARGE } else { SMALL }
    }
}

impl Space {
    pub(super) fn new(data: &Path, socket: &Path, problem: watch::Sender<Option<String>>) -> io::Result<Self> {
        let server = redis::Client::open(super::url(socket)).map_err(io::Error::other)?;
        let (data, last, next, is_spoilt) = (data.to_owned(), u64::MAX, None, Arc::default());
        Ok(Self { data, server, last, next, is_spoilt, problem })
    }

    /// Reports that the file cannot be trusted any more.
    pub(super) fn wants_rewrite(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_spoilt)
    }

    /// One look; answers how long until the next.
    pub(super) fn look(&mut self) -> Duration {
        let sizes = match self.sizes() {
            Ok(sizes) => sizes,
            Err(error) => {
                debug!(%error, "the room on the disk is not known");
                return EVERY;
            }
        };
        let rewrite = self.rewrite(&sizes);
        let would_make_room = sizes.free < MARK + sizes.files && sizes.files > 2 * rewrite.max(1 << 20);
        let is_needed = would_make_room || self.is_spoilt.swap(false, Ordering::Relaxed);
        if (is_needed || sizes.has_outgrown(self.last)) && sizes.free >= rewrite + REWRITE_MARK {
            self.ask_for_rewrite(is_needed);
        }
        self.last = sizes.files;
        self.say(sizes.free, rewrite);
        if sizes.free < NEAR_BYTES { NEAR } else { EVERY }
    }

    fn sizes(&self) -> io::Result<Sizes> {
        let appended: Vec<_> = match fs::read_dir(self.data.join(FILES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            files => files?.filter_map(Result::ok).map(|file| file.path()).collect(),
        };
        let is_base = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".base."));
        Ok(Sizes {
            free: free(&self.data)?,
            files: sum(appended.iter()),
            base: sum(appended.iter().filter(is_base)),
            begun: sum(begun(&self.data)?.iter()),
        })
    }

    /// How much the next rewrite may take: no more than the files now, nor than the memory that it writes down.
    fn rewrite(&self, sizes: &Sizes) -> u64 {
        // The server is asked only when it matters.
        let near = sizes.free < MARK + sizes.files;
        let memory = if near { self.used_memory() } else { None };
        memory.map_or(sizes.files, |memory| memory.min(sizes.files)).saturating_sub(sizes.begun)
    }

    fn used_memory(&self) -> Option<u64> {
        let info: String = self.tell(redis::cmd("INFO").arg("memory"))?;
        info.lines().find_map(|line| line.strip_prefix("used_memory:"))?.trim().parse().ok()
    }

    /// Who does not do it, because it is still starting or cannot now, is asked again at a later look.
    fn ask_for_rewrite(&mut self, is_needed: bool) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        let is_done = self.tell::<String>(&redis::cmd("BGREWRITEAOF")).is_some();
        self.next = Some(now + if is_done { REWRITE } else { EVERY });
        if is_done && is_needed {
            info!("the append-only file is rewritten, to make room on the disk or because it could not be synced");
        }
    }

    /// One command, on a connection of its own: it is seldom that there is anything to say.
    fn tell<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Option<T> {
        let answer = self.server.get_connection_with_timeout(ANSWER).and_then(|mut connection| {
            connection.set_read_timeout(Some(ANSWER))?;
            connection.set_write_timeout(Some(ANSWER))?;
            command.query(&mut connection)
        });
        answer.inspect_err(|error| debug!(%error, "the private server does not do what it is told")).ok()
    }

    fn say(&self, free: u64, rewrite: u64) {
        let is_short = free < MARK + rewrite;
        let line = || {
            format!(
                "{} MiB are free on the disk; nothing new is stored below {} MiB, of which the next rewrite of the file takes {}",
                free >> 20,
                (MARK + rewrite) >> 20,
                rewrite >> 20
            )
        };
        self.problem.send_if_modified(|problem| {
            let (was_short, now) = (problem.is_some(), is_short.then(line));
            match &now {
                Some(line) if !was_short => warn!("{line}"),
                None if was_short => info!("there is room on the disk again"),
                _ => {}
            }
            let is_new = *problem != now;
            *said = now;
            is_new
        });
    }
}

/// What is gone meanwhile takes no room.
fn sum<'p>(files: impl Iterator<Item = &'p PathBuf>) -> u64 {
    files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
}

#[expect(unsafe_code, reason = "the standard library does not know how much is free")]
fn free(folder: &Path) -> io::Result<u64> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: `path` ends with a zero, `said` is a valid place to write to, and an all-zero one is a valid value of it.
    let stat = unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        if libc::statvfs(path.as_ptr(), &raw mut stat) != 0 {
            return Err(io::Error::last_os_error());
        }
        stat
    };
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "these numbers are narrower on some systems"
    )]
    Ok(stat.f_bavail as u64 * stat.f_frsize as u64)
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
