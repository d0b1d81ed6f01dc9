//! The two Redis commands that the supervisor sends itself, because the connection pool starts later.

use std::{io, path::Path, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
    time,
};

const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

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
    let stream = UnixStream::connect(socket).await?;
    let answer = ask(stream, b"*1\r\n$4\r\nPING\r\n").await.unwrap_or_else(|error| error.to_string());
    Ok(match answer.as_str() {
        "+PONG" => Pong::Ready,
        loading if loading.starts_with("-LOADING") => Pong::Loading,
        _ => Pong::Other(answer),
    })
}

/// Shuts the server down without a snapshot, because the append-only file has all acknowledged changes.
pub(super) async fn shut_down(socket: &Path) -> io::Result<String> {
    ask(UnixStream::connect(socket).await?, b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n").await
}

async fn ask(mut stream: UnixStream, command: &[u8]) -> io::Result<String> {
    let exchange = async {
        stream.write_all(command).await?;
        let mut line = String::new();
        BufReader::new(&mut stream).read_line(&mut line).await?;
        Ok(line.trim_end().to_owned())
    };
    time::timeout(PROBE_TIMEOUT, exchange).await?
}
