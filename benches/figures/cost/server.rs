//! A Redis of its own, by itself or under callgrind.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use intray::store::Queues;
use tempfile::TempDir;

use super::kept::Parts;

const SOCKET: &str = "redis.sock";

/// The mode of the store: its default, or scripts without functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Preferred,
    Scripts,
}

/// Configured as the private server, with a slower clock tick.
pub struct Server {
    child: Child,
    folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub fn start(mut command: Command, form: Form) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        command.args(["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--hz", "1"]);
        command.arg("--unixsocket").arg(folder.path().join(SOCKET)).arg("--dir").arg(folder.path());
        if form == Form::Scripts {
            command.args(["--rename-command", "FUNCTION", ""]);
        }
        let child = command.stdout(Stdio::null()).spawn().expect("the engine");
        let server = Self { child, folder };
        while UnixStream::connect(server.socket()).is_err() {
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    pub fn connect(&self) -> UnixStream {
        UnixStream::connect(self.socket()).expect("Redis")
    }

    pub fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// The store on it, ready for jobs.
    pub async fn queues(&self) -> Queues {
        let queues = Queues::new(&self.url(), "cost").expect("a handle");
        while queues.settle_layout().await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        queues
    }

    /// The answer to one command.
    pub fn ask(&self, command: &str) -> String {
        let mut stream = self.connect();
        write!(stream, "{command}\r\nQUIT\r\n").expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The count of each command, in scripts too.
    pub fn commands(&self) -> Parts {
        let calls = |line: &str| {
            let (name, figures) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_uppercase(), figures.split(',').next()?.parse::<f64>().ok()?))
        };
        self.ask("INFO commandstats").lines().filter_map(calls).collect()
    }
}
