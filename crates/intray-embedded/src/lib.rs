//! The private server: without an external Redis, intray starts and supervises its own valkey-server or redis-server. It is
//! reached over a unix socket that only this user can open, and its data is in one folder.

mod aof_repair;
mod aof_scan;
mod backup;
mod engine;
mod folder;
mod guard;
mod memory;
mod output;
mod probe;
mod space;
mod supervisor;
mod syncer;
mod usage;

use std::{
    future::pending,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use intray_base::text::ByteSize;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rustix::process::Signal;
use tokio::{sync::watch, time};
use tracing::{info, warn};

use self::{
    aof_repair::Damage,
    folder::DataFolder,
    probe::Pong,
    space::DiskSpace,
    supervisor::{Phase, Supervisor},
    syncer::Disk,
};
pub use self::{
    backup::{Copied, backup, restore},
    usage::{FolderUsage, is_new, usage},
};

/// How long a server may take to end before it is killed, and how long a start waits for a predecessor.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval of log lines during a long start.
const START_LOG_INTERVAL: Duration = Duration::from_secs(5);

/// Why the private server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("no valkey-server or redis-server of at least 7.0 on PATH ({found}); install one, or give --redis-url")]
    NoEngine { found: String },
    #[error("the data folder {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the data folder {} can be written by all users: choose a folder of its own", .0.display())]
    OpenToAll(PathBuf),
    #[error("{} is a symbolic link, which this program did not make: remove it", .0.display())]
    LinkedLock(PathBuf),
    #[error("the data folder {} is in use by another intray", .0.display())]
    InUse(PathBuf),
    #[error("the private server of an earlier run still holds {} and does not end", .0.display())]
    StillRunning(PathBuf),
    #[error("the private server's thread: {0}")]
    Thread(io::Error),
    #[error(transparent)]
    Damaged(#[from] Damage),
    #[error(transparent)]
    GaveUp(#[from] GaveUp),
}

/// The private server has died repeatedly and is not restarted.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the private server died {} times within a minute; its last words: {last_words}", supervisor::MAX_DEATHS)]
pub struct GaveUp {
    last_words: String,
}

/// A running private server. Dropping it without [`PrivateServer::stop`] sends SIGTERM and does not wait.
pub struct PrivateServer {
    socket: PathBuf,
    supervisor: Supervisor,
    room: watch::Receiver<Option<String>>,
    disk: Disk,
}

/// Starts the private server and waits until it has loaded its data, without a timeout. `max_memory` is in bytes: `None` is half
/// of the available memory, 0 is no limit.
///
/// # Errors
/// One line for the operator.
pub async fn start(data_dir: &Path, max_memory: Option<u64>) -> Result<PrivateServer, StartError> {
    let engine = engine::find().await?;
    let folder = DataFolder::claim(data_dir)?;
    let socket = folder.socket().to_owned();
    stop_predecessor(&folder).await?;
    let (data, checker) = (folder.data().to_owned(), engine.checker());
    let checked = tokio::task::spawn_blocking(move || aof_repair::repair_aof(&data, checker)).await;

    checked.map_err(|gone| StartError::Thread(io::Error::other(gone)))??;
    let max_memory = max_memory.unwrap_or_else(memory::half);
    let memory = if max_memory == 0 { "no limit".to_owned() } else { ByteSize(max_memory).to_string() };
    info!(engine = engine.to_string(), max_memory = memory, data = %folder.data().display(), "starting the private server");
    let (reports, room) = watch::channel(None);
    let space = DiskSpace::new(folder.data(), &socket, reports);
    let (disk, asked) = mpsc::channel();
    let supervisor = Supervisor::start(engine, folder, max_memory, (space, asked)).map_err(StartError::Thread)?;
    let server = PrivateServer { socket, supervisor, room, disk };
    tokio::select! {
        gave_up = server.failed() => Err(gave_up.into()),
        () = server.ready() => Ok(server),
    }
}

/// The URL of the private server that another intray keeps on this folder. Nothing is claimed or started.
pub async fn running_url(data_dir: &Path) -> Option<String> {
    let socket = folder::kept_socket(data_dir)?;
    probe::ping(&socket).await.is_ok().then(|| url(&socket))
}

impl PrivateServer {
    /// The address as a URL for Redis clients.
    pub fn url(&self) -> String {
        url(&self.socket)
    }

    /// Why growth is refused: the disk is nearly full. `None` while it is not.
    pub fn room(&self) -> watch::Receiver<Option<String>> {
        self.room.clone()
    }

    /// Requests a sync. Its answer means that everything written so far is on disk.
    pub fn disk(&self) -> Disk {
        self.disk.clone()
    }

    /// Resolves when the server has died too often to be restarted. It never resolves after a stop.
    pub fn failed(&self) -> impl Future<Output = GaveUp> + Send + use<> {
        let mut phase = self.supervisor.phase();
        async move {
            let gave_up = match phase.wait_for(|phase| !matches!(phase, Phase::Keeping)).await.as_deref() {
                Ok(Phase::GaveUp(gave_up)) => Some(gave_up.clone()),
                Ok(Phase::Keeping | Phase::Stopped) => None,
                Err(watch::error::RecvError { .. }) => Some(GaveUp { last_words: "its thread is gone".to_owned() }),
            };
            match gave_up {
                Some(gave_up) => gave_up,
                None => pending().await,
            }
        }
    }

    /// Ends the server, which writes its data and closes its files. It is killed after ten seconds.
    pub async fn stop(&self) {
        let mut phase = self.supervisor.phase();
        let mut ended = async || phase.wait_for(|phase| !matches!(phase, Phase::Keeping)).await.is_ok();
        self.supervisor.stop(Signal::TERM);
        if time::timeout(STOP_TIMEOUT, ended()).await.is_err() {
            warn!("the private server did not end within {} s and is killed", STOP_TIMEOUT.as_secs());
            self.supervisor.stop(Signal::KILL);
            ended().await;
        }
    }

    async fn ready(&self) {
        let mut next_log = time::Instant::now() + START_LOG_INTERVAL;
        loop {
            let is_slow = time::Instant::now() >= next_log;
            match probe::ping(&self.socket).await {
                Ok(Pong::Ready) => return,
                _ if !is_slow => {}
                Ok(Pong::Loading) => info!("the private server is loading its data"),
                Ok(Pong::Other(answer)) => warn!(answer, "the private server is not ready yet"),
                Err(error) => warn!(%error, "the private server does not answer yet"),
            }
            if is_slow {
                next_log += START_LOG_INTERVAL;
            }
            time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.supervisor.stop(Signal::TERM);
    }
}

fn url(socket: &Path) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-');
    format!("unix://{}", percent_encode(socket.as_os_str().as_bytes(), ENCODED))
}

/// This process holds the lock, so a server on its socket belongs to a killed intray. On Linux the kernel ends that server too;
/// elsewhere this shuts it down.
async fn stop_predecessor(folder: &DataFolder) -> Result<(), StartError> {
    let deadline = time::Instant::now() + STOP_TIMEOUT;
    let mut asked = false;
    while probe::ping(folder.socket()).await.is_ok() {
        if !asked {
            info!("waiting for the private server of an earlier run to end");
            // The server may end before it answers, as intended.
            let _ = probe::shut_down(folder.socket()).await;
            asked = true;
        }
        if time::Instant::now() >= deadline {
            return Err(StartError::StillRunning(folder.data().to_owned()));
        }
        time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
