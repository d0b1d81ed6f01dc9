//! The Redis commands that the supervisor sends itself, because the connection pool starts later.

use std::{io, path::Path, time::Duration};

use redis::{Client, Cmd, ErrorKind, FromRedisValue, RedisResult, ServerErrorKind, cmd};
use tokio::task::spawn_blocking;

/// For a connection, and for each answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The answer of a server to PING.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pong {
    Ready,
    /// The server is loading its data and does not serve yet.
    Loading,
    Other(String),
}

/// A server that is present but silent counts as `Other`. Only an absent server is an error.
pub(super) async fn ping(socket: &Path) -> io::Result<Pong> {
    match run_blocking(socket, cmd("PING")).await {
        Ok(()) => Ok(Pong::Ready),
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::BusyLoading) => Ok(Pong::Loading),
        Err(error) if error.is_io_error() && !error.is_timeout() => Err(io::Error::other(error)),
        Err(error) => Ok(Pong::Other(error.to_string())),
    }
}

/// Shuts the server down without a snapshot, because the append-only file has all acknowledged changes.
pub(super) async fn shut_down(socket: &Path) -> RedisResult<()> {
    run_blocking(socket, cmd("SHUTDOWN").arg("NOSAVE").take()).await
}

async fn run_blocking(socket: &Path, command: Cmd) -> RedisResult<()> {
    let socket = socket.to_owned();
    spawn_blocking(move || run(&socket, &command)).await.map_err(io::Error::other)?
}

/// One command on its own connection: commands are rare.
pub(super) fn run<T: FromRedisValue>(socket: &Path, command: &Cmd) -> RedisResult<T> {
    let mut connection = Client::open(super::url(socket))?.get_connection_with_timeout(ANSWER_TIMEOUT)?;
    connection.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    connection.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    command.query(&mut connection)
}
