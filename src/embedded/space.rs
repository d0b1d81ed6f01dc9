//! Watches the room on the disk of the private server's data.
//!
//! Below a mark growth is to be refused, long before the server cannot write any more, so that what is there can still be
//! worked off. The server rewrites its file when that has doubled, which takes as much room again as the jobs need: so it
//! may do that only while there is room, and is told to when that is what would make some.

use std::{
    ffi::CString,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::mend::FILES;

/// With less than this beyond the next rewrite, nothing new is stored.
const MARK: u64 = 64 << 20;
/// With less than this beyond it, no rewrite is begun.
const REWRITE_MARK: u64 = MARK / 8;
/// How often one looks, and how often when the end may be near.
const EVERY: Duration = Duration::from_secs(1);
const NEAR: Duration = Duration::from_millis(100);
const NEAR_BYTES: u64 = 1 << 30;
/// A rewrite that would make room is asked for so often.
const REWRITE: Duration = Duration::from_secs(30);
/// The server answers at once, or it is not there.
const ANSWER: Duration = Duration::from_secs(1);

pub(super) struct Space {
    data: PathBuf,
    server: redis::Client,
    connection: Option<redis::Connection>,
    socket: PathBuf,
    /// Tells the socket of one server from that of the next.
    born: Option<(i64, i64)>,
    /// Whether the server knows that it may rewrite its file; it starts with the belief that it may not.
    may_rewrite: bool,
    asked: Option<Instant>,
    /// Another reason for a rewrite: the file cannot be trusted any more.
    is_spoilt: Arc<AtomicBool>,
    said: watch::Sender<Option<String>>,
}

/// What is free, what the append-only files take, and what is written of the next ones.
struct Sizes {
    free: u64,
    files: u64,
    begun: u64,
}

impl Space {
    pub(super) fn new(data: &Path, socket: &Path, said: watch::Sender<Option<String>>) -> io::Result<Self> {
        let server = redis::Client::open(super::url(socket)).map_err(io::Error::other)?;
        let (data, socket) = (data.to_owned(), socket.to_owned());
        let (connection, born, asked, is_spoilt) = Default::default();
        Ok(Self { data, server, connection, socket, born, may_rewrite: false, asked, is_spoilt, said })
    }

    /// For whoever finds out that the file cannot be trusted any more.
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
        self.allow_rewrites(sizes.free >= rewrite + REWRITE_MARK);
        let would_make_room = sizes.free < MARK + sizes.files && sizes.files > 2 * rewrite.max(1 << 20);
        if would_make_room || self.is_spoilt.swap(false, Ordering::Relaxed) {
            self.ask_for_rewrite();
        }
        self.say(sizes.free, rewrite);
        if sizes.free < NEAR_BYTES { NEAR } else { EVERY }
    }

    fn sizes(&self) -> io::Result<Sizes> {
        let sum = |folder: &Path, fits: fn(&str) -> bool| -> io::Result<u64> {
            let files = match fs::read_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
                files => files?,
            };
            let fit = files.filter_map(Result::ok).filter(|file| file.file_name().to_str().is_some_and(fits));
            // What is gone meanwhile takes no room.
            Ok(fit.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum())
        };
        let files = sum(&self.data.join(FILES), |_| true)?;
        let begun = sum(&self.data, |name| name.starts_with("temp-"))?;
        Ok(Sizes { free: free(&self.data)?, files, begun })
    }

    /// How much the next rewrite may take: no more than the files now, nor than the memory that it writes down.
    fn rewrite(&mut self, sizes: &Sizes) -> u64 {
        // The server is asked only when it matters.
        let near = sizes.free < MARK + sizes.files;
        let memory = if near { self.used_memory() } else { None };
        memory.map_or(sizes.files, |memory| memory.min(sizes.files)).saturating_sub(sizes.begun)
    }

    fn used_memory(&mut self) -> Option<u64> {
        let info: String = self.tell(redis::cmd("INFO").arg("memory"))?;
        info.lines().find_map(|line| line.strip_prefix("used_memory:"))?.trim().parse().ok()
    }

    fn allow_rewrites(&mut self, may: bool) {
        let born = fs::metadata(&self.socket).ok().map(|socket| (socket.ctime(), socket.ctime_nsec()));
        if self.born != born {
            (self.born, self.connection) = (born, None);
        }
        // A server that was started anew believes that it may not.
        if self.connection.is_none() {
            self.may_rewrite = false;
        }
        if self.may_rewrite != may {
            let percentage = if may { "100" } else { "0" };
            let told =
                self.tell::<()>(redis::cmd("CONFIG").arg("SET").arg("auto-aof-rewrite-percentage").arg(percentage));
            self.may_rewrite = if told.is_some() { may } else { false };
        }
    }

    fn ask_for_rewrite(&mut self) {
        if self.may_rewrite && self.asked.is_none_or(|asked| asked.elapsed() >= REWRITE) {
            self.asked = Some(Instant::now());
            if self.tell::<String>(&redis::cmd("BGREWRITEAOF")).is_some() {
                info!("the append-only file is rewritten, to make room on the disk or because it could not be synced");
            }
        }
    }

    /// One command. What breaks is forgotten, and made anew for the next.
    fn tell<T: redis::FromRedisValue>(&mut self, command: &redis::Cmd) -> Option<T> {
        let answer = match self.connection.as_mut() {
            Some(connection) => command.query(connection),
            None => self.connect().and_then(|connection| command.query(connection)),
        };
        answer
            .inspect_err(|error: &redis::RedisError| {
                debug!(%error, "the private server does not do what it is told");
                self.connection = None;
            })
            .ok()
    }

    fn connect(&mut self) -> redis::RedisResult<&mut redis::Connection> {
        let connection = self.server.get_connection_with_timeout(ANSWER)?;
        connection.set_read_timeout(Some(ANSWER))?;
        connection.set_write_timeout(Some(ANSWER))?;
        Ok(self.connection.insert(connection))
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
        self.said.send_if_modified(|said| {
            let (was_short, now) = (said.is_some(), is_short.then(line));
            match &now {
                Some(line) if !was_short => warn!("{line}"),
                None if was_short => info!("there is room on the disk again"),
                _ => {}
            }
            let is_new = *said != now;
            *said = now;
            is_new
        });
    }
}

#[expect(unsafe_code, reason = "the standard library does not know how much is free")]
fn free(folder: &Path) -> io::Result<u64> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: `path` ends with a zero, `said` is a valid place to write to, and an all-zero one is a valid value of it.
    let said = unsafe {
        let mut said: libc::statvfs = std::mem::zeroed();
        if libc::statvfs(path.as_ptr(), &raw mut said) != 0 {
            return Err(io::Error::last_os_error());
        }
        said
    };
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "these numbers are narrower on some systems"
    )]
    Ok(said.f_bavail as u64 * said.f_frsize as u64)
}
