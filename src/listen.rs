//! Connections: accepted up to a number, ended when they stall, let go of in order at the end.

mod impatient;

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::impatient::Impatient;

/// For a whole request head, and for the time that a connection is idle between two.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// For requests in hand once the service is to stop.
const LAST_TIME: Duration = Duration::from_secs(6);
/// When the machine has no more files or memory for a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then lets the requests in hand finish.
pub async fn serve(listener: TcpListener, router: Router, max_connections: usize, stop: CancellationToken) {
    let room = Arc::new(Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS)));
    let (open, cut) = (TaskTracker::new(), CancellationToken::new());
    // Above the cap nothing is accepted: callers wait in the backlog, which the system bounds.
    while let Some(Ok(place)) = stop.run_until_cancelled(room.clone().acquire_owned()).await {
        match stop.run_until_cancelled(accept(&listener)).await {
            Some(stream) => open.spawn(converse(stream, router.clone(), place, stop.clone(), cut.clone())),
            None => break,
        };
    }
    drop(listener);
    open.close();
    if timeout(LAST_TIME, open.wait()).await.is_err() {
        tracing::warn!(connections = open.len(), "requests did not end in time");
        cut.cancel();
        open.wait().await;
    }
}

/// The next connection, whatever happens to others.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if is_the_peers(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
                sleep(PAUSE).await;
            }
        }
    }
}

fn is_the_peers(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// One connection from its first request to its last. `place` is free again at the end.
async fn converse(
    stream: TcpStream,
    router: Router,
    place: OwnedSemaphorePermit,
    stop: CancellationToken,
    cut: CancellationToken,
) {
    // An answer is one small write: it must not wait for more.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(Impatient::new(stream, stop.clone()));
    let talk = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(stream, TowerToHyperService::new(router));
    let mut talk = std::pin::pin!(talk);
    let ended = tokio::select! {
        ended = &mut talk => Some(ended),
        () = stop.cancelled() => {
            talk.as_mut().graceful_shutdown();
            cut.run_until_cancelled(talk).await
        }
    };
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "a connection broke");
    }
    drop(place);
}
